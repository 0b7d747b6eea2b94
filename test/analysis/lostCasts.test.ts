/** What is said where the default exporter has left out casts, and where it can have left out none. */

import { expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { onnxModel, onnxNode } from '../support/onnxModel.ts';

/** An operator in a module of a class, as the exporter of `torch.export` records it. */
const inside = (text: string, moduleClass: string, called: string) =>
  onnxNode(
    text,
    {},
    {
      'pkg.torch.onnx.name_scopes': `['', 'norm', '${text.split(' ')[0]}']`,
      'pkg.torch.onnx.class_hierarchy': `['Net', '${moduleClass}', '${called}']`,
    },
  );
const messages = (nodes: readonly (string | ReturnType<typeof onnxNode>)[], producerName = 'pytorch') =>
  analyzeOnnx({
    ...onnxModel({
      inputs: ['x: float32[2, 8]'],
      outputs: ['y'],
      initializers: ['w: float32[8, 8]', 'two: float32[] = 2'],
      nodes: ['h = MatMul(x, w)', ...nodes],
    }),
    producerName,
  })
    .issues.filter(({ code }) => code === 'graph/lost-casts')
    .map(({ message }) => message);

const power = inside('y = Pow(h, two)', 'net.RootMeanSquare', 'aten.pow.Tensor_Scalar');
const idle = onnxNode('c = Cast(h)', { to: { kind: 'int', value: 1 } });

test('a class of the program calls what autocast lists', () => {
  expect(messages([power])).toEqual([expect.stringContaining('`RootMeanSquare` may cast')]);
});

test('the model itself calls it', () => {
  const inModel = onnxNode(
    'y = Pow(h, two)',
    {},
    {
      'pkg.torch.onnx.name_scopes': "['', 'y']",
      'pkg.torch.onnx.class_hierarchy': "['net.Net', 'aten.pow.Tensor_Scalar']",
    },
  );
  expect(messages([inModel])).toEqual([expect.stringContaining('the model may cast')]);
});

const traced = (line: string) =>
  onnxNode(
    'y = MatMul(h, w)',
    {},
    {
      'pkg.torch.onnx.name_scopes': "['', 'norm', 'y']",
      'pkg.torch.onnx.class_hierarchy': "['Net', 'net.Attend', 'aten.matmul.default']",
      'pkg.torch.onnx.stack_trace': `File "net.py", line 9, in forward\n    ${line}`,
    },
  );

test.each([
  'return query.float() @ key',
  'weights = weights.to(value.dtype) @ value',
  'matmul = torch.ops.aten.matmul.default(transpose_1, to_2);  transpose_1 = to_2 = None',
])('a line that casts: %s', (line) => expect(messages([traced(line)])).toHaveLength(1));

test.each(['return query @ key', 'x = x.to(device) @ key'])('a line that does not: %s', (line) =>
  expect(messages([traced(line)])).toEqual([]),
);

test.each([
  [
    'a layer of PyTorch',
    [inside('y = Softmax(h)', 'torch.nn.modules.activation.Softmax', 'aten.softmax.int')],
  ],
  ['what autocast does not list', [inside('y = Sigmoid(h)', 'net.Gate', 'aten.sigmoid.default')]],
  [
    'a cast that does nothing is there',
    [idle, inside('y = Pow(c, two)', 'net.Root', 'aten.pow.Tensor_Scalar')],
  ],
  ['nothing is recorded', ['y = Pow(h, two)']],
])('nothing: %s', (_, nodes) => expect(messages(nodes)).toEqual([]));

test('nothing of a file of another exporter', () => expect(messages([power], 'tf2onnx')).toEqual([]));

/** `RMSNorm` of Meta's LLaMA (llama/model.py), as the TorchScript exporter writes it: `x.float()` stands, `type_as(x)` does not. */
const normalized = (input: string) => [
  onnxNode('/norm/Cast_output_0 = Cast(h)', { to: { kind: 'int', value: 1 } }),
  `/norm/Pow_output_0 = Pow(/norm/Cast_output_0, two)`,
  '/norm/ReduceMean_output_0 = ReduceMean(/norm/Pow_output_0, last)',
  '/norm/Add_output_0 = Add(/norm/ReduceMean_output_0, small)',
  '/norm/Sqrt_output_0 = Sqrt(/norm/Add_output_0)',
  '/norm/Div_output_0 = Reciprocal(/norm/Sqrt_output_0)',
  `/norm/Mul_output_0 = Mul(${input}, /norm/Div_output_0)`,
];
const returned = onnxNode('/norm/Cast_1_output_0 = Cast(/norm/Mul_output_0)', {
  to: { kind: 'int', value: 1 },
});

test.each<[string, readonly (string | ReturnType<typeof onnxNode>)[], number]>([
  [
    'what goes out is not cast back',
    [...normalized('/norm/Cast_output_0'), 'y = Mul(/norm/Mul_output_0, scale)'],
    1,
  ],
  [
    'what goes out is cast back',
    [...normalized('/norm/Cast_output_0'), returned, 'y = Mul(/norm/Cast_1_output_0, scale)'],
    0,
  ],
  ['the mean alone is of a cast, as in T5', [...normalized('h'), 'y = Mul(/norm/Mul_output_0, scale)'], 0],
])('a normalization that casts what comes in: %s', (_, nodes, count) => {
  const { issues } = analyzeOnnx({
    ...onnxModel({
      inputs: ['x: float32[2, 8]'],
      outputs: ['y'],
      initializers: [
        'w: float32[8, 8]',
        'scale: float32[8]',
        'two: float32[] = 2',
        'small: float32[] = 0.00001',
        'last: int64[1] = -1',
      ],
      nodes: ['h = MatMul(x, w)', ...nodes],
    }),
    producerName: 'pytorch',
  });
  expect(issues.filter(({ code }) => code === 'graph/lost-casts')).toHaveLength(count);
});
