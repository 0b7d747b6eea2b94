/** The way out for frozen layers beside adapters: what it promises is what the changed step needs. */

import { expect, test } from 'vitest';
import { quantizedBaseAdvice } from '../../../server/src/estimate/findings/quantizedBaseAdvice.ts';
import { withRuntime } from '../../../server/src/estimate/memory/reservedMemory.ts';
import { bytesInBlocks } from '../../../server/src/model/blockFormat.ts';
import { formatBytes } from '../../../server/src/model/format.ts';
import type { ScenarioRequest } from '../../../server/src/model/scenario.ts';
import { stepOf } from '../../support/estimatedStep.ts';

/** Hundred layers of 8,192 × 8,192 and a head: 12.6 GiB of weights in half precision. */
const spec = `inputs: { x: "float32[batch, 8192]" }
layers:
  - fc: Linear(8192) * 100
  - head: Linear(8192)
`;
const half = { framework: { name: 'pytorch-ddp', options: { weights: 'half' } } };
const plain: ScenarioRequest = {
  cluster: 'v100-sxm2-16gb',
  gpus: 1,
  batch: 4096,
  precision: 'fp16',
  ...half,
};
const asked: ScenarioRequest = { ...plain, lora: { rank: 8 } };
const advised = (request: ScenarioRequest): readonly string[] => {
  const { plan, memory } = stepOf(request, spec);
  return quantizedBaseAdvice(plan, memory, 0);
};

test('what the step needs with it is what is costed when it is asked for', () => {
  const { memory } = stepOf({ ...asked, lora: { rank: 8, base: 'nf4' } }, spec);
  const { memory: before } = stepOf(asked, spec);
  // But for one weight that is whole while its product runs.
  const saved = 100 * 8192 ** 2 * (2 - bytesInBlocks.nf4);
  expect((before.peak - memory.peak) / saved).toBeCloseTo(1, 1);
  expect(advised(asked)).toEqual([
    `keep the frozen linear layers in 4 bits (\`lora\` with base=nf4), which needs ${formatBytes(withRuntime(memory.peak))}`,
  ]);
});

test.each<readonly [string, ScenarioRequest]>([
  ['nothing is adapted', { ...plain, freeze: ['*', '!head'] }],
  ['they are in 4 bits', { ...asked, lora: { rank: 8, base: 'nf4' } }],
  ['nothing is trained', { ...asked, mode: 'inference' }],
  ['the framework has layers of its own', { ...asked, framework: { name: 'megatron', options: {} } }],
  ['the framework is not PyTorch', { ...asked, framework: { name: 'mxnet', options: {} } }],
  ['the step computes in fp8', { ...asked, precision: 'fp8', cluster: 'dgx-h100' }],
  ['the weights are a small part', { ...asked, cluster: 'dgx-b200' }],
])('none where %s', (_, request) => {
  expect(advised(request)).toEqual([]);
});
