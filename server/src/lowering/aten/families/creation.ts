/** Tensors that no other is computed into: filled, counted, and at random. */

import { type ElementType, elementTypes } from '../../../model/elementType.ts';
import { int, type Tensor } from '../../layer-spec/layerDefinition.ts';
import { type AtenCall, each, type LowerAten } from '../atenCall.ts';

/** Of the shape that the archive says. */
function filledWith(call: AtenCall, value: number, elementType: ElementType): ReturnType<LowerAten> {
  const sizes = call.shape && call.sizes(call.shape);
  if (sizes === undefined) return undefined;
  const literal = { name: 'value', elementType, dimensions: [1], elements: [value], storedBytes: 0 };
  return call.emit('ConstantOfShape', [sizes], { value: { kind: 'tensor', value: literal } });
}

const filled =
  (numberOf: (call: AtenCall) => number | undefined): LowerAten =>
  (call) => {
    const value = numberOf(call);
    const type = call.results[0]?.elementType;
    return value === undefined || type === undefined ? undefined : filledWith(call, value, type);
  };

/** Counts from a start: where the end is computed, it is the size of what comes out. */
const range: LowerAten = (call) => {
  const [length] = call.shape ?? [];
  const type = call.results[0]?.elementType ?? 'int64';
  const start = call.numberOr('start', 0);
  const step = call.numberOr('step', 1);
  if (length === undefined) return undefined;
  const end = call.number('end');
  if (end !== undefined) {
    const like = type === 'int32' || type === 'float32' || type === 'float64' ? type : 'int64';
    const bounds = [start, end, step].map((value) => call.scalar(value, like));
    return call.emit('Range', bounds).map((counted) => call.cast(counted, type));
  }
  const size = call.sizes([length]);
  if (size === undefined) return undefined;
  const count = call.emit('Squeeze', [size]);
  const counted = call.emit('Range', [call.scalar(0, 'int64'), ...count, call.scalar(1, 'int64')]);
  const spread = step === 1 ? counted : call.emit('Mul', [...counted, call.scalar(step, 'int64')]);
  const shifted = start === 0 ? spread : call.emit('Add', [...spread, call.scalar(start, 'int64')]);
  return shifted.map((tensor) => call.cast(tensor, type));
};

/** Evenly from one number to another: counts times a step. */
const spaced: LowerAten = (call) => {
  const steps = call.number('steps');
  const [start, end] = [call.number('start'), call.number('end')];
  const type = call.results[0]?.elementType;
  if (steps === undefined || start === undefined || end === undefined || type === undefined) return undefined;
  // Equal ends are as many numbers, too; which they are changes no cost.
  const step = (end - start) / Math.max(1, steps - 1) || 1;
  const bounds = [start, start + (steps - 0.5) * step, step];
  return call
    .emit(
      'Range',
      bounds.map((value) => call.scalar(value, 'float32')),
    )
    .map((counted) => call.cast(counted, type));
};

/** Powers of a base, evenly spaced in their exponents. */
const logarithmic: LowerAten = (call) => {
  const type = call.results[0]?.elementType;
  const exponents = spaced(call);
  const base = call.scalar(call.numberOr('base', 10), type ?? 'float32');
  return exponents?.flatMap((tensor) => call.emit('Pow', [base, tensor]));
};

const random =
  (type: 'RandomUniformLike' | 'RandomNormalLike'): LowerAten =>
  (call) => {
    const like = call.tensor('self') ?? filledWith(call, 0, call.results[0]?.elementType ?? 'float32')?.[0];
    return like && call.emit(type, [like]);
  };

/** Numbers at random, sorted: where each stood (aten/src/ATen/native/cuda/Randperm.cu). */
const permutation: LowerAten = (call) => {
  const [length] = call.shape ?? [];
  const size = length === undefined ? undefined : call.sizes([length]);
  const keys = filledWith(call, 0, 'float32');
  if (size === undefined || keys === undefined) return undefined;
  const drawn = call.emit('RandomUniformLike', keys);
  const [, places] = call.emitMany('TopK', [...drawn, size], 2, { axis: int(0) });
  return places && [call.cast(places, call.results[0]?.elementType)];
};

/** 0 and 1, by the chances that a tensor holds, or one for all. */
const bernoulli: LowerAten = (call) => {
  const rate = call.number('p');
  const chances: readonly Tensor[] | undefined =
    rate === undefined
      ? [call.tensor('self')].flatMap((tensor) => tensor ?? [])
      : filledWith(call, rate, call.results[0]?.elementType ?? 'float32');
  return chances?.length === 1 ? call.emit('Bernoulli', chances) : undefined;
};

/** Drawn in the type of the result, as one kernel does. */
const integers: LowerAten = (call) => {
  const like = filledWith(call, 0, 'float32');
  return like && [call.cast(call.emit('RandomUniformLike', like)[0], call.results[0]?.elementType)];
};

const window =
  (type: string): LowerAten =>
  (call) => {
    const length = call.number('window_length');
    return length === undefined ? undefined : call.emit(type, [call.scalar(length, 'int64')]);
  };

/** Places drawn by the chances that a tensor holds. */
const drawn: LowerAten = (call) => {
  const [self, count] = [call.tensor('self'), call.number('num_samples')];
  if (self === undefined || count === undefined) return undefined;
  const attributes = { sample_size: int(count), dtype: int(elementTypes.indexOf('int64')) };
  return call.emit('Multinomial', [self], attributes);
};

export const creationOperators: Readonly<Record<string, LowerAten>> = {
  ...each(
    ['zeros.default', 'zeros_like.default', 'new_zeros.default', 'zero_.default', 'zero.default'],
    filled(() => 0),
  ),
  ...each(
    [
      'empty.memory_format',
      'empty_like.default',
      'new_empty.default',
      'empty_strided.default',
      'empty_permuted.default',
    ],
    filled(() => 0),
  ),
  ...each(
    ['ones.default', 'ones_like.default', 'new_ones.default'],
    filled(() => 1),
  ),
  ...each(
    ['full.default', 'full_like.default', 'new_full.default'],
    filled((call) => call.number('fill_value')),
  ),
  ...each(
    ['fill.Scalar', 'fill_.Scalar'],
    filled((call) => call.number('value')),
  ),
  'scalar_tensor.default': (call) => {
    const [value, type] = [call.number('s'), call.results[0]?.elementType];
    return value === undefined || type === undefined ? undefined : [call.scalar(value, type)];
  },
  ...each(['arange.default', 'arange.start', 'arange.start_step'], range),
  // Which places they are, or are ones, changes no cost.
  ...each(
    ['tril_indices.default', 'triu_indices.default', 'eye.default', 'eye.m'],
    filled(() => 0),
  ),
  ...each(['randperm.default', 'randperm.generator'], permutation),
  'linspace.default': spaced,
  'logspace.default': logarithmic,
  ...each(
    ['rand.default', 'rand_like.default', 'uniform_.default', 'uniform.default'],
    random('RandomUniformLike'),
  ),
  ...each(['randn.default', 'randn_like.default', 'normal_.default'], random('RandomNormalLike')),
  ...each(['randint.low', 'randint.default', 'randint_like.default', 'randint_like.low_dtype'], integers),
  ...each(['hann_window.default', 'hann_window.periodic'], window('HannWindow')),
  ...each(['hamming_window.default', 'hamming_window.periodic'], window('HammingWindow')),
  'multinomial.default': drawn,
  ...each(['bernoulli.default', 'bernoulli_.float', 'bernoulli.p'], bernoulli),
};
