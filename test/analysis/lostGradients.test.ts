/** Where no gradient passes, as far as an ONNX file shows it: recorded calls of `detach`, straight-through sums, weights read uncalled. */

import { expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { assumedGradients } from '../../server/src/analysis/restoration/assumedGradients.ts';
import type { OnnxModel } from '../../server/src/formats/onnx/syntax.ts';
import { onnxModel } from '../support/onnxModel.ts';

interface Call {
  readonly operator: string;
  /** Names of the module path and of the call, as the exporter records them. */
  readonly scopes?: readonly string[];
  readonly called?: string;
  readonly reads?: readonly string[];
}

const signature = 'pkg.torch.export.ExportedProgram.graph_signature';

function fileOf(weights: readonly string[], calls: readonly Call[]): OnnxModel {
  const model = onnxModel({
    inputs: ['x: float32[2, 4]'],
    outputs: ['y'],
    initializers: weights.map((name) => `${name}: float32[4, 4]`),
    nodes: calls.map(({ operator }) => operator),
  });
  const nodes = model.graph.nodes.map((node, index) => {
    const { scopes = [], called = '', reads = [] } = calls[index] ?? { operator: '' };
    if (scopes.length === 0) return node;
    const names = scopes.map((name) => `'${name}'`).join(', ');
    const classes = scopes.map((_, at) => `'${at === scopes.length - 1 ? called : 'Net'}'`).join(', ');
    const list = reads.map((name) => `%${name}`).join(', ');
    return {
      ...node,
      metadata: new Map([
        ['pkg.torch.onnx.name_scopes', `[${names}]`],
        ['pkg.torch.onnx.class_hierarchy', `[${classes}]`],
        [
          'pkg.torch.onnx.fx_node',
          `%a : [num_users=1] = call_function[target=torch.ops.${called}](args = (${list}), kwargs = {})`,
        ],
      ]),
    };
  });
  const recorded = weights
    .map((name) => `p_${name.replaceAll('.', '_')}: PARAMETER target='${name}'`)
    .join('\n');
  return {
    ...model,
    producerName: 'pytorch',
    graph: { ...model.graph, nodes, metadata: new Map([[signature, recorded]]) },
  };
}

const product = (output: string, input: string, weight: string): Call => ({
  operator: `${output} = MatMul(${input}, ${weight})`,
  scopes: ['', weight.split('.')[0] ?? '', output],
  called: 'aten.linear.default',
  reads: [input, `p_${weight.replaceAll('.', '_')}`],
});

/** What is trained of `a.weight`, which makes h, and `b.weight`, which makes g. */
const trained: readonly (readonly [string, Call, readonly string[]])[] = [
  ['a call reads both', call('y = Mul(h, g)', ['h', 'g']), ['a.weight', 'b.weight']],
  ['the second is detached, as the call says', call('y = Mul(h, g)', ['h', 'detach']), ['a.weight']],
  ['the first is', call('y = Mul(h, g)', ['detach_1', 'g']), ['b.weight']],
  ['one of two readings of h is', call('y = Mul(h, h)', ['h', 'detach']), ['a.weight']],
  ['both are', call('y = Mul(h, g)', ['detach', 'detach_1']), []],
  [
    'which of them the call reads stays open',
    call('y = Sum(h, g, x)', ['detach', 'h']),
    ['a.weight', 'b.weight'],
  ],
];

function call(operator: string, reads: readonly string[]): Call {
  return { operator, scopes: ['', 'mul'], called: 'aten.mul.Tensor', reads };
}

const parametersWithGradient = (model: OnnxModel): readonly string[] => {
  const { parameters, costing } = analyzeOnnx(model);
  return parameters.filter(({ name }) => costing.gradients.requires.has(name)).map(({ name }) => name);
};

test.each(trained)('%s', (_, reader, expected) => {
  const model = fileOf(
    ['a.weight', 'b.weight'],
    [product('h', 'x', 'a.weight'), product('g', 'x', 'b.weight'), reader],
  );
  expect(parametersWithGradient(model)).toEqual(expected);
});

test.each([
  [
    'unoptimized',
    [call('d = Identity(g)', ['g']), call('y = Mul(h, d)', ['h', 'detach'])],
    'aten.detach.default',
  ],
] as const)('an Identity of the call `detach` stops gradients in %s files', (_, [copy, reader], called) => {
  const calls = [product('h', 'x', 'a.weight'), product('g', 'x', 'b.weight'), { ...copy, called }, reader];
  expect(parametersWithGradient(fileOf(['a.weight', 'b.weight'], calls))).toEqual(['a.weight']);
});

/** `q` is made by `b.weight`; z + (q - z).detach() has the gradient of z. */
test.each([
  ['z first', 'y = Add(h, d)', 'd = Sub(g, h)', ['a.weight']],
  ['z last', 'y = Add(d, h)', 'd = Sub(g, h)', ['a.weight']],
  ['another tensor is taken away', 'y = Add(h, d)', 'd = Sub(h, g)', ['a.weight', 'b.weight']],
])('a straight-through sum, %s', (_, sum, difference, expected) => {
  const calls = [product('h', 'x', 'a.weight'), product('g', 'x', 'b.weight')];
  const model = fileOf(['a.weight', 'b.weight'], [...calls, { operator: difference }, { operator: sum }]);
  expect(parametersWithGradient(model)).toEqual(expected);
});

const uncalled = (weight: string): Call => ({ ...product('g', 'x', weight), scopes: ['', 'linear_1'] });

/** The module that a finding names first. */
const named: readonly (readonly [string, readonly string[], readonly Call[], string | undefined])[] = [
  ['every weight is read in its module', ['a.weight'], [product('y', 'x', 'a.weight')], undefined],
  [
    'a network is run under no_grad',
    ['a.weight', 't.0.weight'],
    [product('h', 'x', 'a.weight'), uncalled('t.0.weight'), { operator: 'y = Add(h, g)' }],
    't',
  ],
  [
    'scales stand in a list of parameters',
    ['a.weight', 'scales.0'],
    [product('h', 'x', 'a.weight'), uncalled('scales.0'), { operator: 'y = Add(h, g)' }],
    undefined,
  ],
  [
    'the root is attention',
    ['out_proj.weight'],
    [{ ...product('y', 'x', 'out_proj.weight'), scopes: ['', 'linear'] }],
    undefined,
  ],
  [
    'a copy that follows',
    ['student.0.weight', 'teacher.0.weight'],
    [
      product('h', 'x', 'student.0.weight'),
      product('g', 'x', 'teacher.0.weight'),
      { operator: 'y = Add(h, g)' },
    ],
    'teacher',
  ],
  [
    'a teacher of another shape',
    ['student.0.weight', 'teacher.fc.1.weight', 'teacher.fc.2.weight', 'student.fc.1.weight'],
    [
      product('h', 'x', 'student.fc.1.weight'),
      product('g', 'x', 'teacher.fc.1.weight'),
      { operator: 'y = Add(h, g)' },
    ],
    'teacher',
  ],
  [
    'features of a loss that nothing stands beside',
    ['vgg.fc.1.weight'],
    [product('y', 'x', 'vgg.fc.1.weight')],
    undefined,
  ],
  [
    'projections of attention',
    ['query.weight', 'key.weight'],
    [product('h', 'x', 'query.weight'), product('g', 'x', 'key.weight'), { operator: 'y = Add(h, g)' }],
    undefined,
  ],
];

test.each(named)('%s', (_, weights, calls, expected) => {
  const message = assumedGradients(fileOf(weights, calls))?.message;
  expect(message?.match(/`(\w+)`/)?.[1]).toBe(expected);
});

/** Of `x · a.weight` in a region, then `· b.weight` outside of it: the trace of the first, and what is trained. */
const regions: readonly (readonly [string, string, readonly string[]])[] = [
  [
    'a region of no_grad',
    'File "<eval_with_key>.7", line 5, in forward\n    linear = torch.ops.aten.linear.default(x, p_a_weight);  x = p_a_weight = None',
    ['b.weight'],
  ],
  [
    'a region of autocast',
    'File "<eval_with_key>.7", line 5, in forward\n    linear = torch.ops.aten.linear.default(arg0_1, arg1_1);  arg0_1 = arg1_1 = None',
    ['a.weight', 'b.weight'],
  ],
  [
    'a region of no_grad that writes to what another region gave',
    'File "<eval_with_key>.7", line 9, in forward\n    div = torch.ops.aten.div.out(linear, expand_as, out = div_1);  linear = expand_as = div_1 = None',
    ['b.weight'],
  ],
  [
    'a line of a person',
    'File "model.py", line 5, in forward\n    h = F.linear(x, p_a_weight)',
    ['a.weight', 'b.weight'],
  ],
];

test.each(regions)('%s', (_, trace, expected) => {
  const { graph, ...model } = fileOf(
    ['a.weight', 'b.weight'],
    [{ ...product('h', 'x', 'a.weight'), scopes: ['', 'h'] }, product('y', 'h', 'b.weight')],
  );
  const [first, ...others] = graph.nodes;
  if (first === undefined) throw new Error('the file has no operator');
  const metadata = new Map([...first.metadata, ['pkg.torch.onnx.stack_trace', trace]]);
  const file = { ...model, graph: { ...graph, nodes: [{ ...first, metadata }, ...others] } };
  expect(parametersWithGradient(file)).toEqual(expected);
  expect(assumedGradients(file) === undefined).toBe(expected.length === 1);
});
