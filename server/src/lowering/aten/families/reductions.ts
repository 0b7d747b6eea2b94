/** Sums, means and extremes over axes; orders along one. */

import { int, type Tensor } from '../../layer-spec/layerDefinition.ts';
import { type AtenCall, each, flagAttribute, fromFront, type LowerAten, rankOf } from '../atenCall.ts';

/** Over the axes that the call names, else over all, in the type that it names. */
const reduction =
  (type: string): LowerAten =>
  (call) => {
    const self = call.tensor('self', 'input');
    return self && reduce(call, type, self, call.numbers('dim', []));
  };

function reduce(call: AtenCall, type: string, self: Tensor, axes: readonly number[]): ReturnType<LowerAten> {
  const isSum = type === 'ReduceSum' || type === 'ReduceProd' || type === 'ReduceMean';
  const input = isSum ? call.cast(self, call.results[0]?.elementType) : self;
  const keepdims = flagAttribute(call.flag('keepdim', false));
  return call.emit(type, [input, axes.length === 0 ? undefined : call.integers(axes)], { keepdims });
}

/** Of booleans: how many hold, at least one or all. */
const holds =
  (type: 'ReduceMax' | 'ReduceMin'): LowerAten =>
  (call) => {
    const self = call.tensor('self');
    if (self === undefined) return undefined;
    const reduced = reduce(call, type, call.cast(self, 'uint8'), call.numbers('dim', []));
    return reduced?.map((tensor) => call.cast(tensor, 'bool'));
  };

/** The extreme along one axis, and where it is. */
const extreme =
  (reduce: 'ReduceMax' | 'ReduceMin', position: 'ArgMax' | 'ArgMin'): LowerAten =>
  (call) => {
    const self = call.tensor('self');
    const axis = call.numberOr('dim', -1);
    if (self === undefined) return undefined;
    const keepdims = flagAttribute(call.flag('keepdim', false));
    return [
      ...call.emit(reduce, [self, call.integers([axis])], { keepdims }),
      ...call.emit(position, [self], { axis: int(axis), keepdims }),
    ];
  };

const position =
  (type: 'ArgMax' | 'ArgMin'): LowerAten =>
  (call) => {
    const self = call.tensor('self');
    if (self === undefined) return undefined;
    const axis = call.number('dim');
    const searched = axis === undefined ? call.emit('Reshape', [self, call.integers([-1])]) : [self];
    const keepdims = flagAttribute(call.flag('keepdim', false));
    return call.emit(type, searched, { axis: int(axis ?? 0), keepdims });
  };

/** Of the deviations from the mean, as the layer `var` of specs has it. */
const spread =
  (isRoot: boolean): LowerAten =>
  (call) => {
    const self = call.tensor('self');
    if (self === undefined) return undefined;
    const axes = call.numbers('dim', []);
    const over = axes.length === 0 ? undefined : call.integers(axes);
    const mean = call.emit('ReduceMean', [self, over], { keepdims: int(1) });
    const [apart] = call.emit('Sub', [self, ...mean]);
    const variance = reduce(call, 'ReduceMean', call.emit('Mul', [apart, apart])[0], axes);
    const found = variance && isRoot ? call.emit('Sqrt', variance) : variance;
    if (found === undefined || call.results.length < 2) return found;
    return [
      ...found,
      ...(call.flag('keepdim', false) ? mean : (reduce(call, 'ReduceMean', self, axes) ?? [])),
    ];
  };

const norm: LowerAten = (call) => {
  const self = call.tensor('self');
  const order = call.number('ord') ?? call.numberOr('p', 2);
  if (self === undefined || (order !== 1 && order !== 2)) return undefined;
  return reduce(call, order === 1 ? 'ReduceL1' : 'ReduceL2', self, call.numbers('dim', []));
};

const running =
  (type: 'CumSum' | 'CumProd'): LowerAten =>
  (call) => {
    const self = call.tensor('self');
    const axis = call.integers([call.numberOr('dim', 0)]);
    return self && call.emit(type, [call.cast(self, call.results[0]?.elementType), axis]);
  };

/** One kernel, whatever it is written as here. */
const runningLogarithm: LowerAten = (call) => {
  const self = call.tensor('self');
  const axis = call.integers([call.numberOr('dim', 0)]);
  return self && call.emit('Log', call.emit('CumSum', [...call.emit('Exp', [self]), axis]));
};

/** The `k` largest; a whole axis where it is sorted. */
const ordered =
  (kind: 'topk' | 'sort' | 'argsort'): LowerAten =>
  (call) => {
    const self = call.tensor('self');
    const rank = rankOf(self);
    if (self === undefined || rank === 0) return undefined;
    const axis = fromFront(call.numberOr('dim', -1), rank);
    const size = self.shape?.[axis];
    const count = kind === 'topk' ? call.number('k') : typeof size === 'number' ? size : undefined;
    const k = count === undefined ? size && call.sizes([size]) : call.integers([count]);
    if (k === undefined || typeof k === 'number') return undefined;
    const largest = flagAttribute(call.flag(kind === 'topk' ? 'largest' : 'descending', kind === 'topk'));
    const found = call.emitMany('TopK', [self, k], 2, { axis: int(axis), largest });
    return kind === 'argsort' ? found.slice(1) : found;
  };

export const reductionOperators: Readonly<Record<string, LowerAten>> = {
  ...each(['mean.dim', 'mean.default'], reduction('ReduceMean')),
  ...each(['sum.dim_IntList', 'sum.default'], reduction('ReduceSum')),
  ...each(['prod.dim_int', 'prod.default'], reduction('ReduceProd')),
  ...each(['amax.default', 'max.default'], reduction('ReduceMax')),
  ...each(['amin.default', 'min.default'], reduction('ReduceMin')),
  'logsumexp.default': reduction('ReduceLogSumExp'),
  ...each(['any.default', 'any.dim', 'any.dims', '_is_any_true.default'], holds('ReduceMax')),
  ...each(['all.default', 'all.dim', 'all.dims', '_is_all_true.default'], holds('ReduceMin')),
  'max.dim': extreme('ReduceMax', 'ArgMax'),
  'min.dim': extreme('ReduceMin', 'ArgMin'),
  // One kernel that finds a number and where it is.
  ...each(
    ['median.dim', 'nanmedian.dim', 'kthvalue.default', 'mode.default'],
    extreme('ReduceMax', 'ArgMax'),
  ),
  'argmax.default': position('ArgMax'),
  'argmin.default': position('ArgMin'),
  ...each(
    ['var.correction', 'var.dim', 'var.default', 'var_mean.correction', 'var_mean.dim', 'var_mean.default'],
    spread(false),
  ),
  ...each(
    ['std.correction', 'std.dim', 'std.default', 'std_mean.correction', 'std_mean.dim', 'std_mean.default'],
    spread(true),
  ),
  ...each(['linalg_vector_norm.default', 'norm.ScalarOpt_dim', 'norm.Scalar'], norm),
  'cumsum.default': running('CumSum'),
  'cumprod.default': running('CumProd'),
  'logcumsumexp.default': runningLogarithm,
  'topk.default': ordered('topk'),
  ...each(['sort.default', 'sort.stable'], ordered('sort')),
  ...each(['argsort.default', 'argsort.stable'], ordered('argsort')),
};
