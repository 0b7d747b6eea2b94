/** Batch normalization without running statistics, as PyTorch's exporters write it, is one operator again. */

import { expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { onnxModel } from '../support/onnxModel.ts';

const statistics = [
  'm = ReduceMean(x, axes)',
  'm2 = ReduceMean(x, axes)',
  'd = Sub(x, m2)',
  's = Mul(d, d)',
  'v = ReduceMean(s, axes)',
];
const normalization = 'n = BatchNormalization(x, w, b, m, v)';

function analysisOf(nodes: readonly string[]) {
  return analyzeOnnx(
    onnxModel({
      inputs: ['x: float32[2, 4, 8, 8]'],
      outputs: ['y'],
      initializers: [
        'axes: int64[3] = 0, 2, 3',
        'w: float32[4]',
        'b: float32[4]',
        'mean: float32[4]',
        'var: float32[4]',
      ],
      nodes,
    }),
  );
}

const typesOf = (nodes: readonly string[]) => analysisOf(nodes).graph.operators.map(({ type }) => type);

test.each([
  ['as exporters write it', [...statistics, normalization, 'y = Relu(n)'], ['BatchNormalization', 'Relu']],
  [
    'with a statistic that something else reads',
    [...statistics, normalization, 'y = Add(n, m)'],
    ['ReduceMean', 'BatchNormalization', 'Add'],
  ],
  [
    'with the statistics of something else',
    ['z = Relu(x)', ...statistics.map((node) => node.replaceAll('(x', '(z')), normalization, 'y = Relu(n)'],
    ['Relu', 'ReduceMean', 'ReduceMean', 'Sub', 'Mul', 'ReduceMean', 'BatchNormalization', 'Relu'],
  ],
  [
    'with stored statistics',
    ['n = BatchNormalization(x, w, b, mean, var)', 'y = Relu(n)'],
    ['BatchNormalization', 'Relu'],
  ],
])('%s', (_, nodes, types) => expect(typesOf(nodes)).toEqual(types));

test('it takes the statistics of the batch, and none of them is trained', () => {
  const { graph, parameters } = analysisOf([...statistics, normalization, 'y = Relu(n)']);
  expect(graph.operators[0]?.attributes.get('training_mode')).toEqual({ kind: 'int', value: 1 });
  expect(parameters.map(({ name }) => name)).toEqual(['w', 'b']);
});
