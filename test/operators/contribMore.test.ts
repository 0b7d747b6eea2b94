/**
 * Operators of ONNX Runtime in other layouts, under other names, and with costs that data decide. FLOPs are worked out
 * by hand from docs/ContribOperators.md.
 */

import { describe, expect, test } from 'vitest';
import { attributesOf, boundTensor, makeCostContext } from '../../server/src/operators/context.ts';
import type { OperatorCost } from '../../server/src/operators/definition.ts';
import { type Application, costText, definitionOf, outputsOf } from './check.ts';

const contrib = (
  type: string,
  inputs: Application['inputs'],
  attributes: Application['attributes'] = {},
  outputs = 1,
): Application => ({ type, domain: 'com.microsoft', inputs, attributes, outputs });
const nchwc = (application: Application): Application => ({ ...application, domain: 'com.microsoft.nchwc' });
const window = { kernel_shape: [3, 3], strides: [2, 2], pads: [1, 1, 1, 1] };

describe('shapes', () => {
  test.each<readonly [Application, readonly string[]]>([
    [
      contrib('NhwcConv', ['float16[N, 32, 30, 8]', 'float16[16, 8, 3, 3]'], window),
      ['float16[N, 16, 15, 16]'],
    ],
    [
      contrib(
        'QLinearConv',
        [
          ...['uint8[N, 32, 30, 8]', 'float32[]', 'uint8[]', 'uint8[16, 8, 3, 3]'],
          ...['float32[]', 'uint8[]', 'float32[]', 'uint8[]'],
        ],
        { ...window, channels_last: 1 },
      ),
      ['uint8[N, 16, 15, 16]'],
    ],
    [contrib('NhwcMaxPool', ['uint8[1, 32, 30, 8]'], window), ['uint8[1, 16, 15, 8]']],
    [
      nchwc(contrib('Conv', ['float32[N, 8, 32, 30]', 'float32[16, 8, 3, 3]'], window)),
      ['float32[N, 16, 16, 15]'],
    ],
    [
      nchwc(contrib('ReorderInput', ['float32[1, 32, 30, 8]'], { channels_last: 1 })),
      ['float32[1, 8, 32, 30]'],
    ],
    [
      nchwc(contrib('ReorderOutput', ['float32[1, 8, 4, 5]'], { channels: 3, channels_last: 1 })),
      ['float32[1, 4, 5, 3]'],
    ],
    [nchwc(contrib('Upsample', ['float32[1, 8, 4, 5]'], { scales: [1, 1, 2, 2] })), ['float32[1, 8, 8, 10]']],
    [contrib('ExpandDims', ['float32[2, 3]', [1]]), ['float32[2, 1, 3]']],
    [contrib('TorchEmbedding', ['float32[10, 4]', 'int64[B, S]']), ['float32[B, S, 4]']],
    [contrib('GatherND', ['float32[5, 4, 3]', 'int64[2, 2]']), ['float32[2, 3]']],
    [
      contrib('QOrderedMatMul', ['int8[B, 4, 8]', 'float32[]', 'int8[8, 6]', 'float32[]', 'float32[]']),
      ['int8[B, 4, 6]'],
    ],
    [
      contrib('GemmFloat8', ['float8e4m3fn[4, 8]', 'float8e4m3fn[6, 8]'], { transB: 1, dtype: 10 }),
      ['float16[4, 6]'],
    ],
    [contrib('CDist', ['float32[M, 8]', 'float32[N, 8]']), ['float32[M, N]']],
    [contrib('UnfoldTensor', ['float32[2, 9]'], { dim: 1, size: 3, step: 2 }), ['float32[2, 4, 3]']],
    [
      contrib('RemovePadding', ['float16[2, 8, 4]', 'int32[2]'], {}, 4),
      ['float16[≤16, 4]', 'int32[2, 8]', 'int32[3]', 'int32[1]'],
    ],
    [contrib('RestorePadding', ['float16[T, 4]', 'int32[2, 8]']), ['float16[2, 8, 4]']],
    [contrib('BeamSearch', ['int32[B, 7]', [40], [0], [4], [2]]), ['int32[B, 2, 40]']],
    [
      contrib(
        'SparseAttention',
        [
          'float16[1, 5, 64]',
          'float16[1, 5, 16]',
          'float16[1, 5, 16]',
          'float16[1, 2, 128, 8]',
          'float16[1, 2, 128, 8]',
        ],
        { num_heads: 8, kv_num_heads: 2 },
        3,
      ),
      ['float16[1, 5, 64]', 'float16[1, 2, 128, 8]', 'float16[1, 2, 128, 8]'],
    ],
    [{ type: 'ImageScaler', opset: 7, inputs: ['float32[N, 3, 4, 4]'] }, ['float32[N, 3, 4, 4]']],
    [
      { type: 'Crop', opset: 7, inputs: ['float32[N, 3, 9, 8]'], attributes: { border: [1, 2, 1, 2] } },
      ['float32[N, 3, 5, 6]'],
    ],
  ])('%j', (application, outputs) => {
    expect(outputsOf(application)).toEqual(outputs);
  });
});

test('a layout changes no FLOP', () => {
  const second = costText({
    type: 'Conv',
    inputs: ['float32[2, 8, 32, 30]', 'float32[16, 8, 3, 3]'],
    attributes: window,
  });
  const last = costText(contrib('NhwcConv', ['float32[2, 32, 30, 8]', 'float32[16, 8, 3, 3]'], window));
  const blocked = costText(nchwc(contrib('Conv', ['float32[2, 8, 32, 30]', 'float32[16, 8, 3, 3]'], window)));
  expect(second.forward.flops).toBe(2 * 2 * 16 * 15 * 16 * 8 * 9);
  expect(last.forward).toEqual(second.forward);
  expect(blocked.forward).toEqual(second.forward);
});

describe('the width of a type is what it moves', () => {
  test.each([
    ['float32', 0],
    ['float16', 2],
    ['bfloat16', 2],
    ['float8e4m3fn', 1],
    ['float8e5m2', 1],
    ['int8', 1],
    ['uint8', 1],
    ['float6e2m3', 0.75],
    ['uint4', 0.5],
    ['int4', 0.5],
    ['float4e2m1', 0.5],
    ['int2', 0.25],
  ])('%s', (elementType, width) => {
    const [rows, inner, columns] = [4, 16, 8];
    const { forward } = costText({
      type: 'MatMul',
      inputs: [`float32[${rows}, ${inner}]`, `${elementType}[${inner}, ${columns}]`],
    });
    expect(forward.flops).toBe(2 * rows * inner * columns);
    expect(forward.traffic.fixedBytes).toBe(inner * columns * width);
    const dequantized = costText({
      type: 'DequantizeLinear',
      opset: 28,
      inputs: [`${elementType}[64]`, 'float32[]'],
    });
    if (width > 0)
      expect(dequantized.forward.traffic).toEqual({ float32Elements: 65, fixedBytes: 64 * width });
  });
});

describe('what data decide is unknown, and bounded where something bounds it', () => {
  const costOf = (
    application: Application,
    inputs: Parameters<typeof makeCostContext>[0]['inputs'],
    outputs: Parameters<typeof makeCostContext>[0]['outputs'],
  ): OperatorCost =>
    definitionOf(application).cost(
      makeCostContext({ opset: 1, inputs, outputs, attributes: attributesOf(application.attributes ?? {}) }),
    );

  test('paged attention meets at most all places of the cache', () => {
    const cache = boundTensor('float16', [10, 16, 2, 8]);
    const cost = costOf(
      contrib('PagedAttention', [], { num_heads: 8, kv_num_heads: 2 }),
      [
        boundTensor('float16', [3, 64]),
        boundTensor('float16', [3, 16]),
        boundTensor('float16', [3, 16]),
        cache,
        cache,
      ],
      [boundTensor('float16', [3, 64])],
    );
    expect(cost.kind === 'unknown' && cost.atMost?.forward.flops).toBe(2 * 3 * 8 * 160 * (8 + 8));
  });

  test('sparse attention meets at most the blocks that are listed', () => {
    const cache = boundTensor('float16', [1, 2, 128, 8]);
    const query = boundTensor('float16', [1, 128, 64]);
    const cost = costOf(
      contrib('SparseAttention', [], { num_heads: 8, kv_num_heads: 2, sparse_block_size: 16 }),
      [query, cache, cache, cache, cache, boundTensor('int32', [1, 9]), boundTensor('int32', [1, 20])],
      [query],
    );
    expect(cost.kind === 'unknown' && cost.atMost?.forward.flops).toBe(2 * 8 * (20 * 16 * 16) * (8 + 8));
  });

  test('a search says why it has no cost', () => {
    const cost = costOf(contrib('BeamSearch', []), [boundTensor('int32', [1, 4])], []);
    expect(cost).toEqual({
      kind: 'unknown',
      reason: 'how many tokens are generated is known only when the model runs',
    });
  });
});
