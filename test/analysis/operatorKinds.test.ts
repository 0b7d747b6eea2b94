import { expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import type { OnnxNode } from '../../server/src/formats/onnx/syntax.ts';
import { type ModelSketch, onnxModel, onnxNode } from '../support/onnxModel.ts';

const around: Omit<ModelSketch, 'nodes'> = {
  inputs: ['x: float32[N, 8]', 'z: float32[N, 8]', 'other: float32[N, 9]'],
  initializers: [
    'a: float32[8, 16]',
    'b: float32[8, 16]',
    'wide: float32[8, 17]',
    'two: int64[2] = 4, 2',
    'deux: int64[2] = 4, 2',
    'four: int64[2] = 2, 4',
  ],
  outputs: [],
};

function kindsOf(nodes: readonly (string | OnnxNode)[], sketch: Partial<ModelSketch> = {}) {
  return analyzeOnnx(onnxModel({ ...around, ...sketch, nodes })).graph.operators.map(({ kind }) => kind);
}

const softmax = (output: string, input: string, axis: number): OnnxNode =>
  onnxNode(`${output} = Softmax(${input})`, { axis: { kind: 'int', value: axis } });

test.each<[string, readonly (string | OnnxNode)[]]>([
  ['equal types under other names', ['p = MatMul(x, a)', 'q = MatMul(z, b)']],
  ['types that inference made equal', ['p = Relu(x)', 'q = Relu(p)']],
  ['equal attributes', [softmax('p', 'x', 1), softmax('q', 'z', 1)]],
  ['equal contents', ['p = Tile(x, two)', 'q = Tile(x, deux)']],
])('one kind: %s', (_, nodes) => {
  const [first, second] = kindsOf(nodes);
  expect(first).toBeDefined();
  expect(second).toBe(first);
});

test.each<[string, readonly (string | OnnxNode)[]]>([
  ['operator', ['p = Relu(x)', 'q = Sigmoid(x)']],
  ['domain', ['p = Gelu(x)', 'q = com.microsoft.Gelu(x)']],
  ['shape', ['p = MatMul(x, a)', 'q = MatMul(x, wide)']],
  ['attribute', [softmax('p', 'x', 0), softmax('q', 'x', 1)]],
  ['contents', ['p = Tile(x, two)', 'q = Tile(x, four)']],
  ['absent input', ['p = Clip(x, , two)', 'q = Clip(x, two)']],
  ['absent output', ['p, m = MaxPool(x)', ' , n = MaxPool(x)']],
])('kinds apart: %s', (_, nodes) => {
  const [first, second] = kindsOf(nodes);
  expect(second === undefined || second !== first).toBe(true);
});

test.each<[string, readonly (string | OnnxNode)[], Partial<ModelSketch>]>([
  [
    'its output is completed by what the file declares',
    ['p = Mystery(x)'],
    { valueInfos: ['p: float32[3]'] },
  ],
  ['something else defines its output', ['p = Relu(x)', 'p = Relu(x)'], {}],
  ['it stands on a cycle', ['p = Add(x, q)', 'q = Relu(p)'], {}],
  ['it contradicts its inputs', ['p = MatMul(other, a)'], {}],
])('no kind: %s', (_, nodes, sketch) => {
  expect(kindsOf(nodes, sketch).at(-1)).toBeUndefined();
});
