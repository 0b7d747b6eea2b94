import { expect, test } from 'vitest';
import { kernelKind } from '../../server/src/hardware/kernelKind.ts';
import { bytes, flops } from '../../server/src/model/units.ts';

test.each([
  [64, 256, 1, 1, 'convolution 1x1 forward'],
  [64, 250, 1, 1, 'ragged convolution forward'],
  [36, 64, 1, 9, 'ragged convolution forward'],
  [3, 64, 1, 49, 'convolution other forward'],
  [36, 36, 36, 9, 'depthwise forward'],
  [128, 128, 32, 9, 'narrow groups forward'],
  [144, 144, 2, 9, 'wide groups forward'],
])(
  '%i channels to %i in %i groups of %i kernel elements: %s',
  (channels, filters, groups, kernelElements, kind) => {
    const sizes = { images: 8, channels, filters, groups, spatialSize: 784, positions: 784, kernelElements };
    const shape = {
      kind: 'convolution',
      pass: 'forward',
      winograd: false,
      fourier: false,
      ...sizes,
    } as const;
    const work = {
      class: 'convolution',
      dtype: 'fp16',
      operations: 0,
      launches: 1,
      bytesPerElement: 2,
    } as const;
    const matmuls = [{ shape, count: 1 }];
    expect(kernelKind({ ...work, flops: flops(1), bytes: bytes(1), matmuls })).toBe(kind);
  },
);

test('a matmul of known shape is of another kind than matmul work whose shape nobody knows', () => {
  const work = {
    class: 'matmul',
    dtype: 'fp16',
    operations: 0,
    launches: 1,
    bytesPerElement: 2,
    flops: flops(1),
    bytes: bytes(1),
  } as const;
  const gemm = (batch: number) =>
    ({ shape: { kind: 'matmul', layout: 'nn', batch, m: 8, n: 8, k: 8 }, count: 1 }) as const;
  expect(kernelKind(work)).toBe('matmul');
  expect(kernelKind({ ...work, matmuls: [gemm(1)] })).toBe('gemm');
  expect(kernelKind({ ...work, matmuls: [gemm(4)] })).toBe('batched gemm');
});
