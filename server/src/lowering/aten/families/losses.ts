/** Losses, as the layers of layer specs of the same names become. */

import { int, type Tensor, text } from '../../layer-spec/layerDefinition.ts';
import { type AtenCall, each, type LowerAten } from '../atenCall.ts';

/** Source: `at::Reduction` of PyTorch 2.13. */
const reductions = ['none', 'mean', 'sum'];

const reductionOf = (call: AtenCall): string => reductions[call.numberOr('reduction', 1)] ?? 'mean';

/** Of labels, or of probabilities. Smoothing of labels is not costed. */
const crossEntropy: LowerAten = (call) => {
  const [scores, target] = [call.tensor('self'), call.tensor('target')];
  if (scores === undefined || target === undefined) return undefined;
  if (!target.elementType?.startsWith('float')) return labelLoss('SoftmaxCrossEntropyLoss')(call);
  const axis = scores.shape?.length === 1 ? 0 : 1;
  const weighted = call.emit('Mul', [...call.emit('LogSoftmax', [scores], { axis: int(axis) }), target]);
  const sums = call.emit('ReduceSum', [...weighted, call.integers([axis])], { keepdims: int(0) });
  return reduced(call, call.emit('Neg', sums)[0]);
};

const labelLoss =
  (type: string): LowerAten =>
  (call) => {
    const [scores, target, weight] = [call.tensor('self'), call.tensor('target'), call.tensor('weight')];
    if (scores === undefined || target === undefined) return undefined;
    const inputs = [scores, target, ...(weight === undefined ? [] : [weight])];
    return call.emit(type, inputs, {
      reduction: text(reductionOf(call)),
      ignore_index: int(call.numberOr('ignore_index', -100)),
    });
  };

/** Losses of elements, reduced as the call says. */
export function reduced(call: AtenCall, losses: Tensor): readonly [Tensor] {
  const reduction = reductionOf(call);
  if (reduction === 'none') return [losses];
  return call.emit(reduction === 'sum' ? 'ReduceSum' : 'ReduceMean', [losses], { keepdims: int(0) });
}

/** Of input and target of one shape, element by element. */
const pairwise =
  (losses: (call: AtenCall, input: Tensor, target: Tensor) => Tensor): LowerAten =>
  (call) => {
    const [input, target] = [call.tensor('self'), call.tensor('target')];
    return input && target && reduced(call, losses(call, input, target));
  };

const one = (call: AtenCall, type: string, ...inputs: readonly Tensor[]): Tensor =>
  call.emit(type, inputs)[0];
const number = (call: AtenCall, like: Tensor, value: number): Tensor =>
  call.scalar(value, like.elementType ?? 'float32');

/** min(|d|, δ)·(|d| − min(|d|, δ)/2). */
const huber =
  (limit: string) =>
  (call: AtenCall, input: Tensor, target: Tensor): Tensor => {
    const size = one(call, 'Abs', one(call, 'Sub', input, target));
    const [within] = call.emit('Clip', [size, undefined, number(call, input, call.number(limit) ?? 1)]);
    const beyond = one(call, 'Sub', size, one(call, 'Mul', within, number(call, input, 0.5)));
    return one(call, 'Mul', within, beyond);
  };

/** (y − 1)·ln(1 − p) − y·ln p, with logarithms of −100 at least (aten/src/ATen/native/Loss.cpp). */
function binaryCrossEntropy(call: AtenCall, input: Tensor, target: Tensor): Tensor {
  const [all, least] = [number(call, input, 1), number(call, input, -100)];
  const logarithm = (of: Tensor) => one(call, 'Max', one(call, 'Log', of), least);
  const rest = one(call, 'Add', one(call, 'Neg', input), all);
  const no = one(call, 'Mul', one(call, 'Sub', target, all), logarithm(rest));
  return one(call, 'Sub', no, one(call, 'Mul', target, logarithm(input)));
}

/** (1 − y)·x − ((w − 1)·y + 1)·ln σ(x), as `torch.export` decomposes it (torch/_decomp/decompositions.py). */
function binaryCrossEntropyOfScores(call: AtenCall, input: Tensor, target: Tensor): Tensor {
  const all = number(call, input, 1);
  const product = one(call, 'Mul', one(call, 'Sub', all, target), input);
  const logarithm = one(call, 'Log', one(call, 'Sigmoid', input));
  const positive = call.tensor('pos_weight');
  if (positive === undefined) return one(call, 'Sub', product, logarithm);
  const above = one(call, 'Mul', one(call, 'Sub', positive, all), target);
  return one(call, 'Sub', product, one(call, 'Mul', one(call, 'Add', above, all), logarithm));
}

/** Losses of elements, times their weights. */
const withWeights =
  (losses: (call: AtenCall, input: Tensor, target: Tensor) => Tensor) =>
  (call: AtenCall, input: Tensor, target: Tensor): Tensor => {
    const weight = call.tensor('weight');
    const plain = losses(call, input, target);
    return weight === undefined ? plain : one(call, 'Mul', plain, weight);
  };

export const lossOperators: Readonly<Record<string, LowerAten>> = {
  'cross_entropy_loss.default': crossEntropy,
  ...each(
    ['nll_loss.default', 'nll_loss_nd.default', 'nll_loss2d.default'],
    labelLoss('NegativeLogLikelihoodLoss'),
  ),
  ...each(['nll_loss_forward.default', 'nll_loss2d_forward.default'], labelLoss('NegativeLogLikelihoodLoss')),
  'mse_loss.default': pairwise((call, input, target) => {
    const apart = one(call, 'Sub', input, target);
    return one(call, 'Mul', apart, apart);
  }),
  'l1_loss.default': pairwise((call, input, target) => one(call, 'Abs', one(call, 'Sub', input, target))),
  'smooth_l1_loss.default': pairwise(huber('beta')),
  'huber_loss.default': pairwise(huber('delta')),
  'binary_cross_entropy.default': pairwise(withWeights(binaryCrossEntropy)),
  'binary_cross_entropy_with_logits.default': pairwise(withWeights(binaryCrossEntropyOfScores)),
  // y·(ln y − x).
  'kl_div.default': pairwise((call, input, target) => {
    const isLogarithm = call.flag('log_target', false);
    const [plain, logarithm] = isLogarithm
      ? [one(call, 'Exp', target), target]
      : [target, one(call, 'Log', target)];
    return one(call, 'Mul', plain, one(call, 'Sub', logarithm, input));
  }),
  'soft_margin_loss.default': pairwise((call, input, target) =>
    one(call, 'Softplus', one(call, 'Neg', one(call, 'Mul', input, target))),
  ),
};
