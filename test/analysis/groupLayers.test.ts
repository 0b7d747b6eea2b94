import { expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import type { ProvidedStructure } from '../../server/src/lowering/providedStructure.ts';
import { type ModelSketch, onnxModel, onnxNode } from '../support/onnxModel.ts';

/** Layers as `name: type = outputs of their operators`. */
function check(sketch: ModelSketch, expected: readonly string[], provided?: ProvidedStructure): void {
  const { graph, layers } = analyzeOnnx(onnxModel(sketch), provided);
  const printed = layers.map(({ name, type, operators }) => {
    const outputs = operators.map((index) => graph.operators[index]?.outputs[0]);
    return `${name}: ${type} = ${outputs.join(' ')}`;
  });
  expect(printed).toEqual(expected);
}

test('operators of one exported module are one layer; a residual addition is the module around it', () => {
  check(
    {
      inputs: ['x: float32[N, 8]'],
      outputs: ['y'],
      initializers: ['fc.weight: float32[8, 8]', 'fc.bias: float32[8]'],
      nodes: [
        '/block/fc/Transpose: t = Transpose(fc.weight)',
        '/block/fc/MatMul: m = MatMul(x, t)',
        '/block/fc/Add: a = Add(m, fc.bias)',
        '/block/relu/Relu: r = Relu(a)',
        '/block/Add: y = Add(r, x)',
      ],
    },
    ['/block/fc: Linear = t m a', '/block/relu: ReLU = r', '/block: Add = y'],
  );
});

test('the ancestors are the modules around a layer', () => {
  const { layers } = analyzeOnnx(
    onnxModel({ inputs: ['x: float32[1]'], outputs: ['y'], nodes: ['/a/b/c/Relu: y = Relu(x)'] }),
  );
  expect(layers[0]).toMatchObject({ name: '/a/b/c', ancestors: ['/a', '/a/b'] });
});

test('without scopes each operator is a layer, constants and weights in another layout with it', () => {
  check(
    {
      inputs: ['x: float32[N, 3, 8, 8]'],
      outputs: ['y'],
      initializers: ['shape: int64[4] = 4, 3, 1, 1', 'k: float32[4, 3, 1, 1]'],
      nodes: [
        'w = ConstantOfShape(shape)',
        'conv1: c = Conv(x, w)',
        'i = Identity(k)',
        'd = Conv(x, i)',
        'y = Add(c, d)',
      ],
    },
    ['conv1: Conv2d = w c', 'd: Conv2d = i d', 'y: Add = y'],
  );
});

test('metadata of the newer PyTorch exporter names layers and their types', () => {
  const scoped = (text: string, names: string, classes: string) =>
    onnxNode(
      text,
      {},
      {
        'pkg.torch.onnx.name_scopes': names,
        'pkg.torch.onnx.class_hierarchy': classes,
      },
    );
  check(
    {
      inputs: ['x: float32[N, 8]'],
      outputs: ['y'],
      nodes: [
        scoped(
          'node_relu: r = Relu(x)',
          "['', 'layer1', 'layer1.0', 'layer1.0.act', 'relu']",
          "['m.Net', 'torch.nn.modules.container.Sequential', 'm.Block', 'torch.nn.modules.activation.ReLU', 'aten.relu']",
        ),
        scoped(
          'node_add: y = Add(r, x)',
          "['', 'layer1', 'layer1.0', 'add']",
          "['m.Net', 'torch.nn.modules.container.Sequential', 'm.Block', 'aten.add']",
        ),
      ],
    },
    ['layer1.0.act: ReLU = r', 'layer1.0: Add = y'],
  );
});

test.each<readonly [string, readonly string[]]>([
  ['GELU', ['d = Div(x, root)', 'e = Erf(d)', 'a = Add(e, one)', 'm = Mul(x, a)', 'y = Mul(m, half)']],
  ['SiLU', ['s = Sigmoid(x)', 'y = Mul(x, s)']],
  ['ScaledDotProductAttention', ['q = MatMul(x, x)', 's = Softmax(q)', 'y = MatMul(s, x)']],
  ['Softmax', ['y = Softmax(x)']],
  ['MatMul', ['y = MatMul(x, x)']],
  ['Linear', ['y = MatMul(x, w)']],
  ['ReLU6', ['y = Clip(x, zero, six)']],
  ['Hardtanh', ['y = Clip(x, zero, two)']],
])('%s is told from its operators', (type, nodes) => {
  const { layers } = analyzeOnnx(
    onnxModel({
      inputs: ['x: float32[N, 8, 8]'],
      outputs: ['y'],
      initializers: [
        'half: float32[] = 0.5',
        'one: float32[] = 1',
        'root: float32[] = 1.4142135',
        'two: float32[] = 2',
        'zero: float32[] = 0',
        'six: float32[] = 6',
        'w: float32[8, 8]',
      ],
      nodes: nodes.map((node, index) => `/module/${index}: ${node}`),
    }),
  );
  expect(layers.map((layer) => layer.type)).toEqual([type]);
});

test('provided layers are taken as they are', () => {
  check(
    {
      inputs: ['x: float32[N, 8]'],
      outputs: ['y'],
      nodes: ['a = Relu(x)', 'b = Relu(a)', 'y = Relu(b)'],
    },
    ['h[0].act: Twice = a b', 'y: ReLU = y'],
    {
      layers: [{ name: 'h[0].act', type: 'Twice', ancestors: ['h[0]'], nodes: [0, 1] }],
      roles: new Map(),
      symbolDefaults: new Map(),
      issues: [],
    },
  );
});
