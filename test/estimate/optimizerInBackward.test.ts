/** Updates during backward: gradients are freed when they are complete, and each parameter has an optimizer of its own. */

import { expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { wide } from '../support/wideSpec.ts';

/** Bytes of one gradient in fp32. */
const matrix = 4 * 8192 ** 2;
/** The matrix of the first and the last layer is one. */
const shared = `
dims: { batch: 1 }
inputs: { x: "float32[batch, 8192]" }
layers:
  - first: Linear(8192, 8192, bias=False)
  - act: ReLU()
  - middle: Linear(8192, 8192, bias=False)
  - act_2: ReLU()
  - last: Linear(8192, 8192, bias=False, weight=first)
`;

const inBackward = { 'optimizer-in-backward': 'true' };

const estimate = (options: Record<string, string>, request: ScenarioRequest = {}, text = wide) =>
  estimateModel(openLayerSpec(text, 'wide.layers.yaml'), [
    {
      cluster: 'dgx-a100',
      gpus: 1,
      precision: 'fp32',
      optimizer: 'adamw',
      framework: { name: 'pytorch-ddp', options: { 'optimizer-kernels': 'fused', ...options } },
      ...request,
    },
  ]);
const costOf = (...args: Parameters<typeof estimate>) => {
  const { cost } = estimate(...args);
  if (cost === undefined) throw new Error('not costed');
  return cost;
};

test('keeps the same state and frees gradients', () => {
  const [after, during] = [costOf({}).totals.memory, costOf(inBackward).totals.memory];
  expect(after.gradients).toBe(24 * matrix);
  expect(during.gradients).toBe(0);
  expect(during.optimizerState).toBe(after.optimizerState);
  expect(during.parameters).toBe(after.parameters);
  // One gradient is there at a time.
  expect(during.peakAt.gradients).toBe(matrix);
  expect(after.peak - during.peak).toBeCloseTo(23 * matrix, -8);
});

test('holds the gradient of a shared matrix from its first place in backward to its last', () => {
  expect(costOf(inBackward, {}, shared).totals.memory.peakAt.gradients).toBe(2 * matrix);
});

// PyTorch 2.13, torch/optim/adamw.py: one kernel, or eight over lists of tensors, for each of 24 optimizers.
test.each([
  ['fused', 0],
  ['foreach', matrix],
])('%s: temporaries of one parameter, %i bytes', (kernels, temporaries) => {
  const of = (options: Record<string, string>) =>
    costOf({ 'optimizer-kernels': kernels, ...options }, { optimizer: 'adamw' }).totals;
  const [after, during] = [of({}), of(inBackward)];
  expect(during.time.update).toBeGreaterThanOrEqual(after.time.update ?? Number.NaN);
  expect(during.memory.peak).toBeLessThan(after.memory.peak - 22 * temporaries);
});

test('on several GPUs a bucket updates its parameters when it has arrived, and gradients stay', () => {
  const { totals } = costOf(inBackward, { gpus: 8 });
  expect(totals.memory.gradients).toBe(24 * matrix);
});

test.each<[string, Record<string, string>, ScenarioRequest]>([
  ['clipping', { 'clip-norm': 'true' }, {}],
  ['gradients that stay', { gradients: 'added' }, {}],
  ['several passes', {}, { accumulate: 2 }],
])('%s is refused', (_, options, request) => {
  const { issues } = estimate({ ...inBackward, ...options }, request);
  expect(issues.filter(({ severity }) => severity === 'error').map(({ message }) => message)).toEqual([
    expect.stringContaining('optimizer-in-backward'),
  ]);
});

// 6.0 GiB of weights, 6.0 of gradients and 6.0 of momentum: more than the 14.6 GiB of a T4.
test('is proposed where it makes the step fit', () => {
  const request = { cluster: 't4', optimizer: 'momentum' } as const;
  const fix = (options: Record<string, string>): string =>
    costOf(options, request).findings.find(({ code }) => code === 'findings/out-of-memory')?.fix ?? '';
  expect(fix({})).toContain('pdate each parameter during backward and free its gradient');
  expect(fix(inBackward)).toBe('');
});
