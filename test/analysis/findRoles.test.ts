import { describe, expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { type ModelSketch, onnxModel, onnxNode } from '../support/onnxModel.ts';

/** Names of the trained tensors with their element counts. */
function parametersOf(sketch: ModelSketch): Readonly<Record<string, number>> {
  const { parameters } = analyzeOnnx(onnxModel(sketch));
  return Object.fromEntries(parameters.map(({ name, elements }) => [name, elements]));
}

const image = 'x: float32[N, 3, 8, 8]';

describe('trained tensors', () => {
  test.each<readonly [string, ModelSketch, Readonly<Record<string, number>>]>([
    [
      'weight and bias of a convolution',
      {
        inputs: [image],
        outputs: ['y'],
        initializers: ['w: float32[4, 3, 3, 3]', 'b: float32[4]'],
        nodes: ['y = Conv(x, w, b)'],
      },
      { w: 108, b: 4 },
    ],
    [
      'scale and bias of batch normalisation, not its running statistics',
      {
        inputs: [image],
        outputs: ['y'],
        initializers: ['s: float32[3]', 'b: float32[3]', 'm: float32[3]', 'v: float32[3]'],
        nodes: ['y = BatchNormalization(x, s, b, m, v)'],
      },
      { s: 3, b: 3 },
    ],
    [
      'a weight behind a transpose, once though shared',
      {
        inputs: ['x: float32[N, 4]'],
        outputs: ['z'],
        initializers: ['w: float32[4, 4]'],
        nodes: ['t = Transpose(w)', 'y = MatMul(x, t)', 'i = Identity(w)', 'z = MatMul(y, i)'],
      },
      { w: 16 },
    ],
    [
      'an embedding, not the table of positions that indexes it',
      {
        inputs: [],
        outputs: ['y'],
        initializers: ['table: float32[100, 8]', 'positions: int64[1, 6]'],
        nodes: ['y = Gather(table, positions)'],
      },
      { table: 800 },
    ],
    [
      'a layer scale and a learned scalar, not a constant of a formula',
      {
        inputs: ['x: float32[N, 4]'],
        outputs: ['d'],
        initializers: [
          'blk.gamma: float32[4]',
          'blk.gain: float32[] = 1',
          'half: float32[] = 0.5',
          'mask: float32[4, 4]',
        ],
        nodes: ['a = Mul(x, blk.gamma)', 'b = Mul(a, blk.gain)', 'c = Mul(b, half)', 'd = Add(c, mask)'],
      },
      { 'blk.gamma': 4, 'blk.gain': 1 },
    ],
    [
      'not scale and shift of a frozen normalization, which the exporter folded',
      {
        inputs: [image],
        outputs: ['y'],
        initializers: [
          'conv.weight: float32[4, 3, 3, 3]',
          'onnx::Mul_1: float32[1, 4, 1, 1]',
          'onnx::Add_2: float32[1, 4, 1, 1]',
        ],
        nodes: [
          'a = Conv(x, conv.weight)',
          'b = Mul(a, onnx::Mul_1)',
          'c = Add(b, onnx::Add_2)',
          'y = Relu(c)',
        ],
      },
      { 'conv.weight': 108 },
    ],
    [
      'a layer scale behind a filter, and one that shifts what is normalized',
      {
        inputs: [image],
        outputs: ['y'],
        initializers: [
          'conv.weight: float32[3, 3, 1, 1]',
          'onnx::Mul_1: float32[1, 3, 1, 1]',
          'onnx::Mul_2: float32[1, 3, 1, 1]',
          'onnx::Add_3: float32[1, 3, 1, 1]',
        ],
        nodes: [
          'a = Conv(x, conv.weight)',
          'b = Mul(a, onnx::Mul_1)',
          'r = Add(b, x)',
          'n = LpNormalization(r)',
          's = Mul(n, onnx::Mul_2)',
          'y = Add(s, onnx::Add_3)',
        ],
      },
      { 'conv.weight': 9, 'onnx::Mul_1': 3, 'onnx::Mul_2': 3, 'onnx::Add_3': 3 },
    ],
    [
      'not frequencies, whose products are only bent by sine and cosine',
      {
        inputs: ['x: float32[N, 4]'],
        outputs: ['y'],
        initializers: ['onnx::Einsum_9: float32[4, 4]', 'w: float32[4, 4]'],
        nodes: [
          'angles = MatMul(x, onnx::Einsum_9)',
          's = Sin(angles)',
          'c = Cos(angles)',
          'positions = Add(s, c)',
          'y = MatMul(positions, w)',
        ],
      },
      { w: 16 },
    ],
    [
      'not a table that the exporter folded, but a bias that it folded',
      {
        inputs: ['x: float32[1, 2, 3, 3]'],
        outputs: ['b'],
        initializers: ['onnx::Add_7: float32[1, 2, 3, 3]', 'onnx::Add_8: float32[3]'],
        nodes: ['a = Add(x, onnx::Add_7)', 'b = Add(a, onnx::Add_8)'],
      },
      { 'onnx::Add_8': 3 },
    ],
    [
      'not the nameless frequencies of a rotary embedding',
      {
        inputs: ['x: float32[N, 4, 1]', 'p: float32[N, 1, 3]'],
        outputs: ['y'],
        initializers: ['onnx::Expand_2: float32[1, 4, 1]', 'shape: int64[3] = 1, 4, 1'],
        nodes: ['f = Expand(onnx::Expand_2, shape)', 'm = MatMul(f, p)', 'c = Cos(m)', 'y = Mul(c, x)'],
      },
      {},
    ],
    [
      'the logarithm of a scale for each head, not a table that is bounded',
      {
        inputs: ['x: float32[N, 4, 3, 3]'],
        outputs: ['z'],
        initializers: [
          'onnx::Clip_2: float32[1, 4, 1, 1]',
          'onnx::Clip_3: float32[1, 4, 1, 1]',
          'most: float32[] = 4.6',
        ],
        nodes: [
          'l = Clip(onnx::Clip_2, , most)',
          's = Exp(l)',
          'y = Mul(x, s)',
          't = Clip(onnx::Clip_3, , most)',
          'z = Mul(y, t)',
        ],
      },
      { 'onnx::Clip_2': 4 },
    ],
    [
      'a class token that is spread over the batch',
      {
        inputs: ['x: float32[2, 4, 8]'],
        outputs: ['y'],
        initializers: ['cls_token: float32[1, 1, 8]', 'shape: int64[3] = 2, 1, 8'],
        nodes: [
          'e = Expand(cls_token, shape)',
          onnxNode('y = Concat(e, x)', { axis: { kind: 'int', value: 1 } }),
        ],
      },
      { cls_token: 8 },
    ],
    [
      'not what PyTorch keeps in a Constant node',
      {
        inputs: ['x: float32[N, 4]'],
        outputs: ['y'],
        nodes: [
          onnxNode('/c: /Constant_output_0 = Constant()', {
            value: {
              kind: 'tensor',
              value: { name: '', elementType: 'float32', dimensions: [4, 4], storedBytes: 64 },
            },
          }),
          'y = MatMul(x, /Constant_output_0)',
        ],
      },
      {},
    ],
    [
      'not the scales of a resize',
      {
        inputs: [image],
        outputs: ['y'],
        initializers: ['r: float32[0]', 'scales: float32[4] = 1, 1, 2, 2'],
        nodes: ['y = Resize(x, r, scales)'],
      },
      {},
    ],
    [
      'a weight made from a stored shape, as in files stripped of weights',
      {
        inputs: [image],
        outputs: ['y'],
        initializers: ['shape: int64[4] = 4, 3, 1, 1'],
        nodes: ['w = ConstantOfShape(shape)', 'y = Conv(x, w)'],
      },
      { w: 12 },
    ],
    [
      'initializers listed among the inputs, as IR version 3 demands, and weights that are inputs only',
      {
        inputs: [
          image,
          'w: float32[4, 3, 1, 1]',
          's: float32[4]',
          'b: float32[4]',
          'm: float32[4]',
          'v: float32[4]',
        ],
        outputs: ['z'],
        initializers: ['w: float32[4, 3, 1, 1]'],
        nodes: ['y = Conv(x, w)', 'z = BatchNormalization(y, s, b, m, v)'],
      },
      { w: 12, s: 4, b: 4 },
    ],
    [
      'not two inputs that are multiplied',
      {
        inputs: ['a: float32[2, 3]', 'b: float32[3, 2]'],
        outputs: ['y'],
        nodes: ['y = MatMul(a, b)'],
      },
      {},
    ],
    [
      'not what no output depends on',
      {
        inputs: ['x: float32[N, 4]'],
        outputs: ['y'],
        initializers: ['w: float32[4, 4]', 'unused: float32[4, 4]'],
        nodes: ['y = MatMul(x, w)', 'dead = MatMul(y, unused)'],
      },
      { w: 16 },
    ],
    [
      'a quantized weight behind DequantizeLinear',
      {
        inputs: ['x: float32[N, 4]'],
        outputs: ['y'],
        initializers: ['q: int8[4, 4]', 'scale: float32[] = 0.1', 'zero: int8[] = 0'],
        nodes: ['w = DequantizeLinear(q, scale, zero)', 'y = MatMul(x, w)'],
      },
      { q: 16 },
    ],
  ])('%s', (_, sketch, expected) => {
    expect(parametersOf(sketch)).toEqual(expected);
  });

  test('a provided role is not questioned', () => {
    const model = onnxModel({
      inputs: ['x: float32[N, 4]', 'w: float32[4, 4]'],
      outputs: ['y'],
      nodes: [onnxNode('y = MatMul(x, w)')],
    });
    const { parameters, graph } = analyzeOnnx(model, {
      layers: [{ name: 'fc', type: 'Linear', ancestors: [], nodes: [0] }],
      roles: new Map([['w', 'parameter']]),
      symbolDefaults: new Map([['N', 8]]),
      issues: [],
    });
    expect(parameters).toEqual([{ name: 'w', elements: 16, elementType: 'float32', operators: [0] }]);
    expect(graph.inputs).toEqual(['x']);
  });
});
