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
