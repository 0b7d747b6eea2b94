/** Sums, means and extremes over axes, and what follows from them. */

import {
  int,
  type LayerDefinition,
  type LayerLowering,
  type ParameterDefinition,
  type Tensor,
} from '../layerDefinition.ts';
import { anything, axisAt, flag, integer, listOf, number } from './parameters.ts';

const axes = anything('dim', 'Axis or axes; all where it is left out.', { default: null });
const kept = flag('keepdim', false, 'Whether they stay with size 1.');
const x = 'float32[8, 128, 768]';

/** The axes named by `dim`, all where none is, or `undefined` after an issue. */
function axesOf(call: LayerLowering, name = 'dim'): readonly number[] | undefined {
  const rank = call.inputs[0]?.shape?.length;
  const given = call.value(name);
  if (rank === undefined) return undefined;
  if (given === null) return Array.from({ length: rank }, (_, axis) => axis);
  const found = listOf(given).map((axis) => (typeof axis === 'number' ? axisAt(axis, rank) : undefined));
  const known = found.filter((axis) => axis !== undefined);
  if (known.length === found.length) return known;
  return call.problem(
    'spec/argument',
    `the input has ${rank} axes, so \`${name}\` is from ${-rank} to ${rank - 1}`,
    name,
  );
}

const reduce = (call: LayerLowering, operator: string, input: Tensor | undefined): Tensor | undefined => {
  const found = axesOf(call);
  return (
    found &&
    call.emit(operator, [input, call.integersConstant(found)], {
      keepdims: int(call.boolean('keepdim') ? 1 : 0),
    })
  );
};

interface Reduction {
  readonly name: string;
  readonly operator: string;
  readonly documentation: string;
  readonly dim?: ParameterDefinition;
}

const reductions: readonly Reduction[] = [
  { name: 'mean', operator: 'ReduceMean', documentation: 'Mean over axes.' },
  { name: 'sum', operator: 'ReduceSum', documentation: 'Sum over axes.' },
  { name: 'amax', operator: 'ReduceMax', documentation: 'Maximum over axes.' },
  { name: 'amin', operator: 'ReduceMin', documentation: 'Minimum over axes.' },
  {
    name: 'logsumexp',
    operator: 'ReduceLogSumExp',
    documentation: 'Logarithm of the sum of exponentials over axes.',
    dim: anything('dim', 'Axis or axes.'),
  },
];

const plain = reductions.map(
  ({ name, operator, documentation, dim }): LayerDefinition => ({
    name,
    kind: 'function',
    documentation,
    source: `torch.${name}.html`,
    inputs: { names: ['input'], least: 1 },
    parameters: [dim ?? axes, kept],
    example: { inputs: { x }, call: `${name}(dim=1)` },
    lower: (call) => reduce(call, operator, call.inputs[0]),
  }),
);

/** Mean of squares less the square of the mean, by a pass for the mean and one for the deviations. */
const spread = (name: 'var' | 'std'): LayerDefinition => ({
  name,
  kind: 'function',
  documentation: name === 'var' ? 'Variance over axes.' : 'Standard deviation over axes.',
  source: `torch.${name}.html`,
  inputs: { names: ['input'], least: 1 },
  parameters: [axes, integer('correction', 'Does not change the cost.', { default: 1 }), kept],
  example: { inputs: { x }, call: `${name}(dim=-1)` },
  lower: (call) => {
    const found = axesOf(call);
    if (found === undefined) return undefined;
    const mean = call.emit('ReduceMean', [call.inputs[0], call.integersConstant(found)], {
      keepdims: int(1),
    });
    const deviation = call.emit('Sub', [call.inputs[0], mean]);
    const variance = reduce(call, 'ReduceMean', call.emit('Mul', [deviation, deviation]));
    return variance === undefined || name === 'var' ? variance : call.emit('Sqrt', [variance]);
  },
});

const norm: LayerDefinition = {
  name: 'norm',
  kind: 'function',
  documentation: 'Norm over axes.',
  source: 'torch.norm.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [
    anything('p', "1, 2, or 'fro' for the root of the sum of squares.", { default: 'fro' }),
    axes,
    kept,
  ],
  example: { inputs: { x }, call: 'norm(dim=-1)' },
  lower: (call) => {
    const p = call.value('p');
    if (p === 1) return reduce(call, 'ReduceL1', call.inputs[0]);
    if (p === 2 || p === 'fro') return reduce(call, 'ReduceL2', call.inputs[0]);
    return call.problem('spec/argument', "`p` is 1, 2 or 'fro'", 'p');
  },
};

const normalize: LayerDefinition = {
  name: 'normalize',
  kind: 'function',
  documentation: 'Divides by the norm along an axis.',
  source: 'torch.nn.functional.normalize.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [
    number('p', '1 or 2.', { default: 2 }),
    integer('dim', 'The axis.', { default: 1 }),
    number('eps', 'Least norm divided by.', { default: 1e-12 }),
  ],
  example: { inputs: { x }, call: 'normalize(dim=-1)' },
  lower: (call) => {
    const [axis] = axesOf(call) ?? [];
    const p = call.number('p');
    if (p !== 1 && p !== 2) return call.problem('spec/argument', `\`p\` is 1 or 2, not ${p}`, 'p');
    if (axis === undefined) return undefined;
    return call.emit('LpNormalization', [call.inputs[0]], { axis: int(axis), p: int(p) });
  },
};

const cumulative: LayerDefinition = {
  name: 'cumsum',
  kind: 'function',
  documentation: 'Running sum along an axis.',
  source: 'torch.cumsum.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [integer('dim', 'The axis.')],
  example: { inputs: { x }, call: 'cumsum(dim=1)' },
  lower: (call) => {
    const [axis] = axesOf(call) ?? [];
    return axis === undefined
      ? undefined
      : call.emit('CumSum', [call.inputs[0], call.scalarConstant(axis, 'int64')]);
  },
};

const position = (name: 'argmax' | 'argmin'): LayerDefinition => ({
  name,
  kind: 'function',
  documentation: `Index of the ${name === 'argmax' ? 'largest' : 'smallest'} element along an axis.`,
  source: `torch.${name}.html`,
  inputs: { names: ['input'], least: 1 },
  parameters: [
    integer('dim', 'The axis; all elements as one where it is left out.', { default: null }),
    kept,
  ],
  example: { inputs: { x }, call: `${name}(dim=-1)` },
  lower: (call) => {
    const all = call.value('dim') === null;
    const [axis] = all ? [0] : (axesOf(call) ?? []);
    if (axis === undefined) return undefined;
    const [input] = call.inputs;
    const searched = all ? call.emit('Reshape', [input, call.integersConstant([-1])]) : input;
    return call.emit(name === 'argmax' ? 'ArgMax' : 'ArgMin', [searched], {
      axis: int(axis),
      keepdims: int(call.boolean('keepdim') ? 1 : 0),
    });
  },
});

const topK: LayerDefinition = {
  name: 'topk',
  kind: 'function',
  documentation: 'The k largest elements along an axis, and their indices.',
  source: 'torch.topk.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [
    integer('k', 'How many.', { least: 1 }),
    integer('dim', 'The axis; the last where it is left out.', { default: null }),
    flag('largest', true, 'False gives the smallest.'),
    flag('sorted', true, 'Does not change the cost.'),
  ],
  outputs: ['values', 'indices'],
  example: { inputs: { x }, call: 'topk(5)' },
  lower: (call) => {
    const [input] = call.inputs;
    const rank = input?.shape?.length;
    if (rank === undefined) return undefined;
    const axis = axisAt(call.optionalInteger('dim') ?? -1, rank);
    if (axis === undefined) return call.problem('spec/argument', `the input has ${rank} axes`, 'dim');
    const size = input?.shape?.[axis];
    const k = call.integer('k');
    if (typeof size === 'number' && k > size) {
      return call.problem('shape/mismatch', `\`k\` is ${k}, but the axis has ${size} elements`, 'k');
    }
    return call.emitMany('TopK', [input, call.integersConstant([k])], 2, {
      axis: int(axis),
      largest: int(call.boolean('largest') ? 1 : 0),
    });
  },
};

const similarityExample = { a: 'float32[256, 128]', b: 'float32[256, 128]' };

const cosineSimilarity = (name: string): LayerDefinition => ({
  name,
  kind: name === 'CosineSimilarity' ? 'module' : 'function',
  documentation: 'Cosine of the angle between two tensors along an axis.',
  source: name === 'CosineSimilarity' ? `torch.nn.${name}.html` : `torch.nn.functional.${name}.html`,
  inputs: { names: ['x1', 'x2'], least: 2 },
  parameters: [
    integer('dim', 'The axis.', { default: 1 }),
    number('eps', 'Least product of norms divided by.', { default: 1e-8 }),
  ],
  example: {
    inputs: similarityExample,
    call: name === 'CosineSimilarity' ? `${name}() from a, b` : `${name}(a, b)`,
  },
  lower: (call) => {
    const found = axesOf(call);
    return found && cosine(call, call.inputs[0], call.inputs[1], found);
  },
});

/** x₁·x₂ / (|x₁|·|x₂|) over axes. */
export function cosine(
  call: LayerLowering,
  left: Tensor | undefined,
  right: Tensor | undefined,
  over: readonly number[],
): Tensor {
  const along = call.integersConstant(over);
  const total = (operator: string, input: Tensor | undefined) =>
    call.emit(operator, [input, along], { keepdims: int(0) });
  const product = total('ReduceSum', call.emit('Mul', [left, right]));
  return call.emit('Div', [product, call.emit('Mul', [total('ReduceL2', left), total('ReduceL2', right)])]);
}

const pairwiseDistance: LayerDefinition = {
  name: 'PairwiseDistance',
  kind: 'module',
  documentation: 'Norm of the difference of two tensors along the last axis.',
  source: 'torch.nn.PairwiseDistance.html',
  inputs: { names: ['x1', 'x2'], least: 2 },
  parameters: [
    number('p', 'The norm: 1 or 2.', { default: 2 }),
    number('eps', 'Added to the difference.', { default: 1e-6 }),
    kept,
  ],
  example: { inputs: similarityExample, call: 'PairwiseDistance() from a, b' },
  lower: (call) => distance(call, call.inputs[0], call.inputs[1], call.boolean('keepdim')),
};

/** |x₁ − x₂| over the last axis, by the norm argument `p` says. */
export function distance(
  call: LayerLowering,
  left: Tensor | undefined,
  right: Tensor | undefined,
  keep: boolean,
): Tensor | undefined {
  const p = call.number('p');
  if (p !== 1 && p !== 2) return call.problem('spec/argument', `\`p\` is 1 or 2, not ${p}`, 'p');
  const difference = call.emit('Sub', [left, right]);
  return call.emit(p === 1 ? 'ReduceL1' : 'ReduceL2', [difference, call.integersConstant([-1])], {
    keepdims: int(keep ? 1 : 0),
  });
}

export const reductionLayers: readonly LayerDefinition[] = [
  ...plain,
  spread('var'),
  spread('std'),
  norm,
  normalize,
  cumulative,
  position('argmax'),
  position('argmin'),
  topK,
  cosineSimilarity('CosineSimilarity'),
  cosineSimilarity('cosine_similarity'),
  pairwiseDistance,
];
