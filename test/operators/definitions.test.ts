/** What definitions state besides their rules, against ONNX, PyTorch and the Python runner. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { factCells } from '../../scripts/operatorsPage.ts';
import { ownCalls } from '../../server/src/benchmark/composedCalls.ts';
import type { Autocast, OperatorFacts, OperatorInput } from '../../server/src/operators/definition.ts';
import { definitionOf, knownOperators } from '../../server/src/operators/registry.ts';
import onnxInputs from './onnxInputs.json' with { type: 'json' };

/** Inputs whose gradient PyTorch computes and ONNX does not, or the other way round (`tools/autograd/derivatives.yaml`). */
const otherwiseInPyTorch = new Set([
  'AffineGrid theta', // affine_grid_generator: theta
  'BatchNormalization input_mean', // native_batch_norm: running_mean and running_var have no formula
  'BatchNormalization input_var',
  'BitCast input', // view_as_complex and view_as_real
  'CausalConvWithState past_state',
  'Ceil X', // ceil: zeros_like(grad), which is sent and updated by as any other
  'DFT input', // _fft_c2c, _fft_r2c: self
  'Floor X',
  'GRU initial_h', // _thnn_fused_gru_cell: hx
  'GridSample grid', // grid_sampler_2d: grid
  'Hardmax input', // argmax: output_differentiability: [False]
  'LSTM initial_c', // _thnn_fused_lstm_cell: cx
  'LSTM initial_h',
  'LinearAttention past_state',
  'Mod B', // remainder.Tensor: other
  'RNN initial_h',
  'Round X',
  'STFT signal',
  'Sign input',
  'STFT window',
]);

describe.each(Object.entries(onnxInputs.inputs))('inputs of `%s` as ONNX has them', (domain, operators) => {
  test.each(Object.entries(operators))('%s', (type, text) => {
    const inputs = definitionOf({ domain, type })?.inputs ?? [];
    const written = text === '' ? [] : text.split(' ');
    expect(inputs.map(({ name, variadic }) => (variadic ? `${name}...` : name))).toEqual(
      written.map((word) => word.replace(/^[+~]/, '')),
    );
    for (const [index, word] of written.entries()) {
      const input = inputs[index];
      const isAsOnnxSays = !otherwiseInPyTorch.has(`${type} ${input?.name}`);
      if (/^[+~]/.test(word) && isAsOnnxSays)
        expect(input?.gradient, `a gradient through ${word}`).toBe(word.startsWith('+'));
    }
  });
});

test.each([
  // PyTorch 2.x tools/autograd/derivatives.yaml: which inputs have a formula; running statistics are not_differentiable.
  ['Add', 'A B'],
  ['AveragePool', 'X'],
  ['BatchNormalization', 'X scale B'],
  ['Clip', 'input'],
  ['Conv', 'X W B'],
  ['Dropout', 'data'],
  ['Equal', ''],
  ['Expand', 'input'],
  ['Floor', 'X'],
  ['GRU', 'X W R B initial_h'],
  ['Gather', 'data'],
  ['Gemm', 'A B C'],
  ['LSTM', 'X W R B initial_h initial_c P'],
  ['LayerNormalization', 'X Scale B'],
  ['MatMul', 'A B'],
  ['Pow', 'X Y'],
  ['QuantizeLinear', ''],
  ['Reshape', 'data'],
  ['ScatterElements', 'data updates'],
  ['Shape', ''],
  ['Softmax', 'input'],
  ['SoftmaxCrossEntropyLoss', 'scores'],
  ['TopK', 'X'],
  ['Where', 'X Y'],
])('a gradient of %s flows through %s', (type, names) => {
  const inputs = definitionOf({ domain: '', type })?.inputs ?? [];
  expect(
    inputs
      .filter(({ gradient }) => gradient)
      .map(({ name }) => name)
      .join(' '),
  ).toBe(names);
});

test.each([
  // torch.nn.Module: its parameters; `F.linear` and `torch.matmul` are one operator in ONNX, as are lookups and embeddings.
  ['weight', 'BatchNormalization', 'scale B'],
  ['weight', 'Conv', 'W B'],
  ['weight', 'LSTM', 'W R B P'],
  ['weight', 'LayerNormalization', 'Scale B'],
  ['weight', 'PRelu', 'slope'],
  ['weight', 'Attention', ''],
  ['operand', 'Gather', 'data'],
  ['operand', 'Gemm', 'A B C'],
  ['operand', 'MatMul', 'A B'],
  ['statistic', 'BatchNormalization', 'input_mean input_var'],
  ['host', 'Pad', 'pads axes'],
  ['host', 'ReduceSum', 'axes'],
  ['host', 'Reshape', 'shape'],
  ['host', 'Resize', 'roi scales sizes'],
  ['host', 'Slice', 'starts ends axes steps'],
  ['shape', 'Shape', 'data'],
])('as %s, %s takes %s', (role, type, names) => {
  const inputs = definitionOf({ domain: '', type })?.inputs ?? [];
  expect(
    inputs
      .filter((input) => input.role === role)
      .map(({ name }) => name)
      .join(' '),
  ).toBe(names);
});

test.each([
  // PyTorch documentation, "Automatic Mixed Precision", "CUDA Op-Specific Behavior".
  ['half', 'Attention Conv ConvTranspose Einsum GRU Gemm LSTM MatMul RNN'],
  ['fp32', 'Acos Asin Cosh Exp GroupNormalization LayerNormalization Log NegativeLogLikelihoodLoss Pow'],
  ['fp32', 'Reciprocal Sinh SoftmaxCrossEntropyLoss Softplus Tan'],
  ['fp32-result', 'CumSum ReduceL1 ReduceL2 ReduceProd ReduceSum'],
  ['fp32-softmax', 'LogSoftmax Softmax'],
  ['promote', 'Add Div Max Mean Min Mul Sub Sum Where'],
  ['widest', 'AveragePool BatchNormalization Gelu Relu Sigmoid Tanh'],
])('autocast runs in %s: %s', (autocast, types) => {
  for (const type of types.split(' ')) {
    expect(definitionOf({ domain: '', type })?.pytorch.autocast, type).toBe(autocast);
  }
});

/** What autocast makes of arguments in bf16 and of such in fp32, by class. */
const resultOf: Readonly<Record<Autocast, string>> = {
  half: 'bfloat16 of bfloat16 and bfloat16 of float32',
  fp32: 'float32 of bfloat16 and float32 of float32',
  'fp32-result': 'float32 of bfloat16 and float32 of float32',
  'fp32-softmax': 'float32 of bfloat16 and float32 of float32',
  promote: 'bfloat16 of bfloat16 and float32 of float32',
  widest: 'bfloat16 of bfloat16 and float32 of float32',
  first: 'bfloat16 of bfloat16 and float32 of float32',
  subgraph: 'that of its body',
};

const [, ...recorded] = readFileSync(join(import.meta.dirname, 'autocast.csv'), 'utf8')
  .trim()
  .split('\n');

test.each(
  recorded.map((line) => {
    const [type = '', half = '', full = '', mixed = ''] = line.split(',');
    return { type, half, full, mixed };
  }),
)('autocast gives $type as PyTorch 2.13 does', ({ type, half, full, mixed }) => {
  const autocast = definitionOf({ domain: '', type })?.pytorch.autocast;
  expect(autocast && resultOf[autocast]).toBe(`${half} of bfloat16 and ${full} of float32`);
  if (mixed !== '' && half !== full) expect(autocast === 'first' ? 'bfloat16' : 'float32').toBe(mixed);
});

/** The facts with one of them taken away, or in its other value, for each that may be absent. */
function lessOne(facts: OperatorFacts): readonly OperatorFacts[] {
  const { inputs, traits = [], pytorch } = facts;
  const changed = (index: number, change: Partial<OperatorInput>): OperatorFacts => ({
    ...facts,
    inputs: inputs.map((input, at) => (at === index ? { ...input, ...change } : input)),
  });
  return [
    ...traits.map((trait) => ({ ...facts, traits: traits.filter((each) => each !== trait) })),
    ...inputs.map((_, index) => ({ ...facts, inputs: inputs.filter((__, at) => at !== index) })),
    ...inputs.map(({ gradient }, index) => changed(index, { gradient: !gradient })),
    ...inputs.map(({ role }, index) => changed(index, { role: role === 'data' ? 'weight' : 'data' })),
    ...inputs.flatMap(({ variadic, ...input }, index) =>
      variadic === undefined ? [] : { ...facts, inputs: inputs.with(index, input) },
    ),
    ...(['weightedLayer', 'view', 'operands', 'backwardKernels', 'columnsPerBlock', 'channelReads'] as const)
      .filter((fact) => pytorch[fact] !== undefined)
      .map((fact) => {
        const { [fact]: _, ...others } = pytorch;
        return { ...facts, pytorch: others };
      }),
    ...(pytorch.backwardKernels ?? []).map((_, at, all) => ({
      ...facts,
      pytorch: { ...pytorch, backwardKernels: all.filter((__, index) => index !== at) },
    })),
  ];
}

test('docs/operators.md has every fact of every definition, so that none goes unnoticed', () => {
  for (const definition of knownOperators()) {
    const written = factCells(definition).join('|');
    for (const less of lessOne(definition))
      expect(factCells(less).join('|'), definition.type).not.toBe(written);
  }
});

test('rules of the Python runner are those that definitions name', () => {
  const named = knownOperators().flatMap(({ domain, type, runner }) =>
    'rule' in runner ? [`${domain}:${type} ${runner.rule}`] : [],
  );
  const calls = ownCalls.map((type) => `layercost:${type} ${type}`);
  const rules = runnerRules().map(([domain, type]) => `${domain}:${type} ${type}`);
  expect([...named, ...calls].sort()).toEqual(rules.sort());
});

test('what is not run says why', () => {
  for (const { type, runner } of knownOperators()) {
    if ('reason' in runner) expect(runner.reason, type).toMatch(/\w+ \w+/);
  }
});

/** Domain and type of what the Python files register: by `@operator(…)`, or as keys of a table of functions. */
function runnerRules(): readonly (readonly [domain: string, type: string])[] {
  const folder = join(import.meta.dirname, '../../server/src/benchmark/runner/layercost_runner/operators');
  return readdirSync(folder)
    .filter((file) => file.endsWith('.py'))
    .flatMap((file) => {
      const text = readFileSync(join(folder, file), 'utf8');
      const decorated = [...text.matchAll(/^@operator\((.*)\)$/gm)].flatMap(([, given = '']) => {
        const domain = /domain="(.*)"/.exec(given)?.[1] ?? '';
        return [...given.matchAll(/(?<!=)"(\w+)"/g)].map(([, type = '']) => [domain, type] as const);
      });
      const tables = [
        ...text.matchAll(/^_\w+: dict\[str, (?:tuple\[)?Callable.*= \{$([\s\S]*?)^\}/gm),
      ].flatMap(([, rows = '']) =>
        [...rows.matchAll(/^ {4}"(\w+)":/gm)].map(([, type = '']) => ['', type] as const),
      );
      return [...decorated, ...tables];
    });
}
