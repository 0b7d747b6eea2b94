/** Small graphs as layer specs. */

import { describe, expect, test } from 'vitest';
import { analyzeOnnx } from '../../../server/src/analysis/analyzeOnnx.ts';
import { type SpecOfGraph, specOfGraph } from '../../../server/src/analysis/asSpec/specOfGraph.ts';
import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
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
    '  - slice: Slice(x, [0], [8], [1])',
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
