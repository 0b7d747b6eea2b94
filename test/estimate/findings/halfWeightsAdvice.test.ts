/** The way out for frozen weights in fp32: what it promises is what the changed step needs. */

import { expect, test } from 'vitest';
import { halfWeightsAdvice } from '../../../server/src/estimate/findings/halfWeightsAdvice.ts';
import { withRuntime } from '../../../server/src/estimate/memory/reservedMemory.ts';
import { formatBytes } from '../../../server/src/model/format.ts';
import type { ScenarioRequest } from '../../../server/src/model/scenario.ts';
import { stepOf } from '../../support/estimatedStep.ts';

/** Forty layers of 8,192 × 8,192 and a head: 2,684 M weights, 15 GiB of them and their copies in bf16. */
const spec = `inputs: { x: "float32[batch, 8192]" }
layers:
  - fc: Linear(8192) * 40
  - head: Linear(8192)
`;
const asked: ScenarioRequest = {
  cluster: 'v100-sxm2-16gb',
  gpus: 1,
  batch: 16,
  precision: 'fp16',
  optimizer: 'adam',
};
const advised = (more: ScenarioRequest): readonly string[] => {
  const { plan, memory } = stepOf({ ...asked, ...more }, spec);
  return halfWeightsAdvice(plan, memory, 0);
};

test('adapters beside frozen weights: half of the weights, and what they then need', () => {
  const { memory } = stepOf(
    { ...asked, lora: { rank: 8 }, framework: { name: 'pytorch-ddp', options: { weights: 'half' } } },
    spec,
  );
  expect(advised({ lora: { rank: 8 } })).toEqual([
    `load the frozen weights in half precision (weights=half), which needs ${formatBytes(withRuntime(memory.peak))}`,
  ]);
});

test.each<readonly [string, ScenarioRequest]>([
  ['all is trained', {}],
  ['most of it is trained', { freeze: ['fc[0]', 'fc[1]', 'fc[2]'] }],
  [
    'they are in half precision',
    { lora: { rank: 8 }, framework: { name: 'pytorch-ddp', options: { weights: 'half' } } },
  ],
  ['the step computes in fp32', { lora: { rank: 8 }, precision: 'fp32' }],
  ['nothing is trained', { lora: { rank: 8 }, mode: 'inference' }],
  ['the framework has no such option', { lora: { rank: 8 }, framework: { name: 'mxnet', options: {} } }],
])('none where %s', (_, more) => {
  expect(advised(more)).toEqual([]);
});
