/** Calls that a program makes twice and a default export has once: how often each product runs, by what is recorded of users. */

import { expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import type { OnnxModel } from '../../server/src/formats/onnx/syntax.ts';
import { onnxModel, onnxNode } from '../support/onnxModel.ts';

/** An operator, and its call: `relu/2 %linear` is `%relu`, which two calls read, and which reads `%linear`. */
type Row = readonly [operator: string, call: string];

const weights = ['body.weight', 'head.weight', 'student.fc.weight', 'teacher.fc.weight', 'text.table.weight'];
const placeholderOf = (name: string): string => `p_${name.replaceAll('.', '_')}`;

function fileOf(rows: readonly Row[]): OnnxModel {
  const nodes = rows.map(([operator, call]) => {
    const [, name = '', users = '', read = ''] = /^(\w+)\/(\d+) (.*)$/.exec(call) ?? [];
    const called = `torch.ops.aten.${name.replace(/_\d+$/, '')}.default`;
    const text = `%${name} : [num_users=${users}] = call_function[target=${called}](args = (${read}), kwargs = {})`;
    const scopes = `['', '${name}']`;
    return onnxNode(operator, {}, { 'pkg.torch.onnx.fx_node': text, 'pkg.torch.onnx.name_scopes': scopes });
  });
  const used = weights.filter((name) => rows.some(([operator]) => operator.includes(name)));
  const { graph, ...model } = onnxModel({
    inputs: ['x: float32[4, 8]'],
    outputs: [/^\w+/.exec(rows.at(-1)?.[0] ?? '')?.[0] ?? ''],
    initializers: used.map((name) => `${name}: float32[8, 8]`),
    nodes,
  });
  const signature = weights.map((name) => `${placeholderOf(name)}: PARAMETER target="${name}"`).join('\n');
  const metadata = new Map([['pkg.torch.export.ExportedProgram.graph_signature', signature]]);
  return { ...model, graph: { ...graph, metadata } };
}

const linear = (output: string, read: string, weight: string, users = 1): Row => [
  `${output} = MatMul(${read}, ${weight})`,
  `${output}/${users} %${read}, %${placeholderOf(weight)}`,
];
const body = linear('linear', 'x', 'body.weight');
const relu = (users: number): Row => ['relu = Relu(linear)', `relu/${users} %linear`];
const head = linear('linear_1', 'relu', 'head.weight');
const pair = (second: string): Row => ['mul = Mul(linear_1, linear_1)', `mul/1 %linear_1, ${second}`];

const split: Row = ['getitem, getitem_1 = Split(linear)', 'split/2 %linear'];
/** The product of two calls of a function, of which the file has one. */
const twiceOf = (value: string): readonly Row[] => [
  [`tanh = Tanh(${value})`, `tanh/1 %${value}`],
  ['mul = Mul(tanh, tanh)', 'mul/1 %tanh, %tanh_1'],
];
const sum = (value: string): Row => [`y = Add(${value}, getitem_1)`, `y/1 %${value}, %getitem_1`];

const cases: readonly (readonly [string, readonly Row[], Readonly<Record<string, number>>])[] = [
  [
    'a head that is called twice on one value',
    [body, relu(2), head, pair('%linear_2')],
    { MatMul: 3, Relu: 1 },
  ],
  ['a network that is called twice', [body, relu(1), head, pair('%linear_3')], { MatMul: 4, Relu: 2 }],
  ['a square', [body, relu(1), head, pair('%linear_1')], { MatMul: 2, Relu: 1 }],
  [
    'both results of a network that is called twice',
    [
      body,
      relu(2),
      head,
      linear('linear_2', 'relu', 'body.weight'),
      ['mul = Mul(linear_1, linear_1)', 'mul/1 %linear_1, %linear_4'],
      ['add = Add(linear_2, linear_2)', 'add/1 %linear_2, %linear_5'],
      ['y = Add(mul, add)', 'y/1 %mul, %add'],
    ],
    { MatMul: 6, Relu: 2 },
  ],
  [
    'three calls',
    [body, relu(3), head, ['y = Sum(linear_1, linear_1, linear_1)', 'y/1 %linear_1, %linear_2, %linear_3']],
    { MatMul: 4, Relu: 1 },
  ],
  [
    'a second call that another second call reads',
    [
      linear('linear', 'x', 'body.weight', 2),
      relu(1),
      ['tanh = Tanh(relu)', 'tanh/1 %relu'],
      ['mul = Mul(tanh, tanh)', 'mul/1 %tanh, %tanh_1'],
      ['y = Add(mul, relu)', 'y/1 %mul, %relu_1'],
    ],
    { MatMul: 1, Relu: 2, Tanh: 2 },
  ],
  [
    'a function of one part of a split, where no name of the product before the split is missing',
    [body, split, ...twiceOf('getitem'), linear('linear_1', 'mul', 'head.weight'), sum('linear_1')],
    { MatMul: 2, Split: 1, Tanh: 2 },
  ],
  [
    'the same where one is missing',
    [body, split, ...twiceOf('getitem'), linear('linear_2', 'mul', 'head.weight'), sum('linear_2')],
    { MatMul: 3, Split: 2, Tanh: 2 },
  ],
  [
    'a product with one that the exporter took out',
    [body, ['mul = Mul(linear, x)', 'mul/1 %linear, %x'], ['y = Tanh(mul)', 'y/1 %mul_1']],
    { MatMul: 1, Mul: 1 },
  ],
  [
    'a call of another function that the exporter took out',
    [body, relu(1), ['y = Tanh(relu)', 'y/1 %clone']],
    { MatMul: 1, Relu: 1 },
  ],
];

test.each(cases)('%s', (_, rows, expected) => {
  const { graph, issues } = analyzeOnnx(fileOf(rows));
  const counts = Object.keys(expected).map(
    (type) => [type, graph.operators.filter((operator) => operator.type === type).length] as const,
  );
  expect(Object.fromEntries(counts)).toEqual(expected);
  expect(issues.filter(({ severity }) => severity === 'error')).toEqual([]);
});

const trained = (rows: readonly Row[]): readonly string[] =>
  analyzeOnnx(fileOf(rows))
    .parameters.map(({ name }) => name)
    .sort();

test('a discriminator that reads samples with and without their gradient trains the generator', () => {
  const rows = (second: string): readonly Row[] => [
    linear('linear', 'x', 'body.weight', 2),
    ['linear_1 = MatMul(linear, head.weight)', `linear_1/1 %detach, %${placeholderOf('head.weight')}`],
    pair(second),
  ];
  expect(trained(rows('%linear_2'))).toEqual(['body.weight', 'head.weight']);
  expect(trained(rows('%linear_1'))).toEqual(['head.weight']);
});

test('a copy of a network that was equal when it was exported has its own weights', () => {
  const rows: readonly Row[] = [
    linear('linear', 'x', 'student.fc.weight'),
    ['y = Mul(linear, linear)', 'y/1 %linear, %linear_1'],
  ];
  expect(trained(rows)).toEqual(['student.fc.weight', 'teacher.fc.weight']);
});

test('a second call is none of a module that the file has nothing of, where no name agrees', () => {
  const rows: readonly Row[] = [
    linear('linear', 'x', 'text.table.weight'),
    ['y = Mul(linear, linear)', 'y/1 %linear, %linear_1'],
  ];
  expect(trained(rows)).toEqual(['text.table.weight']);
});
