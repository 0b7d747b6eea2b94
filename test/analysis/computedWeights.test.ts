/** Tensors that the TorchScript exporter folded: which are trained, and what is said of them. */

import { expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { onnxModel, onnxNode } from '../support/onnxModel.ts';

const seven = { kind: 'ints', value: [2, 2] } as const;

test('filters that are scaled for each sample are trained, as the exporter folded a constant into them', () => {
  const { parameters, issues } = analyzeOnnx(
    onnxModel({
      inputs: ['x: float32[1, 4, 8, 8]', 'style: float32[1, 4, 1, 1]'],
      outputs: ['y'],
      initializers: ['onnx::Mul_7: float32[4, 4, 3, 3]'],
      nodes: [
        onnxNode('filters = Mul(onnx::Mul_7, style)'),
        onnxNode('y = Conv(x, filters)', { strides: seven }),
      ],
    }),
  );
  expect(parameters.map(({ name }) => name)).toEqual(['onnx::Mul_7']);
  expect(issues.map(({ code, value }) => [code, value])).toContainEqual([
    'graph/computed-weights',
    'onnx::Mul_7',
  ]);
});

test.each([
  ['a grid of features as large as the weights is told', 32, ['onnx::Expand_9']],
  ['a short table is not', 1, []],
])('%s', (_, width, told) => {
  const { parameters, issues } = analyzeOnnx(
    onnxModel({
      inputs: [`x: float32[1, 4, ${width}, ${width}]`],
      outputs: ['y'],
      initializers: [
        `onnx::Expand_9: float32[1, 4, ${width}, ${width}]`,
        'w: float32[64, 4, 3, 3]',
        'shape: int64[4]',
      ],
      nodes: [
        onnxNode('grid = Expand(onnx::Expand_9, shape)'),
        onnxNode('sum = Mul(x, grid)'),
        onnxNode('y = Conv(sum, w)', { pads: { kind: 'ints', value: [1, 1, 1, 1] } }),
      ],
    }),
  );
  expect(parameters.map(({ name }) => name)).toEqual(['w']);
  const about = issues.flatMap(({ code, value }) => (code === 'graph/computed-weights' ? [value] : []));
  expect(about).toEqual(told);
});

test.each([
  ['positions that were cut or looked up', 'onnx::Add_7: float32[1, 12, 8]', ['onnx::Add_7']],
  ['positions that the program adds as they are', 'positions: float32[1, 12, 8]', []],
  ['a bias', 'onnx::Add_7: float32[8]', []],
])('%s', (_, stored, told) => {
  const name = stored.slice(0, stored.lastIndexOf(':'));
  const { parameters, issues } = analyzeOnnx(
    onnxModel({
      inputs: ['x: float32[2, 12, 8]'],
      outputs: ['y'],
      initializers: [stored, 'w: float32[8, 8]'],
      nodes: [onnxNode('h = MatMul(x, w)'), onnxNode(`y = Add(h, ${name})`)],
    }),
  );
  expect(parameters.map((parameter) => parameter.name)).toContain(name);
  const about = issues.flatMap(({ code, value }) => (code === 'graph/computed-weights' ? [value] : []));
  expect(about).toEqual(told);
});

const rows = 'onnx::Expand_9: float32[1, 6, 8]';
const shapeOfRows = 'shape: int64[3] = 4, 6, 8';

/** `queries.weight.unsqueeze(0).expand(4, -1, -1)` of `nn.Embedding(6, 8)`, which DETR adds or projects; and tables. */
test.each<[string, readonly string[], readonly string[], readonly string[]]>([
  ['queries that are added', [rows], ['y = Add(x, rows)'], ['onnx::Expand_9']],
  [
    'queries that a layer projects',
    [rows, 'w: float32[8, 8]'],
    ['y = MatMul(rows, w)'],
    ['onnx::Expand_9', 'w'],
  ],
  ['positions that turn heads', [rows], ['y = Mul(x, rows)'], []],
  ['rows that are a matrix of other rows', [rows], ['y = MatMul(rows, x)'], []],
  ['coordinates', ['onnx::Expand_9: float32[1, 6, 2]'], ['y = Add(x, rows)'], []],
])('%s, spread over the batch', (_, stored, readers, trained) => {
  const width = stored[0]?.includes(', 2]') ? 2 : 8;
  const { parameters, issues } = analyzeOnnx(
    onnxModel({
      inputs: [readers[0]?.includes('(rows, x)') ? 'x: float32[4, 8, 8]' : `x: float32[4, 6, ${width}]`],
      outputs: ['y'],
      initializers: [...stored, shapeOfRows.replace('8', `${width}`)],
      nodes: [onnxNode('rows = Expand(onnx::Expand_9, shape)'), ...readers.map((reader) => onnxNode(reader))],
    }),
  );
  expect(parameters.map(({ name }) => name).sort()).toEqual([...trained].sort());
  const about = issues.flatMap(({ code, value }) => (code === 'graph/computed-weights' ? [value] : []));
  // What is not trained is a table beside which the model has no other parameters.
  expect(about).toEqual(['onnx::Expand_9']);
});
