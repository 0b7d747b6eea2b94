/**
 * What operators refuse: withdrawn versions, attributes, ranks, sizes and element types that a definition of ONNX
 * does not allow. Each row is an operator applied wrongly, and what its message says.
 */

import { describe, expect, test } from 'vitest';
import { withPossibleSizes } from '../../server/src/operators/sizeLimits.ts';
import { whyUndefined } from '../../server/src/operators/unknownOperators.ts';
import { tensor } from '../../server/src/operators/vocabulary/types.ts';
import { type Application, inferText } from './check.ts';

const heads = { q_num_heads: 4, kv_num_heads: 4 };
const queries = ['float32[2, 4, 8, 16]', 'float32[2, 4, 8, 16]', 'float32[2, 4, 8, 16]'] as const;
const packed = ['float32[2, 8, 64]', 'float32[2, 8, 64]', 'float32[2, 8, 64]'] as const;

const rows: readonly (readonly [string, Application, RegExp])[] = [
  [
    'Upsample from version 10',
    { type: 'Upsample', opset: 10, inputs: ['float32[1, 1, 2, 2]'] },
    /use Resize/,
  ],
  [
    'Scatter from version 11',
    { type: 'Scatter', opset: 11, inputs: ['float32[3]', 'int64[1]', 'float32[1]'] },
    /use ScatterElements/,
  ],
  [
    'a window below −1',
    { type: 'Attention', opset: 25, inputs: queries, attributes: { left_window_size: -2 } },
    /left_window_size −?-?2/,
  ],
  [
    'half a cache',
    { type: 'Attention', opset: 25, inputs: [...queries, undefined, 'float32[2, 4, 3, 16]'] },
    /past_key and past_value come together/,
  ],
  ['half a cache asked for', { type: 'Attention', opset: 25, inputs: queries, outputs: 2 }, /come together/],
  ['heads twice', { type: 'Attention', opset: 25, inputs: queries, attributes: heads }, /leave them out/],
  [
    'keys and values of different length',
    {
      type: 'FlexAttention',
      domain: 'ai.onnx.preview',
      inputs: [queries[0], 'float32[2, 4, 8, 16]', 'float32[2, 4, 9, 16]'],
    },
    /8 keys do not fit 9 values/,
  ],
  [
    'heads that do not share evenly',
    {
      type: 'FlexAttention',
      domain: 'ai.onnx.preview',
      inputs: [queries[0], 'float32[2, 3, 8, 16]', 'float32[2, 3, 8, 16]'],
    },
    /cannot share 3 heads/,
  ],
  [
    'an unknown rule',
    { type: 'LinearAttention', opset: 27, inputs: packed, attributes: { ...heads, update_rule: 'other' } },
    /none of linear, gated, delta, gated_delta/,
  ],
  [
    'a gate that the rule needs',
    { type: 'LinearAttention', opset: 27, inputs: packed, attributes: { ...heads, update_rule: 'gated' } },
    /needs decay/,
  ],
  [
    'a gate of the wrong width',
    {
      type: 'LinearAttention',
      opset: 27,
      inputs: [...packed, undefined, 'float32[2, 8, 7]'],
      attributes: { ...heads, update_rule: 'gated' },
    },
    /decay of width 7/,
  ],
  [
    'decays of other heads than corrections',
    {
      type: 'GatedDeltaRule',
      domain: 'layercost',
      inputs: [...['q', 'k', 'v'].map(() => 'float32[2, 8, 4, 16]'), 'float32[2, 8, 4]', 'float32[2, 8, 2]'],
    },
    /decay and beta must be given for the same heads/,
  ],
  [
    'A without a row for each channel',
    {
      type: 'SelectiveScan',
      domain: 'layercost',
      inputs: [
        'float32[2, 96, 8]',
        'float32[2, 96, 8]',
        'float32[48, 16]',
        'float32[2, 16, 8]',
        'float32[2, 16, 8]',
      ],
    },
    /A must have a row for each channel/,
  ],
  [
    'heads that cannot share their groups',
    {
      type: 'StateSpaceScan',
      domain: 'layercost',
      inputs: [
        'float32[2, 8, 6, 16]',
        'float32[2, 8, 6]',
        'float32[6]',
        'float32[2, 8, 4, 24]',
        'float32[2, 8, 4, 24]',
      ],
    },
    /6 heads cannot share 4 groups evenly/,
  ],
  [
    'a chunk without tokens',
    {
      type: 'StateSpaceScan',
      domain: 'layercost',
      inputs: [
        'float32[2, 8, 6, 16]',
        'float32[2, 8, 6]',
        'float32[6]',
        'float32[2, 8, 2, 24]',
        'float32[2, 8, 2, 24]',
      ],
      attributes: { chunk_size: 0 },
    },
    /chunk_size is 0/,
  ],
  [
    'a kernel without positions',
    { type: 'CausalConvWithState', opset: 27, inputs: ['float32[2, 4, 8]', 'float32[4, 1, 0]'] },
    /has no positions/,
  ],
  [
    'a gate that would broadcast',
    { type: 'SwiGLU', opset: 28, inputs: ['float32[2, 4]', 'float32[2, 1]'] },
    /differ/,
  ],
  ['softmax of a scalar', { type: 'Softmax', inputs: ['float32[]'] }, /axis -1 lies outside/],
  [
    'statistics that are no vector',
    {
      type: 'BatchNormalization',
      inputs: ['float32[2, 4]', 'float32[1, 4]', 'float32[4]', 'float32[4]', 'float32[4]'],
    },
    /one element per channel/,
  ],
  [
    'indices of another rank',
    { type: 'MaxUnpool', inputs: ['float32[1, 1, 2, 2]', 'int64[]'], attributes: { kernel_shape: [2, 2] } },
    /do not fit the input/,
  ],
  [
    'regions of negative size',
    {
      type: 'MaxRoiPool',
      inputs: ['float32[1, 1, 8, 8]', 'float32[2, 5]'],
      attributes: { pooled_shape: [-1, 2] },
    },
    /must be positive/,
  ],
  [
    'a negative output',
    {
      type: 'ConvTranspose',
      inputs: ['float32[1, 1, 3, 3]', 'float32[1, 2, 3, 3]'],
      attributes: { output_shape: [-1, 6] },
    },
    /output_shape .* must be positive/,
  ],
  [
    'two answers to one question',
    {
      type: 'QuantizeLinear',
      inputs: ['float32[3]', 'float32[]', 'uint16[]'],
      attributes: { output_dtype: 22 },
    },
    /asks for int4, but the zero point is of uint16/,
  ],
  [
    'channels that are no whole blocks',
    { type: 'DepthToSpace', inputs: ['float32[1, 6, 2, 2]'], attributes: { blocksize: 2 } },
    /cannot be divided into blocks of 4/,
  ],
  [
    'columns that are no whole blocks',
    { type: 'Col2Im', inputs: ['float32[1, 5, 5]', [5, 5], [1, 2]] },
    /no whole/,
  ],
  ...[{ kernel: 0 }, { stride: 0 }, { kernel: -1, stride: 2 }].map(
    (attributes): readonly [string, Application, RegExp] => [
      `a pool by ${JSON.stringify(attributes)}`,
      {
        type: 'QuantAvgPool2d',
        domain: 'qonnx.custom_op.general',
        inputs: ['float32[1, 4, 8, 8]'],
        attributes,
      },
      /must be positive/,
    ],
  ),
  ['parts of nothing', { type: 'SplitToSequence', inputs: ['float32[6, 4]', [0]] }, /must be positive/],
  [
    'the axis of real and imaginary part',
    { type: 'DFT', opset: 17, inputs: ['float32[2, 5, 2]'], attributes: { axis: 2 } },
    /real and imaginary part/,
  ],
  [
    'half a spectrum of a complex signal',
    { type: 'DFT', opset: 17, inputs: ['float32[2, 5, 2]'], attributes: { axis: 1, onesided: 1 } },
    /the input is complex/,
  ],
  [
    'more inputs to scan than there are',
    { type: 'Scan', inputs: ['float32[2]', 'float32[3, 2]'], attributes: { num_scan_inputs: 9 } },
    /does not fit the 2 inputs/,
  ],
  [
    'pads past 64 bits',
    { type: 'Pad', inputs: ['float32[2]', [Number.MAX_SAFE_INTEGER, 1]] },
    /more than a 64-bit size can count/,
  ],
];

test.each(rows)('refused: %s', (_, application, message) => {
  expect(inferText(application).problem?.message).toMatch(message);
});

describe('sizes that no tensor can have', () => {
  test.each([
    [[2, -1], /-1 elements/],
    [[Number.MAX_SAFE_INTEGER + 1], /64-bit/],
    [[2, 0, Number.MAX_SAFE_INTEGER], undefined],
  ] as const)('%j', (shape, message) => {
    const { problem } = withPossibleSizes({ outputs: [tensor('float32', shape)] });
    if (message === undefined) expect(problem).toBeUndefined();
    else expect(problem?.message).toMatch(message);
  });
});

test('an unknown operator says what kind of operator it is', () => {
  expect(whyUndefined('', 'Convolution')).toBe('operator `Convolution` is not known');
  expect(whyUndefined('ai.onnx.contrib', 'NegPos')).toMatch(/custom operator of onnxruntime-extensions/);
  expect(whyUndefined('constructor', 'X')).toBe('operator `constructor.X` is not known');
});
