/** Operators of ONNX Runtime: shapes from docs/ContribOperators.md, FLOPs worked out by hand. */

import { expect, test } from 'vitest';
import { type Application, costText, inferText, outputsOf } from './check.ts';

const contrib = (
  type: string,
  inputs: Application['inputs'],
  attributes: Application['attributes'] = {},
  outputs = 1,
): Application => ({ type, domain: 'com.microsoft', inputs, attributes, outputs });

const shapeRows: readonly (readonly [string, Application, readonly string[]])[] = [
  [
    'grouped queries over a cache that grows',
    contrib(
      'GroupQueryAttention',
      [
        'float16[B, S, 64]',
        'float16[B, S, 16]',
        'float16[B, S, 16]',
        'float16[B, 2, P, 8]',
        'float16[B, 2, P, 8]',
        'int32[B]',
        'int32[1]',
      ],
      { num_heads: 8, kv_num_heads: 2 },
      3,
    ),
    ['float16[B, S, 64]', 'float16[B, 2, P + S, 8]', 'float16[B, 2, P + S, 8]'],
  ],
  [
    'queries packed with keys and values',
    contrib(
      'GroupQueryAttention',
      ['float16[1, 5, 96]', undefined, undefined, 'float16[1, 2, 3, 8]', 'float16[1, 2, 3, 8]'],
      { num_heads: 8, kv_num_heads: 2 },
      3,
    ),
    ['float16[1, 5, 64]', 'float16[1, 2, 8, 8]', 'float16[1, 2, 8, 8]'],
  ],
  [
    'heads packed as [batch, length, heads, 3, size]',
    contrib('MultiHeadAttention', ['float32[2, 7, 4, 3, 16]'], { num_heads: 4 }),
    ['float32[2, 7, 64]'],
  ],
  [
    'cross attention over keys that are the cache',
    contrib('MultiHeadAttention', ['float32[2, 1, 64]', 'float32[2, 4, 9, 16]', 'float32[2, 4, 9, 16]'], {
      num_heads: 4,
    }),
    ['float32[2, 1, 64]'],
  ],
  [
    'projection and attention, with the cache of both stacked',
    contrib(
      'Attention',
      ['float32[B, S, 32]', 'float32[32, 96]', 'float32[96]', undefined, 'float32[2, B, 4, P, 8]'],
      { num_heads: 4 },
      2,
    ),
    ['float32[B, S, 32]', 'float32[2, B, 4, P + S, 8]'],
  ],
  [
    'tokens of all sequences in one row',
    contrib('PagedAttention', ['float16[T, 96]'], { num_heads: 8, kv_num_heads: 2 }),
    ['float16[T, 64]'],
  ],
  [
    'the sum with the residual is the fourth output',
    contrib(
      'SkipLayerNormalization',
      ['float32[2, S, 8]', 'float32[2, S, 8]', 'float32[8]', 'float32[8]'],
      {},
      4,
    ),
    ['float32[2, S, 8]', 'float32[2, S, 1]', 'float32[2, S, 1]', 'float32[2, S, 8]'],
  ],
  [
    'embeddings summed and normalized',
    contrib(
      'EmbedLayerNormalization',
      [
        'int32[B, S]',
        'int32[B, S]',
        'float32[100, 8]',
        'float32[16, 8]',
        'float32[2, 8]',
        'float32[8]',
        'float32[8]',
      ],
      {},
      3,
    ),
    ['float32[B, S, 8]', 'int32[B]', 'float32[B, S, 8]'],
  ],
  [
    'transposes of the last axes',
    contrib('FusedMatMul', ['float32[2, 5, 3]', 'float32[2, 7, 5]'], { transA: 1, transB: 1 }),
    ['float32[2, 3, 7]'],
  ],
  [
    'a batch axis moved inwards first',
    contrib('FusedMatMul', ['float32[5, 2, 3]', 'float32[2, 3, 7]'], { transBatchA: 1 }),
    ['float32[2, 5, 7]'],
  ],
  [
    'weights of 4 bits: rows are an attribute',
    contrib('MatMulNBits', ['float16[B, S, 64]', 'uint8[96, 2, 16]', 'float16[96, 2]'], {
      K: 64,
      N: 96,
      bits: 4,
      block_size: 32,
    }),
    ['float16[B, S, 96]'],
  ],
  [
    'quantized tensors broadcast, their scales do not count',
    contrib('QLinearAdd', [
      'uint8[2, 1, 4]',
      'float32[]',
      'uint8[]',
      'uint8[3, 4]',
      'float32[]',
      'uint8[]',
      'float32[]',
    ]),
    ['uint8[2, 3, 4]'],
  ],
  [
    'quantized tensors joined',
    contrib(
      'QLinearConcat',
      ['float32[]', 'uint8[]', 'uint8[2, 3]', 'float32[]', 'uint8[]', 'uint8[2, 4]', 'float32[]', 'uint8[]'],
      { axis: 1 },
    ),
    ['uint8[2, 7]'],
  ],
  [
    'a quantized product in floating point where no scale is asked for',
    contrib('QGemm', ['uint8[2, 3]', 'float32[]', 'uint8[]', 'uint8[3, 4]', 'float32[]', 'uint8[]']),
    ['float32[2, 4]'],
  ],
  [
    'RMS normalization in the default domain, as ONNX Runtime writes it',
    {
      type: 'SimplifiedLayerNormalization',
      inputs: ['float32[B, 8]', 'float32[8]'],
      attributes: { axis: -1 },
    },
    ['float32[B, 8]'],
  ],
];

test.each(shapeRows)('shape: %s', (_, application, expected) => {
  expect(outputsOf(application).slice(0, expected.length)).toEqual(expected);
});

const flopRows: readonly (readonly [string, Application, number])[] = [
  [
    'grouped queries do not divide the products',
    contrib('GroupQueryAttention', ['float16[2, 16, 64]', 'float16[2, 16, 16]', 'float16[2, 16, 16]'], {
      num_heads: 8,
      kv_num_heads: 2,
    }),
    2 * (2 * 8 * 16) * 16 * (8 + 8),
  ],
  [
    'a sliding window bounds the keys',
    contrib('GroupQueryAttention', ['float16[2, 16, 64]', 'float16[2, 16, 16]', 'float16[2, 16, 16]'], {
      num_heads: 8,
      kv_num_heads: 2,
      local_window_size: 4,
    }),
    2 * (2 * 8 * 16) * 4 * (8 + 8),
  ],
  [
    'one token over a cache',
    contrib(
      'GroupQueryAttention',
      [
        'float16[1, 1, 64]',
        'float16[1, 1, 16]',
        'float16[1, 1, 16]',
        'float16[1, 2, 99, 8]',
        'float16[1, 2, 99, 8]',
      ],
      { num_heads: 8, kv_num_heads: 2 },
      3,
    ),
    2 * 8 * 100 * (8 + 8),
  ],
  [
    'the projection to Q, K and V counts',
    contrib('Attention', ['float32[2, 16, 32]', 'float32[32, 96]', 'float32[96]'], { num_heads: 4 }),
    2 * 2 * 16 * 32 * 96 + 2 * (2 * 4 * 16) * 16 * (8 + 8),
  ],
  [
    'a transposed product',
    contrib('FusedMatMul', ['float32[5, 3]', 'float32[7, 5]'], { transA: 1, transB: 1 }),
    2 * 3 * 5 * 7,
  ],
  [
    'narrow weights cost the FLOPs of wide ones',
    contrib('MatMulNBits', ['float16[2, 64]', 'uint8[96, 2, 16]', 'float16[96, 2]'], {
      K: 64,
      N: 96,
      block_size: 32,
    }),
    2 * 2 * 64 * 96,
  ],
  [
    'only the experts chosen run',
    contrib('MoE', ['float32[6, 8]', 'float32[6, 4]', 'float32[4, 16, 8]', undefined, 'float32[4, 8, 16]'], {
      k: 2,
    }),
    2 * 6 * 2 * (16 * 8 + 8 * 16),
  ],
  [
    'bytes hold two weights of 4 bits',
    contrib(
      'QMoE',
      [
        'float32[6, 8]',
        'float32[6, 4]',
        'uint8[4, 16, 4]',
        'float32[4, 16]',
        undefined,
        'uint8[4, 8, 8]',
        'float32[4, 8]',
      ],
      { k: 2, expert_weight_bits: 4 },
    ),
    2 * 6 * 2 * (16 * 8 + 8 * 16),
  ],
];

test.each(flopRows)('forward FLOPs: %s', (_, application, expected) => {
  expect(costText(application).forward.flops).toBe(expected);
});

test('weights of 4 bits move half a byte each, and their scales', () => {
  const { traffic } = costText(
    contrib('MatMulNBits', ['float16[2, 64]', 'uint8[96, 2, 16]', 'float16[96, 2]'], { K: 64, N: 96 }),
  ).forward;
  expect(traffic.fixedBytes).toBe(2 * (2 * 64) + (96 * 64) / 2 + 2 * (96 * 2) + 2 * (2 * 96));
});

test('one token reads the weights of the experts it reaches, no others', () => {
  const moe = (tokens: number) =>
    costText(
      contrib('MoE', [
        `float32[${tokens}, 8]`,
        `float32[${tokens}, 4]`,
        'float32[4, 16, 8]',
        undefined,
        'float32[4, 8, 16]',
      ]),
    ).forward.traffic.float32Elements;
  // Gathered, weighed and put back, each read and written, and added up; products and activation read and write two rows of 16.
  const row = 2 * 8 + 7 * 8 + 4 * 16;
  expect(moe(1)).toBe(8 + 4 + 8 + row + (4 * 256) / 4);
  expect(moe(100)).toBe(800 + 400 + 800 + 100 * row + 4 * 256);
});

test('backward of a normalized sum keeps the sum, and gives the residual its gradient for nothing', () => {
  const skip = contrib(
    'SkipLayerNormalization',
    ['float32[2, 8]', 'float32[2, 8]', 'float32[8]', 'float32[8]'],
    {},
    4,
  );
  const both = costText(skip, ['data', 'data', 'none', 'none']);
  expect(both.backwardData).toEqual(costText(skip, ['data', 'none', 'none', 'none']).backwardData);
  expect(both.saved[0]).toEqual({ kind: 'output', index: 3 });
});

const refused: readonly (readonly [string, Application, RegExp])[] = [
  [
    'heads that do not divide',
    contrib('GroupQueryAttention', ['float16[2, 16, 64]'], { num_heads: 8, kv_num_heads: 3 }),
    /positive multiple/,
  ],
  [
    'a width that does not fit K',
    contrib('MatMulNBits', ['float16[2, 60]', 'uint8[96, 2, 16]'], { K: 64, N: 96 }),
    /does not fit weights of 64 by 96/,
  ],
  [
    'a scale of another width',
    contrib('SkipLayerNormalization', ['float32[2, 8]', 'float32[2, 8]', 'float32[9]']),
    /scale of 9 elements/,
  ],
];

test.each(refused)('refused: %s', (_, application, message) => {
  expect(inferText(application).problem?.message).toMatch(message);
});
