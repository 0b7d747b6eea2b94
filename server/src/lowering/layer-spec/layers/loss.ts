/** Losses: from scores and targets to one number, or one per element or sample. */

import {
  int,
  type LayerDefinition,
  type LayerLowering,
  type ParameterDefinition,
  type Tensor,
  text,
} from '../layerDefinition.ts';
import { printShape } from '../printShape.ts';
import { choice, flag, integer, number } from './parameters.ts';
import { cosine, distance } from './reduction.ts';

const reduction = choice('reduction', ['none', 'mean', 'sum'], 'mean', 'Of the losses of all elements.');
const classWeights = (name: string, documentation: string): ParameterDefinition => ({
  name,
  type: 'layer',
  default: null,
  documentation,
});
const weight = classWeights('weight', 'Layer that holds a weight per class, such as a Buffer.');

const scalar = (call: LayerLowering, value: number): Tensor =>
  call.scalarConstant(value, call.inputs[0]?.elementType ?? 'float32');

/** The mean or sum of losses, or the losses themselves. */
function reduced(call: LayerLowering, losses: Tensor): Tensor {
  const kind = call.string('reduction');
  if (kind === 'none') return losses;
  return call.emit(kind === 'sum' ? 'ReduceSum' : 'ReduceMean', [losses], { keepdims: int(0) });
}

/** Whether two inputs have the same shape as far as known; PyTorch would broadcast them with a warning. */
function sameShapes(call: LayerLowering): boolean {
  const [left, right] = call.inputs;
  const differ =
    left?.shape !== undefined &&
    right?.shape !== undefined &&
    (left.shape.length !== right.shape.length ||
      left.shape.some((size, axis) => {
        const other = right.shape?.[axis];
        return typeof size === 'number' && typeof other === 'number' && size !== other;
      }));
  if (!differ) return true;
  call.problem('shape/mismatch', `the input ${printShape(left)} and the target ${printShape(right)} differ`);
  return false;
}

const classExample = {
  inputs: { scores: 'float32[32, 1000]', labels: 'int64[32]' },
  work: 'Element-wise only.',
};

const crossEntropy: LayerDefinition = {
  name: 'CrossEntropyLoss',
  kind: 'module',
  documentation:
    'Softmax and negative log-likelihood of class scores [batch, classes, …]; from two sources: scores, labels or probabilities.',
  source: 'torch.nn.CrossEntropyLoss.html',
  inputs: { names: ['input', 'target'], least: 2 },
  parameters: [
    weight,
    integer('ignore_index', 'Label that does not count.', { default: -100 }),
    reduction,
    number('label_smoothing', 'Share of the other classes; not costed.', { default: 0, least: 0, most: 1 }),
  ],
  example: { inputs: classExample.inputs, call: 'CrossEntropyLoss() from scores, labels' },
  lower: (call) => {
    const [scores, target] = call.inputs;
    const probabilities = target?.elementType?.startsWith('float');
    if (probabilities) {
      if (!sameShapes(call)) return undefined;
      const logarithms = call.emit('LogSoftmax', [scores], { axis: int(1) });
      const weighted = call.emit('Mul', [logarithms, target]);
      const sums = call.emit('ReduceSum', [weighted, call.integersConstant([1])], { keepdims: int(0) });
      return reduced(call, call.emit('Neg', [sums]));
    }
    return hasLabelShape(call) ? labelLoss(call, 'SoftmaxCrossEntropyLoss') : undefined;
  },
};

const negativeLogLikelihood: LayerDefinition = {
  name: 'NLLLoss',
  kind: 'module',
  documentation:
    'Negative log-likelihood of log-probabilities [batch, classes, …]; from two sources: log-probabilities, labels.',
  source: 'torch.nn.NLLLoss.html',
  inputs: { names: ['input', 'target'], least: 2 },
  parameters: [weight, integer('ignore_index', 'Label that does not count.', { default: -100 }), reduction],
  example: { inputs: classExample.inputs, call: 'NLLLoss() from scores, labels' },
  lower: (call) => (hasLabelShape(call) ? labelLoss(call, 'NegativeLogLikelihoodLoss') : undefined),
};

function labelLoss(call: LayerLowering, operator: string): Tensor {
  const weights = call.given('weight') ? call.tied('weight', 'weight') : undefined;
  const inputs = [call.inputs[0], call.inputs[1], ...(weights === undefined ? [] : [weights])];
  return call.emit(operator, inputs, {
    reduction: text(call.string('reduction')),
    ignore_index: int(call.integer('ignore_index')),
  });
}

/** Labels are of the shape of the scores without the classes. */
function hasLabelShape(call: LayerLowering): boolean {
  const [scores, labels] = call.inputs;
  if (scores?.shape === undefined || labels?.shape === undefined) return true;
  const expected = scores.shape.filter((_, axis) => axis !== (scores.shape?.length === 1 ? 0 : 1));
  const fits =
    expected.length === labels.shape.length &&
    expected.every((size, axis) => {
      const other = labels.shape?.[axis];
      return typeof size !== 'number' || typeof other !== 'number' || size === other;
    });
  if (fits) return true;
  call.problem(
    'shape/mismatch',
    `scores ${printShape(scores)} have classes on axis 1, so labels are ${printShape({ ...labels, shape: expected })}, not ${printShape(labels)}`,
  );
  return false;
}

const multiMargin: LayerDefinition = {
  name: 'MultiMarginLoss',
  kind: 'module',
  documentation:
    'How far scores of wrong classes come near that of the right one; from two sources: scores, labels.',
  source: 'torch.nn.MultiMarginLoss.html',
  inputs: { names: ['input', 'target'], least: 2 },
  parameters: [
    integer('p', '1, or 2 for the square.', { default: 1, least: 1, most: 2 }),
    number('margin', 'The margin.', { default: 1 }),
    weight,
    reduction,
  ],
  example: { inputs: classExample.inputs, call: 'MultiMarginLoss() from scores, labels' },
  lower: (call) => {
    const [scores, labels] = call.inputs;
    if (!hasLabelShape(call)) return undefined;
    const places = call.emit('Unsqueeze', [labels, call.integersConstant([1])]);
    const right = call.emit('GatherElements', [scores, places], { axis: int(1) });
    const apart = call.emit('Sub', [call.emit('Add', [scores, scalar(call, call.number('margin'))]), right]);
    const near = call.emit('Relu', [apart]);
    const powered = call.integer('p') === 2 ? call.emit('Mul', [near, near]) : near;
    const means = call.emit('ReduceMean', [powered, call.integersConstant([1])], { keepdims: int(0) });
    return reduced(call, means);
  },
};

type Losses = (call: LayerLowering, input: Tensor, target: Tensor) => Tensor;

/** A loss of input and target of the same shape, element by element. */
const pairwise = (
  name: string,
  documentation: string,
  parameters: readonly ParameterDefinition[],
  losses: Losses,
): LayerDefinition => ({
  name,
  kind: 'module',
  documentation: `${documentation}; from two sources: input, target.`,
  source: `torch.nn.${name}.html`,
  inputs: { names: ['input', 'target'], least: 2 },
  parameters,
  example: {
    inputs: { prediction: 'float32[32, 64]', target: 'float32[32, 64]' },
    call: `${name}() from prediction, target`,
  },
  lower: (call) => {
    const [input, target] = call.inputs;
    if (input === undefined || target === undefined || !sameShapes(call)) return undefined;
    return reduced(call, losses(call, input, target));
  },
});

const difference: Losses = (call, input, target) => call.emit('Sub', [input, target]);

/** δ(|d| − δ/2) beyond δ, d²/2 within: min(|d|, δ)·(|d| − min(|d|, δ)/2). */
function huber(call: LayerLowering, input: Tensor, target: Tensor, delta: number): Tensor {
  const size = call.emit('Abs', [difference(call, input, target)]);
  const within = call.emit('Clip', [size, undefined, scalar(call, delta)]);
  const beyond = call.emit('Sub', [size, call.emit('Mul', [within, scalar(call, 0.5)])]);
  return call.emit('Mul', [within, beyond]);
}

/** −(y·ln p + (1 − y)·ln(1 − p)). */
const binaryCrossEntropy: Losses = (call, input, target) => {
  const one = scalar(call, 1);
  const yes = call.emit('Mul', [target, call.emit('Log', [input])]);
  const no = call.emit('Mul', [
    call.emit('Sub', [one, target]),
    call.emit('Log', [call.emit('Sub', [one, input])]),
  ]);
  return call.emit('Neg', [call.emit('Add', [yes, no])]);
};

/** ln(1 + eˣ) − x·y. */
const binaryCrossEntropyOfLogits: Losses = (call, input, target) =>
  call.emit('Sub', [call.emit('Softplus', [input]), call.emit('Mul', [input, target])]);

/** y·(ln y − x), with the target as it is or as its logarithm. */
const divergence: Losses = (call, input, target) => {
  const logarithm = call.boolean('log_target');
  const [plain, logged] = logarithm
    ? [call.emit('Exp', [target]), target]
    : [target, call.emit('Log', [target])];
  return call.emit('Mul', [plain, call.emit('Sub', [logged, input])]);
};

/** ln(1 + e^(−y·x)). */
const softMargin: Losses = (call, input, target) =>
  call.emit('Softplus', [call.emit('Neg', [call.emit('Mul', [input, target])])]);

/** eˣ − y·x, or x − y·ln x. */
const poisson: Losses = (call, input, target) => {
  const logged = call.boolean('log_input');
  const rate = logged ? call.emit('Exp', [input]) : input;
  const logarithm = logged ? input : call.emit('Log', [input]);
  return call.emit('Sub', [rate, call.emit('Mul', [target, logarithm])]);
};

/** x where y = 1, max(0, margin − x) where y = −1. */
const hingeEmbedding: Losses = (call, input, target) => {
  const hinge = call.emit('Relu', [call.emit('Sub', [scalar(call, call.number('margin')), input])]);
  return call.emit('Where', [call.emit('Equal', [target, scalar(call, 1)]), input, hinge]);
};

const margin = (standard: number) => number('margin', 'The margin.', { default: standard });
const eps = (standard: number) =>
  number('eps', 'Least value divided by or taken a logarithm of.', { default: standard });

/** A loss of three tensors. */
const ofThree = (
  name: string,
  documentation: string,
  names: readonly [string, string, string],
  shapes: readonly [string, string, string],
  parameters: readonly ParameterDefinition[],
  losses: (call: LayerLowering) => Tensor | undefined,
): LayerDefinition => ({
  name,
  kind: 'module',
  documentation: `${documentation}; from three sources: ${names.join(', ')}.`,
  source: `torch.nn.${name}.html`,
  inputs: { names, least: 3 },
  parameters,
  example: {
    inputs: { a: shapes[0], b: shapes[1], c: shapes[2] },
    call: `${name}() from a, b, c`,
  },
  lower: (call) => {
    const found = losses(call);
    return found && reduced(call, found);
  },
});

const vectors = 'float32[32, 64]';

export const lossLayers: readonly LayerDefinition[] = [
  crossEntropy,
  negativeLogLikelihood,
  multiMargin,
  pairwise('MSELoss', 'Square of the difference', [reduction], (call, input, target) => {
    const apart = difference(call, input, target);
    return call.emit('Mul', [apart, apart]);
  }),
  pairwise('L1Loss', 'Absolute difference', [reduction], (call, input, target) =>
    call.emit('Abs', [difference(call, input, target)]),
  ),
  pairwise(
    'SmoothL1Loss',
    'Square of small differences, absolute value of large ones',
    [reduction, number('beta', 'Where large begins.', { default: 1, least: 0 })],
    (call, input, target) => {
      const beta = call.number('beta');
      if (beta === 0) return call.emit('Abs', [difference(call, input, target)]);
      const losses = huber(call, input, target, beta);
      return beta === 1 ? losses : call.emit('Div', [losses, scalar(call, beta)]);
    },
  ),
  pairwise(
    'HuberLoss',
    'Square of small differences, absolute value of large ones',
    [reduction, number('delta', 'Where large begins.', { default: 1, least: 0 })],
    (call, input, target) => huber(call, input, target, call.number('delta')),
  ),
  pairwise('BCELoss', 'Cross entropy of probabilities', [weight, reduction], binaryCrossEntropy),
  pairwise(
    'BCEWithLogitsLoss',
    'Sigmoid and cross entropy',
    [
      weight,
      reduction,
      classWeights('pos_weight', 'Layer that holds a weight of positive samples per class.'),
    ],
    binaryCrossEntropyOfLogits,
  ),
  pairwise(
    'KLDivLoss',
    'Kullback–Leibler divergence of log-probabilities',
    [
      choice('reduction', ['none', 'mean', 'sum', 'batchmean'], 'mean', 'Of the losses of all elements.'),
      flag('log_target', false, 'Whether the target is a logarithm too.'),
    ],
    divergence,
  ),
  pairwise(
    'PoissonNLLLoss',
    'Negative log-likelihood of counts',
    [
      flag('log_input', true, 'Whether the input is the logarithm of the rate.'),
      flag('full', false, 'Does not change the cost here.'),
      eps(1e-8),
      reduction,
    ],
    poisson,
  ),
  pairwise('SoftMarginLoss', 'Logistic loss of labels 1 and −1', [reduction], softMargin),
  pairwise(
    'HingeEmbeddingLoss',
    'Distances of similar pairs, and how far others are within a margin',
    [margin(1), reduction],
    hingeEmbedding,
  ),
  pairwise(
    'MultiLabelSoftMarginLoss',
    'Logistic loss of several labels, mean over classes',
    [weight, reduction],
    (call, input, target) =>
      call.emit(
        'ReduceMean',
        [binaryCrossEntropyOfLogits(call, input, target), call.integersConstant([-1])],
        { keepdims: int(0) },
      ),
  ),
  ofThree(
    'GaussianNLLLoss',
    'Negative log-likelihood of a normal distribution',
    ['input', 'target', 'var'],
    [vectors, vectors, vectors],
    [flag('full', false, 'Does not change the cost here.'), eps(1e-6), reduction],
    (call) => {
      const [input, target, variance] = call.inputs;
      const apart = call.emit('Sub', [input, target]);
      const share = call.emit('Div', [call.emit('Mul', [apart, apart]), variance]);
      return call.emit('Mul', [call.emit('Add', [call.emit('Log', [variance]), share]), scalar(call, 0.5)]);
    },
  ),
  ofThree(
    'MarginRankingLoss',
    'How far two scores are from the order a label of 1 or −1 says',
    ['input1', 'input2', 'target'],
    ['float32[32]', 'float32[32]', 'float32[32]'],
    [margin(0), reduction],
    (call) => {
      const [first, second, target] = call.inputs;
      const apart = call.emit('Mul', [target, call.emit('Sub', [first, second])]);
      return call.emit('Relu', [call.emit('Sub', [scalar(call, call.number('margin')), apart])]);
    },
  ),
  ofThree(
    'CosineEmbeddingLoss',
    'Angles of similar pairs, and of others within a margin',
    ['input1', 'input2', 'target'],
    [vectors, vectors, 'float32[32]'],
    [margin(0), reduction],
    (call) => {
      const angle = cosine(call, call.inputs[0], call.inputs[1], [-1]);
      const alike = call.emit('Sub', [scalar(call, 1), angle]);
      const other = call.emit('Relu', [call.emit('Sub', [angle, scalar(call, call.number('margin'))])]);
      return call.emit('Where', [call.emit('Equal', [call.inputs[2], scalar(call, 1)]), alike, other]);
    },
  ),
  ofThree(
    'TripletMarginLoss',
    'How much nearer an anchor is to a positive sample than to a negative one',
    ['anchor', 'positive', 'negative'],
    [vectors, vectors, vectors],
    [
      margin(1),
      number('p', 'Norm of the distances: 1 or 2.', { default: 2 }),
      eps(1e-6),
      flag('swap', false, 'Not costed.'),
      reduction,
    ],
    (call) => {
      const [anchor, positive, negative] = call.inputs;
      const near = distance(call, anchor, positive, false);
      const far = distance(call, anchor, negative, false);
      if (near === undefined || far === undefined) return undefined;
      const apart = call.emit('Sub', [near, far]);
      return call.emit('Relu', [call.emit('Add', [apart, scalar(call, call.number('margin'))])]);
    },
  ),
];
