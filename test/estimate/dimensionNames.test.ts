/** Which dimensions a request may name: symbols of the graph, and the dims of a layer spec. */

import { expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { readDimensions } from '../../server/src/cli/scenarioArguments.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';

const spec =
  'dims: { batch: 8, seq: 64 }\ninputs:\n  x: float32[batch, seq]\nlayers:\n  - a: Linear(seq, 16)\n  - b: Linear(16, 16)\n';

test.each([
  ['seq=128', []],
  ['batch=4', []],
  ['sequence=128', ['The model has no symbolic dimension `sequence`; it has batch, seq']],
  ['__proto__=4', ['The model has no symbolic dimension `__proto__`; it has batch, seq']],
])('--dim %s on a layer spec', (text, messages) => {
  const dimensions = readDimensions(text);
  const { issues } = estimateModel(openLayerSpec(spec, 'model.layers.yaml', { dimensions }), [
    { dimensions },
  ]);
  expect(issues.map(({ message }) => message)).toEqual(messages);
});
