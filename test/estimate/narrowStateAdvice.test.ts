/** Advice to keep the moments of Adam in 8 bits: where it is given, and that it holds. */

import { expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { wide } from '../support/wideSpec.ts';

const costOf = (request: ScenarioRequest) => {
  const { cost } = estimateModel(openLayerSpec(wide, 'wide.layers.yaml'), [
    { cluster: 'rtx-3090', gpus: 1, precision: 'fp32', optimizer: 'adamw', ...request },
  ]);
  if (cost === undefined) throw new Error('not costed');
  return cost;
};
const fixOf = (request: ScenarioRequest): string =>
  costOf(request).findings.find(({ code }) => code === 'findings/out-of-memory')?.fix ?? '';

// 6 GiB of weights, 6 of gradients, 12 of moments: more than the 23.7 GiB of the card. In 8 bits the moments take 3.1.
test('24 GiB of weights, gradients and moments fit with moments in 8 bits', () => {
  expect(fixOf({})).toContain(
    'eep the moments in 8 bits (optimizer: adamw-8bit), 3.05 GiB instead of 12.0 GiB, which needs ',
  );
  const { findings } = costOf({ optimizer: 'adamw-8bit' });
  expect(findings.map(({ code }) => code)).not.toContain('findings/out-of-memory');
});

test.each<[string, ScenarioRequest]>([
  ['states that are no moments of Adam', { optimizer: 'momentum', cluster: 't4' }],
  ['a framework that has no 8-bit states', { framework: { name: 'megatron', options: {} } }],
  ['what is left is still too much', { cluster: 't4' }],
])('none for %s', (_, request) => {
  expect(fixOf(request)).not.toContain('adamw-8bit');
});
