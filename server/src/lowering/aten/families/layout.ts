/** Views, joins, means and pooling. */

import { equalDimensions } from '../../../model/dimension.ts';
import { int, ints, type Tensor } from '../../layer-spec/layerDefinition.ts';
import { type AtenCall, bothSides, flagAttribute, type LowerAten, perAxis } from '../atenCall.ts';

/** To the shape that the archive says: 0 keeps an open size where it stands, −1 stands for one that is left. */
const reshape =
  (name: string): LowerAten =>
  (call) => {
    const input = call.tensor(name);
    if (call.shape === undefined || input === undefined) return undefined;
    const sizes = call.shape.map((size, axis) => {
      if (typeof size === 'number') return size;
      const before = input.shape?.[axis];
      return before !== undefined && equalDimensions(before, size) ? 0 : -1;
    });
    if (sizes.filter((size) => size === -1).length > 1) return undefined;
    return call.emit('Reshape', [input, call.integers(sizes)]);
  };

const permute: LowerAten = (call) => {
  const input = call.tensor('self');
  const rank = input?.shape?.length;
  if (rank === undefined) return undefined;
  return call.emit('Transpose', [input], {
    perm: ints(call.numbers('dims', []).map((axis) => fromFront(axis, rank))),
  });
};

const transpose: LowerAten = (call) => {
  const input = call.tensor('self');
  const rank = input?.shape?.length ?? 0;
  const [first, second] = [
    fromFront(call.number('dim0') ?? 0, rank),
    fromFront(call.number('dim1') ?? 0, rank),
  ];
  const order = Array.from({ length: rank }, (_, axis) =>
    axis === first ? second : axis === second ? first : axis,
  );
  return input && call.emit('Transpose', [input], { perm: ints(order) });
};

const mean: LowerAten = (call) => {
  const axes = call.numbers('dim', []);
  if (axes.length === 0) return undefined;
  const attributes = { keepdims: flagAttribute(call.flag('keepdim', false)) };
  return call.emit('ReduceMean', [call.tensor('self'), call.integers(axes)], attributes);
};

/** Into parts of `length`, of which the last may be shorter. */
const split =
  (lengthOf: (call: AtenCall, whole: number) => number | undefined): LowerAten =>
  (call) => {
    const input = call.tensor('self');
    const axis = call.number('dim') ?? 0;
    const whole = input?.shape?.at(axis);
    if (input === undefined || typeof whole !== 'number') return undefined;
    const length = lengthOf(call, whole);
    if (length === undefined || length < 1) return undefined;
    const count = Math.ceil(whole / length);
    const sizes = Array.from({ length: count }, (_, part) => Math.min(length, whole - part * length));
    return call.emitMany('Split', [input, call.integers(sizes)], count, { axis: int(axis) });
  };

const chunkLength = (call: AtenCall, whole: number): number | undefined => {
  const count = call.number('chunks');
  return count === undefined ? undefined : Math.ceil(whole / count);
};

const pool = (call: AtenCall, type: 'MaxPool' | 'AveragePool', axes: number): ReturnType<LowerAten> => {
  const input = call.tensor('self');
  const kernel = perAxis(call.numbers('kernel_size', []), axes);
  if (input?.shape?.length !== axes + 2 || kernel.length !== axes) return undefined;
  return call.emit(type, [input], {
    kernel_shape: ints(kernel),
    strides: ints(perAxis(call.numbers('stride', kernel), axes)),
    pads: bothSides(perAxis(call.numbers('padding', [0]), axes)),
    ceil_mode: flagAttribute(call.flag('ceil_mode', false)),
    ...(type === 'MaxPool'
      ? { dilations: ints(perAxis(call.numbers('dilation', [1]), axes)) }
      : { count_include_pad: flagAttribute(call.flag('count_include_pad', true)) }),
  });
};

/** To one element per channel; to more it is pooling, where the sizes divide. */
const adaptiveAverage: LowerAten = (call) => {
  const input = call.tensor('self');
  const sizes = call.numbers('output_size', []);
  if (sizes.every((size) => size === 1)) return call.emit('GlobalAveragePool', [input]);
  const before = input?.shape?.slice(-2) ?? [];
  const kernel = sizes.map((size, axis) => Number(before[axis]) / size);
  if (!kernel.every((size) => Number.isInteger(size) && size > 0)) return undefined;
  return call.emit('AveragePool', [input], { kernel_shape: ints(kernel), strides: ints(kernel) });
};

const concatenate: LowerAten = (call) => {
  const tensors: readonly Tensor[] | undefined = call.list('tensors');
  return tensors && call.emit('Concat', tensors, { axis: int(call.number('dim') ?? 0) });
};

const select: LowerAten = (call) => {
  const index = call.integers([call.number('index') ?? 0]);
  const axis = call.number('dim') ?? 0;
  const picked = call.emit('Gather', [call.tensor('self'), index], { axis: int(axis) });
  return call.emit('Squeeze', [...picked, call.integers([axis])]);
};

const expand: LowerAten = (call) => {
  const sizes = call.shape && call.sizes(call.shape);
  return sizes && call.emit('Expand', [call.tensor('self'), sizes]);
};

/** Bounds that are computed have no counterpart here. */
const slice: LowerAten = (call) => {
  const bounds = ['start', 'end'].map((name) => (call.has(name) ? call.number(name) : null));
  const [start, end] = bounds;
  if (start === undefined || end === undefined) return undefined;
  const axis = call.number('dim') ?? 0;
  const parts = [start ?? 0, end ?? Number.MAX_SAFE_INTEGER, axis, call.number('step') ?? 1];
  const clipped = parts.map((part) => call.integers([Math.min(part, Number.MAX_SAFE_INTEGER)]));
  return call.emit('Slice', [call.tensor('self'), ...clipped]);
};

const fromFront = (axis: number, rank: number): number => (axis < 0 ? axis + rank : axis);

export const layoutOperators: Readonly<Record<string, LowerAten>> = {
  'view.default': reshape('self'),
  'reshape.default': reshape('self'),
  'flatten.using_ints': reshape('self'),
  'unflatten.int': reshape('self'),
  'unsqueeze.default': reshape('self'),
  'squeeze.dim': reshape('self'),
  'permute.default': permute,
  'transpose.int': transpose,
  'mean.dim': mean,
  'split.Tensor': split((call) => call.number('split_size')),
  'chunk.default': split(chunkLength),
  'max_pool2d.default': (call) => pool(call, 'MaxPool', 2),
  'avg_pool2d.default': (call) => pool(call, 'AveragePool', 2),
  'adaptive_avg_pool2d.default': adaptiveAverage,
  'cat.default': concatenate,
  'select.int': select,
  'expand.default': expand,
  'slice.Tensor': slice,
};
