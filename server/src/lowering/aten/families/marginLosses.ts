/** Losses of distances and margins, as ATen composes them (PyTorch 2.13 aten/src/ATen/native/Loss.cpp, Distance.cpp). */

import { int, type Tensor } from '../../layer-spec/layerDefinition.ts';
import { type AtenCall, flagAttribute, type LowerAten } from '../atenCall.ts';
import { reduced } from './losses.ts';

const one = (call: AtenCall, type: string, ...inputs: readonly (Tensor | undefined)[]): Tensor =>
  call.emit(type, inputs)[0];
const number = (call: AtenCall, like: Tensor, value: number): Tensor =>
  call.scalar(value, like.elementType ?? 'float32');
const atLeastZero = (call: AtenCall, of: Tensor): Tensor => one(call, 'Clip', of, number(call, of, 0));
const sumOfRows = (call: AtenCall, of: Tensor): Tensor =>
  call.emit('ReduceSum', [of, call.integers([1])], { keepdims: int(0) })[0];

/** ‖a − b + ε‖ of rows; other norms than 1 and 2 are unknown. */
function distance(call: AtenCall, left: Tensor, right: Tensor, keepdims: boolean): Tensor | undefined {
  const order = call.numberOr('p', 2);
  if (order !== 1 && order !== 2) return undefined;
  const moved = one(
    call,
    'Add',
    one(call, 'Sub', left, right),
    number(call, left, call.numberOr('eps', 1e-6)),
  );
  const type = order === 1 ? 'ReduceL1' : 'ReduceL2';
  return call.emit(type, [moved, call.integers([-1])], { keepdims: flagAttribute(keepdims) })[0];
}

const pairwiseDistance: LowerAten = (call) => {
  const [left, right] = [call.tensor('x1'), call.tensor('x2')];
  const found = left && right && distance(call, left, right, call.flag('keepdim', false));
  return found && [found];
};

/** max(0, margin + d(anchor, positive) − d(anchor, negative)); with `swap` the nearer of d(anchor, negative) and d(positive, negative). */
const tripletMargin: LowerAten = (call) => {
  const [anchor, positive, negative] = ['anchor', 'positive', 'negative'].map((name) => call.tensor(name));
  if (anchor === undefined || positive === undefined || negative === undefined) return undefined;
  const [near, own] = [distance(call, anchor, positive, false), distance(call, anchor, negative, false)];
  if (near === undefined || own === undefined) return undefined;
  const other = call.flag('swap', false) ? distance(call, positive, negative, false) : undefined;
  const far = other === undefined ? own : one(call, 'Min', own, other);
  const margin = number(call, near, call.numberOr('margin', 1));
  return reduced(call, atLeastZero(call, one(call, 'Sub', one(call, 'Add', near, margin), far)));
};

/** max(0, margin − y·(a − b)). */
const marginRanking: LowerAten = (call) => {
  const [left, right, target] = ['input1', 'input2', 'target'].map((name) => call.tensor(name));
  if (left === undefined || right === undefined || target === undefined) return undefined;
  const product = one(call, 'Mul', one(call, 'Neg', target), one(call, 'Sub', left, right));
  const margin = call.numberOr('margin', 0);
  return reduced(
    call,
    atLeastZero(call, margin === 0 ? product : one(call, 'Add', product, number(call, product, margin))),
  );
};

/** Where the target is `value`, else 0. */
function whereTarget(call: AtenCall, target: Tensor, value: number, losses: Tensor): Tensor {
  const zeros = number(call, losses, 0);
  return one(call, 'Where', one(call, 'Equal', target, number(call, target, value)), losses, zeros);
}

/** x where y = 1, max(0, margin − x) where y = −1. */
const hingeEmbedding: LowerAten = (call) => {
  const [self, target] = [call.tensor('self'), call.tensor('target')];
  if (self === undefined || target === undefined) return undefined;
  const apart = atLeastZero(call, one(call, 'Sub', number(call, self, call.numberOr('margin', 1)), self));
  const [far, near] = [whereTarget(call, target, -1, apart), whereTarget(call, target, 1, self)];
  return reduced(call, one(call, 'Add', far, near));
};

/** 1 − cos where y = 1, max(0, cos − margin) where y = −1. */
const cosineEmbedding: LowerAten = (call) => {
  const [left, right, target] = ['input1', 'input2', 'target'].map((name) => call.tensor(name));
  if (left === undefined || right === undefined || target === undefined) return undefined;
  const squares = [left, right].map((of) =>
    one(call, 'Add', sumOfRows(call, one(call, 'Mul', of, of)), number(call, of, 1e-12)),
  );
  const norm = one(call, 'Sqrt', one(call, 'Mul', ...squares));
  const cosine = one(call, 'Div', sumOfRows(call, one(call, 'Mul', left, right)), norm);
  const near = one(call, 'Sub', number(call, cosine, 1), cosine);
  const far = atLeastZero(call, one(call, 'Sub', cosine, number(call, cosine, call.numberOr('margin', 0))));
  const [alike, other] = [whereTarget(call, target, 1, near), whereTarget(call, target, -1, far)];
  return reduced(call, one(call, 'Add', alike, other));
};

/** eˣ − y·x, or x − y·ln(x + ε); with the approximation of the factorial it is unknown. */
const poisson: LowerAten = (call) => {
  const [input, target] = [call.tensor('input'), call.tensor('target')];
  if (input === undefined || target === undefined || call.flag('full', false)) return undefined;
  const isLogarithm = call.flag('log_input', true);
  const mean = isLogarithm ? one(call, 'Exp', input) : input;
  const bounded = () => one(call, 'Add', input, number(call, input, call.numberOr('eps', 1e-8)));
  const logarithm = isLogarithm ? input : one(call, 'Log', bounded());
  return reduced(call, one(call, 'Sub', mean, one(call, 'Mul', target, logarithm)));
};

export const marginLossOperators: Readonly<Record<string, LowerAten>> = {
  'pairwise_distance.default': pairwiseDistance,
  'triplet_margin_loss.default': tripletMargin,
  'margin_ranking_loss.default': marginRanking,
  'hinge_embedding_loss.default': hingeEmbedding,
  'cosine_embedding_loss.default': cosineEmbedding,
  'poisson_nll_loss.default': poisson,
};
