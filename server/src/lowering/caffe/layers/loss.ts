/** Losses and measures of quality (src/caffe/layers/, one file each). A loss is one number. */

import { numberOr, numbersOf, spanOf, textOf } from '../../../formats/caffe/syntax.ts';
import { int, type Tensor } from '../../layer-spec/layerDefinition.ts';
import type { CaffeCall, CaffeLayerDefinition } from '../layerDefinition.ts';
import { axisOf, fixed, shapeOf } from '../shapes.ts';

const loss = { isLoss: true, comparesBottoms: true, bottoms: [2, 3], tops: [0, 1] } as const;

/** The sum over everything: one number. */
const total = (call: CaffeCall, tensor: Tensor | undefined): Tensor =>
  call.emit('ReduceSum', [tensor], { keepdims: int(0) });

function lowerSoftmaxLoss(call: CaffeCall): readonly Tensor[] | undefined {
  const [scores, labels] = call.inputs;
  const value = call.emit('SoftmaxCrossEntropyLoss', [scores, labels]);
  if (call.tops < 2) return [value];
  return [value, call.emit('Softmax', [scores], { axis: int(1) })];
}

/** max(x, 0) − x · t + log(1 + e^−|x|), which is softplus(x) − x · t (sigmoid_cross_entropy_loss_layer.cpp). */
function lowerSigmoidLoss(call: CaffeCall): readonly Tensor[] | undefined {
  const [scores, targets] = call.inputs;
  const each = call.emit('Sub', [call.emit('Softplus', [scores]), call.emit('Mul', [scores, targets])]);
  const value = total(call, each);
  return call.tops < 2 ? [value] : [value, call.emit('Sigmoid', [scores])];
}

/** A loss of each region beside the sum, which the choice of hard examples reads (softmax_loss_ohem_layer.cpp). */
function lowerSoftmaxLossOhem(call: CaffeCall): readonly Tensor[] | undefined {
  const [scores, labels] = call.inputs;
  const value = call.emit('SoftmaxCrossEntropyLoss', [scores, labels]);
  if (call.tops < 2) return [value];
  const probabilities = call.emit('Softmax', [scores], { axis: int(1) });
  if (call.tops < 3) return [value, probabilities];
  const each = call.emit('ReduceMax', [call.emit('Log', [probabilities]), call.integers([1])]);
  return [value, probabilities, each];
}

function lowerSmoothL1Ohem(call: CaffeCall): readonly Tensor[] | undefined {
  const each = smoothDifferences(call);
  const value = total(call, each);
  return call.tops < 2 ? [value] : [value, call.emit('ReduceSum', [each, call.integers([1])])];
}

function lowerEuclideanLoss(call: CaffeCall): readonly Tensor[] | undefined {
  const difference = call.emit('Sub', call.inputs);
  return [call.emit('ReduceSumSquare', [difference], { keepdims: int(0) })];
}

function lowerHingeLoss(call: CaffeCall): readonly Tensor[] | undefined {
  const margins = call.emit('Relu', [call.emit('Add', [call.inputs[0], call.scalar(1)])]);
  const squared = textOf(call.parameters, 'norm') === 'L2';
  return [squared ? call.emit('ReduceSumSquare', [margins], { keepdims: int(0) }) : total(call, margins)];
}

function lowerMultinomialLoss(call: CaffeCall): readonly Tensor[] | undefined {
  const [probabilities, labels] = call.inputs;
  return [call.emit('NegativeLogLikelihoodLoss', [call.emit('Log', [probabilities]), labels])];
}

/** Each label's row of the infogain matrix weighs the logarithms of the classes (infogain_loss_layer.cpp). */
function lowerInfogainLoss(call: CaffeCall): readonly Tensor[] | undefined {
  const [scores, labels, given] = call.inputs;
  const classes = fixed(shapeOf(call)?.[1]);
  if (classes === undefined) return undefined;
  const matrix = given ?? call.buffer('infogain', [classes, classes]);
  const logarithms = call.emit('Log', [call.emit('Softmax', [scores], { axis: int(1) })]);
  const rows = call.emit('Gather', [matrix, labels]);
  return [total(call, call.emit('Mul', [rows, logarithms]))];
}

/** Distances of pairs, pushed together or apart (contrastive_loss_layer.cpp). */
function lowerContrastiveLoss(call: CaffeCall): readonly Tensor[] | undefined {
  const [left, right, similar] = call.inputs;
  const difference = call.emit('Sub', [left, right]);
  const squared = call.emit('ReduceSumSquare', [difference, call.integers([1])], { keepdims: int(0) });
  const margin = call.scalar(numberOr(call.parameters, 'margin', 1));
  const apart = call.emit('Relu', [call.emit('Sub', [margin, call.emit('Sqrt', [squared])])]);
  const labels =
    similar?.shape?.length === 1 || similar?.shape === undefined
      ? similar
      : call.emit('Flatten', [similar], { axis: int(0) });
  const each = call.emit('Where', [
    call.emit('Cast', [labels], { to: int(9) }),
    squared,
    call.emit('Mul', [apart, apart]),
  ]);
  return [total(call, each)];
}

/** 0.5 · x² near 0, |x| − 0.5 beyond, of a difference with weights (smooth_L1_loss_layer.cpp of Fast R-CNN). */
const lowerSmoothL1 = (call: CaffeCall): readonly Tensor[] | undefined => [
  total(call, smoothDifferences(call)),
];

function smoothDifferences(call: CaffeCall): Tensor {
  const [predicted, target, inside] = call.inputs;
  let difference = call.emit('Sub', [predicted, target]);
  if (inside !== undefined) difference = call.emit('Mul', [difference, inside]);
  const size = call.emit('Abs', [difference]);
  const near = call.emit('Clip', [size, call.scalar(0), call.scalar(1)]);
  const rest = call.emit('Sub', [size, near]);
  return call.emit('Add', [call.emit('Mul', [near, near]), rest]);
}

/** Logarithms of the classes at every step; the sum over alignments is a recursion of its own kernel (warp-ctc). */
function lowerCtcLoss(call: CaffeCall): readonly Tensor[] | undefined {
  const rank = shapeOf(call)?.length;
  if (rank === undefined) return undefined;
  const message = 'The recursion over alignments is not counted, only the softmax of the scores';
  call.remark('caffe/unknown-cost', message, 'warning');
  return [total(call, call.emit('LogSoftmax', [call.inputs[0]], { axis: int(Math.min(2, rank - 1)) }))];
}

function lowerAccuracy(call: CaffeCall): readonly Tensor[] | undefined {
  const [scores, labels] = call.inputs;
  const shape = shapeOf(call);
  if (shape === undefined) return undefined;
  const { parameters } = call;
  const axis = axisOf(call, numberOr(parameters, 'axis', 1), shape.length, spanOf(parameters, 'axis'));
  if (axis === undefined) return undefined;
  const count = numbersOf(parameters, 'top_k')[0] ?? 1;
  const classes = fixed(shape[axis]);
  if (classes !== undefined && (count < 1 || count > classes)) {
    return call.problem(
      `\`top_k\` is ${count}, but there are ${classes} classes`,
      spanOf(parameters, 'top_k'),
    );
  }
  const best =
    count === 1
      ? call.emit('ArgMax', [scores], { axis: int(axis), keepdims: int(0) })
      : call.emitMany('TopK', [scores, call.integers([count])], 2, { axis: int(axis) })[1];
  const wide = count === 1 ? labels : call.emit('Unsqueeze', [labels, call.integers([axis])]);
  const right = call.emit('Cast', [call.emit('Equal', [best, wide])], { to: int(1) });
  const value = call.emit(count === 1 ? 'ReduceMean' : 'ReduceSum', [right], { keepdims: int(0) });
  return call.tops < 2 ? [value] : [value, call.fromHost(1, [classes ?? 1])];
}

export const lossLayers: readonly CaffeLayerDefinition[] = [
  {
    type: 'SoftmaxWithLoss',
    aliases: [
      'SoftmaxLoss',
      'FocalLoss',
      'SoftmaxWithFocalLoss',
      'SoftmaxFocalLoss',
      'WeightedSoftmaxWithLoss',
      'SoftmaxWithWeightedLoss',
    ],
    documentation: 'Cross entropy of the softmax of scores and class numbers.',
    source: 'softmax_loss_layer.cpp',
    parameters: 'softmax_param',
    ...loss,
    tops: [0, 2],
    indexBottoms: [1],
    lower: lowerSoftmaxLoss,
  },
  {
    type: 'SigmoidCrossEntropyLoss',
    aliases: [
      'ClassBalancedSigmoidCrossEntropyLoss',
      'BalanceCrossEntropyLoss',
      'WeightedSigmoidCrossEntropyLoss',
      'SigmoidFocalLoss',
      'MultiLabelLoss',
    ],
    documentation: 'Cross entropy of the sigmoid of scores and targets from 0 to 1.',
    source: 'sigmoid_cross_entropy_loss_layer.cpp',
    parameters: 'loss_param',
    ...loss,
    tops: [0, 2],
    lower: lowerSigmoidLoss,
  },
  {
    type: 'EuclideanLoss',
    aliases: ['WeightedEuclideanLoss', 'MaskedEuclideanLoss', 'EuclideanLossOHEM'],
    documentation: 'Half the sum of squared differences.',
    source: 'euclidean_loss_layer.cpp',
    ...loss,
    lower: lowerEuclideanLoss,
  },
  {
    type: 'HingeLoss',
    documentation: 'Margins that scores of wrong classes violate.',
    source: 'hinge_loss_layer.cpp',
    parameters: 'hinge_loss_param',
    ...loss,
    indexBottoms: [1],
    lower: lowerHingeLoss,
  },
  {
    type: 'MultinomialLogisticLoss',
    documentation: 'Cross entropy of probabilities and class numbers.',
    source: 'multinomial_logistic_loss_layer.cpp',
    ...loss,
    indexBottoms: [1],
    lower: lowerMultinomialLoss,
  },
  {
    type: 'InfogainLoss',
    documentation: 'Cross entropy weighed by a matrix of classes.',
    source: 'infogain_loss_layer.cpp',
    parameters: 'infogain_loss_param',
    ...loss,
    bottoms: [2, 3],
    tops: [0, 2],
    indexBottoms: [1],
    lower: lowerInfogainLoss,
  },
  {
    type: 'ContrastiveLoss',
    documentation: 'Distance of alike pairs, and what unlike pairs lack to a margin.',
    source: 'contrastive_loss_layer.cpp',
    parameters: 'contrastive_loss_param',
    ...loss,
    bottoms: [3, 3],
    indexBottoms: [2],
    lower: lowerContrastiveLoss,
  },
  {
    type: 'SmoothL1Loss',
    documentation: 'Squared differences near 0, magnitudes beyond.',
    source: 'smooth_L1_loss_layer.cpp of Fast R-CNN',
    parameters: 'smooth_l1_loss_param',
    ...loss,
    bottoms: [2, 4],
    lower: lowerSmoothL1,
  },
  {
    type: 'SoftmaxWithLossOHEM',
    documentation: 'Cross entropy of the softmax, with the loss of each region.',
    source: 'softmax_loss_ohem_layer.cpp of R-FCN',
    parameters: 'softmax_param',
    ...loss,
    tops: [0, 3],
    indexBottoms: [1],
    lower: lowerSoftmaxLossOhem,
  },
  {
    type: 'SmoothL1LossOHEM',
    documentation: 'Squared differences near 0, magnitudes beyond, with the loss of each region.',
    source: 'smooth_L1_loss_ohem_layer.cpp of R-FCN',
    parameters: 'smooth_l1_loss_param',
    ...loss,
    bottoms: [2, 4],
    tops: [0, 2],
    lower: lowerSmoothL1Ohem,
  },
  {
    type: 'CTCLoss',
    aliases: ['CtcLoss', 'WarpCTC', 'WarpCtcLoss'],
    documentation: 'Likelihood of a sequence of labels over all alignments.',
    source: 'warp_ctc_loss_layer.cpp of the forks for CRNN',
    parameters: 'ctc_loss_param',
    otherParameters: ['warp_ctc_loss_param'],
    isLoss: true,
    tops: [0, 1],
    readsOnHost: true,
    bottoms: [2, 4],
    lower: lowerCtcLoss,
  },
  {
    type: 'Accuracy',
    documentation: 'Share of samples whose label is among the highest scores.',
    source: 'accuracy_layer.cpp',
    parameters: 'accuracy_param',
    comparesBottoms: true,
    bottoms: [2, 2],
    tops: [1, 2],
    indexBottoms: [1],
    lower: lowerAccuracy,
  },
];
