/** `nn.Bilinear` as the default exporter writes it (onnxscript 0.7): two products, with and without its optimizer and a bias. */

import { expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { onnxModel, onnxNode } from '../support/onnxModel.ts';

const recorded = {
  'pkg.torch.onnx.name_scopes': "['', 'b', 'bilinear']",
  'pkg.torch.onnx.class_hierarchy': "['Net', 'torch.nn.modules.linear.Bilinear', 'aten.bilinear.default']",
};
const inCall = (text: string, order?: readonly number[]) =>
  onnxNode(text, order === undefined ? {} : { perm: { kind: 'ints', value: order } }, recorded);

/** Rows of 8 and of 6 make 4 features. */
const products = (matrix: string) => [
  inCall(`flat = Reshape(${matrix}, columns)`),
  inCall('first = MatMul(x, flat)'),
  inCall('apart = Reshape(first, sizes)'),
  inCall('column = Unsqueeze(z, last)'),
  inCall('second = MatMul(apart, column)'),
];
const analysed = (weight: string, nodes: readonly ReturnType<typeof inCall>[]) =>
  analyzeOnnx({
    ...onnxModel({
      inputs: ['x: float32[2, 5, 8]', 'z: float32[2, 5, 6]'],
      outputs: ['y'],
      initializers: [
        weight,
        'bias: float32[4]',
        'columns: int64[2] = 8, 24',
        'sizes: int64[4] = 2, 5, 4, 6',
        'last: int64[1] = -1',
      ],
      nodes,
    }),
    producerName: 'pytorch',
  });

test.each([
  [
    'with its weight as it is',
    analysed('w: float32[4, 8, 6]', [
      inCall('turned = Transpose(w)', [1, 0, 2]),
      ...products('turned'),
      inCall('sum = Squeeze(second, last)'),
      inCall('y = Add(sum, bias)'),
    ]),
    4 * 8 * 6 + 4,
  ],
  [
    'with its weight transposed beforehand',
    analysed('w: float32[8, 4, 6]', [
      ...products('w'),
      inCall('sum = Squeeze(second, last)'),
      inCall('y = Add(sum, bias)'),
    ]),
    4 * 8 * 6 + 4,
  ],
  [
    'with its weight as a matrix beforehand',
    analysed('w: float32[8, 24]', [
      inCall('first = MatMul(x, w)'),
      ...products('w').slice(2),
      inCall('sum = Squeeze(second, last)'),
      inCall('y = Add(sum, bias)'),
    ]),
    4 * 8 * 6 + 4,
  ],
  [
    'without a bias',
    analysed('w: float32[8, 4, 6]', [...products('w'), inCall('y = Squeeze(second, last)')]),
    4 * 8 * 6,
  ],
])('is one operator, %s', (_, { graph, parameters }, elements) => {
  const last = graph.operators.at(-1);
  expect([last?.type, last?.domain]).toEqual(['Bilinear', 'layercost']);
  expect(graph.operators.filter(({ type }) => type === 'MatMul')).toEqual([]);
  expect(graph.values.get('y')?.type).toMatchObject({ shape: [2, 5, 4] });
  expect(parameters.reduce((sum, each) => sum + each.elements, 0)).toBe(elements);
});

test('a product that a program writes itself stays two', () => {
  const { graph } = analysed(
    'w: float32[8, 4, 6]',
    [...products('w'), inCall('y = Squeeze(second, last)')].map((node) => ({ ...node, metadata: new Map() })),
  );
  expect(graph.operators.filter(({ type }) => type === 'MatMul')).toHaveLength(2);
});
