/** One call of attention costs the same however its causal mask was exported: made in the graph, folded, or as an operator. */

import { expect, test } from 'vitest';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { openGraph } from '../support/savedActivations.ts';

function attentionTime(name: string): number {
  const { cost } = estimateModel(openGraph(`test/composites/attention/${name}.onnxtxt`), [
    { cluster: 'h100-sxm', gpus: 1, batch: 64, precision: 'bf16' },
  ]);
  const times = cost?.layers.filter(({ type }) => /Attention/.test(type)).map(({ time }) => time.forward);
  if (times?.length !== 1 || times[0] === null || times[0] === undefined)
    throw new Error(`${name}: no attention`);
  return times[0];
}

test('a causal call of 512 tokens', () => {
  const folded = attentionTime('sdpa-causal-torch2.13-dynamo18');
  const asOperator = attentionTime('sdpa-causal-torch2.13-dynamo23');
  const made = attentionTime('sdpa-causal-torch2.13-legacy14');
  expect(folded / asOperator).toBeCloseTo(1, 1);
  expect(made / asOperator).toBeCloseTo(1, 1);
});
