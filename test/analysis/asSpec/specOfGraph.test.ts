/** Small graphs as layer specs. */

import { describe, expect, test } from 'vitest';
import { analyzeOnnx } from '../../../server/src/analysis/analyzeOnnx.ts';
import { type SpecOfGraph, specOfGraph } from '../../../server/src/analysis/asSpec/specOfGraph.ts';
import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { type ModelSketch, onnxModel, onnxNode } from '../../support/onnxModel.ts';

const specOf = (sketch: ModelSketch): SpecOfGraph => specOfGraph(analyzeOnnx(onnxModel(sketch)), 'sketch');

/** The lines below `layers` and `blocks`. */
const linesOf = ({ text }: SpecOfGraph): readonly string[] =>
  text.split('\n').filter((line) => /^ *(- |# )|^ {2}\w+.*:$/.test(line));

const errorsOf = ({ text }: SpecOfGraph): readonly string[] =>
  openLayerSpec(text, 'sketch.layers.yaml')
    .issues.filter(({ severity }) => severity === 'error')
    .map(({ message }) => message);

const repeated = (count: number): ModelSketch => ({
  inputs: ['x: float32[2, 16, 64]'],
  outputs: [`y${count}`],
  initializers: Array.from({ length: count }, (_, index) => [
    `layers.${index}.up.weight: float32[64, 256]`,
    `layers.${index}.down.weight: float32[256, 64]`,
  ]).flat(),
  nodes: Array.from({ length: count }, (_, index) => [
    onnxNode(
      `/layers.${index}/up/MatMul: a${index} = MatMul(${index === 0 ? 'x' : `y${index}`}, layers.${index}.up.weight)`,
    ),
    onnxNode(`/layers.${index}/act/Relu: b${index} = Relu(a${index})`),
    onnxNode(`/layers.${index}/down/MatMul: c${index} = MatMul(b${index}, layers.${index}.down.weight)`),
    onnxNode(`/layers.${index}/Add: y${index + 1} = Add(c${index}, ${index === 0 ? 'x' : `y${index}`})`),
  ]).flat(),
});

describe('blocks that repeat', () => {
  test('stand once, with how often', () => {
    const spec = specOf(repeated(3));
    expect(linesOf(spec)).toEqual([
      '  layer:',
      '    - up: Linear(64, 256, bias=False)',
      '    - act: ReLU()',
      '    - down: Linear(256, 64, bias=False)',
      '    - add: add(down, input)',
      '  - layers: layer() * 3',
    ]);
    expect(errorsOf(spec)).toEqual([]);
  });

  test('have the operators of every repetition on their lines', () => {
    const { lines, text } = specOf(repeated(3));
    const up = lines.find(({ name }) => name === 'up');
    expect(up?.operators).toEqual([[0], [4], [8]]);
    expect(text.split('\n')[up?.line ?? 0]).toContain('- up:');
    expect(lines.find(({ name }) => name === 'layers')?.operators.flat()).toHaveLength(12);
  });

  test('that stand once are written out', () => {
    expect(linesOf(specOf(repeated(1)))).toHaveLength(4);
  });

  test('of which one is read outside are written out', () => {
    const sketch = repeated(3);
    expect(linesOf(specOf({ ...sketch, outputs: ['y3', 'y1'] })).join('\n')).not.toContain('*');
  });
});

test('a graph without modules is called by its weights and functions', () => {
  const spec = specOf({
    inputs: ['x: float32[2, 3, 8, 8]'],
    outputs: ['z'],
    initializers: ['conv1_w_0: float32[4, 3, 3, 3]'],
    nodes: ['y = Conv(x, conv1_w_0)', 'z = Relu(y)'],
  });
  expect(linesOf(spec)).toEqual(['  - conv1: Conv2d(3, 4, kernel_size=3, bias=False)', '  - relu: ReLU()']);
});

test('a table and a head share their weight', () => {
  const spec = specOf({
    inputs: ['x: int64[2, 16]'],
    outputs: ['z'],
    initializers: ['wte.weight: float32[100, 64]'],
    nodes: [
      'y = Gather(wte.weight, x)',
      onnxNode('t = Transpose(wte.weight)', { perm: { kind: 'ints', value: [1, 0] } }),
      'z = MatMul(y, t)',
    ],
  });
  expect(linesOf(spec)[1]).toMatch(/Linear\(64, 100, bias=False, weight=embedding\)/);
  expect(errorsOf(spec)).toEqual([]);
});

test('constants stand where tensors do, and weights of other operators have lines', () => {
  const spec = specOf({
    inputs: ['x: float32[2, 16]'],
    outputs: ['z'],
    initializers: ['starts: int64[1] = 0', 'ends: int64[1] = 8', 'axes: int64[1] = 1', 'gamma: float32[8]'],
    nodes: ['y = Slice(x, starts, ends, axes)', 'z = Mul(y, gamma)'],
  });
  expect(linesOf(spec)).toEqual([
    '  - slice: slice(x, 1, 0, 8)',
    '  - gamma: Parameter(8)',
    '  - mul: mul(slice, gamma)',
  ]);
  expect(errorsOf(spec)).toEqual([]);
});

test('names the lines that no layer spec has', () => {
  const spec = specOf({
    inputs: ['x: float32[2, 16]'],
    outputs: ['y'],
    nodes: ['y = com.example.Special(x)'],
  });
  expect(spec.problems).toEqual([{ line: 6, message: 'com.example.Special is no operator of a layer spec' }]);
  expect(spec.text.split('\n')[6]).toContain('com.example.Special(x)');
});

test('open sizes are dims', () => {
  const spec = specOf({
    inputs: ['x: float32[batch, 4, 8]'],
    outputs: ['y'],
    initializers: ['shape: int64[2] = 0, 32'],
    nodes: ['y = Reshape(x, shape)'],
  });
  expect(spec.text).toContain('  batch:\n');
  expect(linesOf(spec)).toContain('  - reshape: reshape(x, batch, 32)');
  expect(errorsOf(spec)).toEqual([]);
});

/** The line of the last operator of a graph over `x: float32[2, 16, 8, 8]`. */
function lineOf(node: string, attributes: Parameters<typeof onnxNode>[1] = {}, more: readonly string[] = []) {
  const spec = specOf({
    inputs: ['x: float32[2, 16, 8, 8]'],
    outputs: ['y'],
    initializers: [
      'one: int64[1] = 1',
      'two: int64[1] = 2',
      'end: int64[1] = 9223372036854775807',
      'first: int64 = 0',
      'zero: float32 = 0',
      'six: float32 = 6',
      'sizes: int64[2] = 4, 12',
      'target: int64[4] = 2, 16, 8, 8',
      ...more,
    ],
    nodes: [onnxNode(node, attributes)],
  });
  expect(errorsOf(spec)).toEqual([]);
  expect(spec.problems).toEqual([]);
  return linesOf(spec)
    .at(-1)
    ?.replace(/^ *- \S.*?: /, '');
}

const ints = (...value: readonly number[]) => ({ kind: 'ints', value }) as const;
const int = (value: number) => ({ kind: 'int', value }) as const;
const float = (value: number) => ({ kind: 'float', value }) as const;

test.each([
  ['y = Softmax(x)', { axis: int(-1) }, 'Softmax(dim=-1)'],
  ['y = LogSoftmax(x)', { axis: int(1) }, 'LogSoftmax(dim=-3)'],
  ['y = GlobalAveragePool(x)', {}, 'AdaptiveAvgPool2d(1)'],
  ['y = MaxPool(x)', { kernel_shape: ints(2, 2), strides: ints(2, 2) }, 'MaxPool2d(kernel_size=2)'],
  [
    'y = MaxPool(x)',
    { kernel_shape: ints(3, 3), strides: ints(2, 2), pads: ints(1, 1, 1, 1), ceil_mode: int(1) },
    'MaxPool2d(kernel_size=3, stride=2, padding=1, ceil_mode=True)',
  ],
  [
    'y = AveragePool(x)',
    { kernel_shape: ints(3, 3), pads: ints(1, 1, 1, 1) },
    'AvgPool2d(kernel_size=3, stride=1, padding=1, count_include_pad=False)',
  ],
  ['y = ReduceMean(x, one)', { keepdims: int(0) }, 'mean(x, dim=1)'],
  ['y = ReduceSum(x, one)', {}, 'sum(x, dim=1, keepdim=True)'],
  ['y = Flatten(x)', {}, 'Flatten()'],
  ['y = Unsqueeze(x, one)', {}, 'unsqueeze(x, 1)'],
  ['y = Gather(x, first)', { axis: int(1) }, 'select(x, 1, 0)'],
  ['y = Slice(x, one, two, two)', {}, 'slice(x, 2, 1, 2)'],
  ['y = Slice(x, one, end, one)', {}, 'slice(x, 1, 1)'],
  ['y = Slice(x, one, end, one, two)', {}, 'slice(x, 1, 1, None, 2)'],
  ['y, z = Split(x, sizes)', { axis: int(1) }, 'split(x, [4, 12], dim=1)'],
  ['y, z = Split(x)', { axis: int(1), num_outputs: int(2) }, 'split(x, 8, dim=1)'],
  ['y = Expand(x, target)', {}, 'expand(x, 2, 16, 8, 8)'],
  ['y = Clip(x, zero, six)', {}, 'ReLU6()'],
  ['y = LeakyRelu(x)', { alpha: float(Math.fround(0.2)) }, 'LeakyReLU(0.2)'],
  ['y = LeakyRelu(x)', {}, 'LeakyReLU()'],
  ['y = HardSigmoid(x)', { alpha: float(Math.fround(1 / 6)) }, 'Hardsigmoid()'],
  ['y = HardSigmoid(x)', {}, 'HardSigmoid(x)'],
  ['y = HardSwish(x)', {}, 'Hardswish()'],
] as const)('%s is written as in PyTorch', (node, attributes, line) => {
  expect(lineOf(node, attributes)).toBe(line);
});

test('numbers of single precision are as short as they can be', () => {
  const scaled = (value: number): string | undefined =>
    lineOf('y = Mul(x, factor)', {}, [`factor: float32 = ${value}`]);
  expect([0.1, 0.044715, 1e-12, 0.125, 3].map((value) => scaled(Math.fround(value)))).toEqual([
    'mul(x, 0.1)',
    'mul(x, 0.044715)',
    'mul(x, 1e-12)',
    'mul(x, 0.125)',
    'mul(x, 3)',
  ]);
});

test('a trained number has no sizes', () => {
  const spec = specOf({
    inputs: ['x: float32[2, 16]'],
    outputs: ['y'],
    initializers: ['block.gain: float32'],
    nodes: ['y = Mul(x, block.gain)'],
  });
  expect(linesOf(spec)).toEqual(['  - gain: Parameter()', '  - mul: mul(x, gain)']);
  expect(errorsOf(spec)).toEqual([]);
});

test('a long chain of one layer is one block, and as many names as lines are given', () => {
  const count = 4000;
  const spec = specOf({
    inputs: ['x0: float32[2, 16]'],
    outputs: [`x${count}`],
    nodes: Array.from({ length: count }, (_, index) => `x${index + 1} = Relu(x${index})`),
  });
  expect(linesOf(spec).at(-1)).toBe('  - blocks: block() * 2000');
});

test('a table that every step computes anew is kept for backward, a stored one is not', () => {
  const kept = (settings: string): number | undefined => {
    const text = `inputs:\n  x: float32[2, 64]\nlayers:\n  - a: Linear(64)\n  - t: Buffer(2, 64${settings})\n  - y: mul(a, t)\n`;
    const opened = openLayerSpec(text, 'table.layers.yaml');
    const { cost } = estimateModel(opened, [{ cluster: 'dgx-1-v100', gpus: 1, precision: 'fp32' }]);
    return cost?.totals.memory.activations;
  };
  expect(Number(kept(', computed=True')) - Number(kept(''))).toBe(2 * 64 * 4);
});

describe('group normalization that was written as one of instances', () => {
  const groupNorm = (change: { readonly last?: string; readonly alsoReads?: string } = {}): ModelSketch => ({
    inputs: ['x: float32[2, 12, 6, 6]'],
    outputs: ['y', ...(change.alsoReads === undefined ? [] : ['z'])],
    initializers: [
      'groups: int64[3] = 0, 4, -1',
      'whole: int64[4] = 2, 12, 6, 6',
      'norm.weight: float32[12, 1, 1]',
      `norm.bias: float32[${change.last ?? '12, 1, 1'}]`,
    ],
    nodes: [
      onnxNode('/norm/Constant_output_0 = Constant()', {
        value_floats: { kind: 'floats', value: [1, 1, 1, 1] },
      }),
      onnxNode('/norm/Constant_1_output_0 = Constant()', {
        value_floats: { kind: 'floats', value: [0, 0, 0, 0] },
      }),
      'grouped = Reshape(x, groups)',
      'normal = InstanceNormalization(grouped, /norm/Constant_output_0, /norm/Constant_1_output_0)',
      'back = Reshape(normal, whole)',
      'scaled = Mul(back, norm.weight)',
      'y = Add(scaled, norm.bias)',
      ...(change.alsoReads === undefined ? [] : [change.alsoReads]),
    ],
  });

  test('is the layer again', () => {
    const spec = specOf(groupNorm());
    expect(linesOf(spec)).toEqual([expect.stringMatching(/^ {2}- \w+: GroupNorm\(4, 12\)$/)]);
    expect(errorsOf(spec)).toEqual([]);
    expect(spec.lines.flatMap(({ operators }) => operators.flat())).toEqual([2, 3, 4, 5, 6]);
  });

  test.each([
    ['a shift of each place is another layer', { last: '12, 6, 6' }],
    ['groups that something else reads stay', { alsoReads: 'z = Relu(grouped)' }],
  ])('%s', (_, change) => {
    const spec = specOf(groupNorm(change));
    expect(spec.text).not.toContain('GroupNorm(');
    expect(spec.text).toContain('InstanceNormalization(');
    expect(errorsOf(spec)).toEqual([]);
  });
});
