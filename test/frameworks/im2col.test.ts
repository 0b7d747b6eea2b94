import { expect, test } from 'vitest';
import { unfoldConvolution } from '../../server/src/frameworks/cudnn/im2col.ts';
import type { KernelWork } from '../../server/src/hardware/kernelWork.ts';
import { bytes, flops } from '../../server/src/model/units.ts';
import type { ConvolutionPass, ConvolutionShape } from '../../server/src/operators/definition.ts';

/** 2 images of 3 channels, 8 × 8, by 4 filters of 3 × 3 with a border: 64 positions. */
const wide: ConvolutionShape = {
  kind: 'convolution',
  pass: 'forward',
  images: 2,
  channels: 3,
  filters: 4,
  groups: 1,
  positions: 64,
  spatialSize: 64,
  kernelElements: 9,
  winograd: true,
  fourier: false,
};

const kernelOf = (shape: ConvolutionShape): KernelWork => ({
  class: 'convolution',
  dtype: 'fp32',
  flops: flops(1),
  operations: 0,
  bytes: bytes(1),
  launches: 1,
  matmuls: [{ shape, count: 1 }],
  bytesPerElement: 4,
});

/** `matmul 4×64×27`, or the class and what it moves, in elements of one image. */
const told = ({ class: kernelClass, matmuls, bytes: size, launches }: KernelWork): string => {
  expect(launches).toBe(2);
  const [matmul] = matmuls ?? [];
  if (matmul?.shape.kind !== 'matmul') return `${kernelClass} ${size / 4 / 2}`;
  const { m, n, k } = matmul.shape;
  return `${kernelClass} ${m}×${n}×${k}`;
};

const unfolded = 3 * (64 + 9 * 64);

test.each<[string, ConvolutionPass, 'caffe' | 'cunn', boolean, Partial<ConvolutionShape>, readonly string[]]>(
  [
    ['bias first', 'forward', 'cunn', true, {}, ['matmul 4×64×1', `movement ${unfolded}`, 'matmul 4×64×27']],
    ['or zeros', 'forward', 'cunn', false, {}, ['elementwise 256', `movement ${unfolded}`, 'matmul 4×64×27']],
    ['Caffe writes', 'forward', 'caffe', false, {}, [`movement ${unfolded}`, 'matmul 4×64×27']],
    ['folded back', 'data', 'cunn', true, {}, ['matmul 27×64×4', `movement ${unfolded}`]],
    [
      'unfolded again',
      'weight',
      'cunn',
      true,
      {},
      [`movement ${unfolded}`, 'matmul 4×27×64', 'reduction 256'],
    ],
    ['cunn unfolds all', 'weight', 'cunn', false, { kernelElements: 1 }, ['movement 384', 'matmul 4×3×64']],
    ['Caffe not all', 'weight', 'caffe', false, { kernelElements: 1 }, ['matmul 4×3×64']],
  ],
)('%s', (_, pass, library, hasBias, shape, kernels) => {
  const work = unfoldConvolution(kernelOf({ ...wide, ...shape, pass }), library, hasBias);
  expect(work.map(told)).toEqual(kernels);
});

test('a product of each image computes 2·m·n·k, and moves its three matrices', () => {
  const [, product] = unfoldConvolution(kernelOf(wide), 'caffe', false);
  expect([product?.flops, product?.bytes, product?.bytesPerElement]).toEqual([
    2 * (2 * 4 * 64 * 27),
    2 * 4 * (4 * 27 + 27 * 64 + 4 * 64),
    4,
  ]);
});

/** CUDA 8 is what the THCUNN backend was measured with; Caffe's matmuls are whatever library the GPU has. */
test('products of cunn are those of CUDA 8, and none of what is moved', () => {
  const librariesOf = (library: 'caffe' | 'cunn') =>
    unfoldConvolution(kernelOf(wide), library, true).map((kernel) => kernel.library);
  expect(librariesOf('cunn')).toEqual(['cuda-8', undefined, 'cuda-8']);
  expect(librariesOf('caffe')).toEqual([undefined, undefined, undefined]);
});

test('two convolutions of two images are four of one', () => {
  const twice = { ...kernelOf(wide), matmuls: [{ shape: wide, count: 2 }] };
  const work = unfoldConvolution(twice, 'caffe', true);
  expect(work.map(({ launches }) => launches)).toEqual([4, 4, 4]);
  expect(work.map(({ bytes: size }) => size)).toEqual(
    unfoldConvolution(kernelOf(wide), 'caffe', true).map(({ bytes: size }) => 2 * size),
  );
  // Another kind of product is none of its business.
  const other = { kind: 'matmul', layout: 'nn', batch: 1, m: 1, n: 1, k: 1 } as const;
  expect(
    unfoldConvolution({ ...kernelOf(wide), matmuls: [{ shape: other, count: 1 }] }, 'caffe', true),
  ).toEqual([]);
});

/** A kernel of one element that steps over positions, or has a border, is unfolded. */
test('Caffe unfolds what it does not read as it lies', () => {
  const strided = { ...wide, kernelElements: 1, positions: 16 };
  expect(unfoldConvolution(kernelOf(strided), 'caffe', false).map(told)).toEqual([
    'movement 240',
    'matmul 4×16×3',
  ]);
});

test('what kernels have in common with the step stays theirs', () => {
  const environment = { layout: 'channels-first', mixed: false, attention: 'newest' } as const;
  const work = unfoldConvolution({ ...kernelOf(wide), environment }, 'caffe', false);
  expect(work.map((kernel) => kernel.environment)).toEqual([environment, environment]);
  expect(
    unfoldConvolution(kernelOf(wide), 'caffe', false).every((kernel) => !('environment' in kernel)),
  ).toBe(true);
});

test('groups are matmuls of their own', () => {
  const work = unfoldConvolution(kernelOf({ ...wide, channels: 4, groups: 2 }), 'caffe', false);
  expect(work.map(({ launches }) => launches)).toEqual([2, 4]);
  expect(work[1]?.matmuls).toEqual([
    { shape: { kind: 'matmul', layout: 'nn', batch: 1, m: 2, n: 64, k: 18 }, count: 4 },
  ]);
});
