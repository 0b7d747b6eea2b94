/** Views, joins and repeats: the same elements in another shape or order. */

import { type Dimension, divideExactly, equalDimensions } from '../../../model/dimension.ts';
import { int, ints, type Tensor, text } from '../../layer-spec/layerDefinition.ts';
import { type AtenCall, each, fromFront, type LowerAten, rankOf } from '../atenCall.ts';

/** To the shape that the archive says. */
const reshape: LowerAten = (call) => {
  const input = call.tensor('self', 'input');
  return input && call.shape && reshaped(call, input, call.shape);
};

/** 0 keeps an open size where it stands, −1 stands for one that is left; more are read from tensors at hand. */
function reshaped(call: AtenCall, input: Tensor, shape: readonly Dimension[]): ReturnType<LowerAten> {
  const sizes = shape.map((size, axis) => {
    if (typeof size === 'number') return size;
    const before = input.shape?.[axis];
    return before !== undefined && equalDimensions(before, size) ? 0 : -1;
  });
  // A tensor without elements has a size of 0, which ONNX otherwise takes for the input's.
  const isEmpty = shape.includes(0);
  const isOpen = sizes.filter((size) => size === -1).length > 1;
  const target = isOpen || isEmpty ? call.sizes(shape) : call.integers(sizes);
  return target && call.emit('Reshape', [input, target], isEmpty ? { allowzero: int(1) } : {});
}

/** A tensor whose axes change places by `orderOf`, from old axes in their new order. */
const permuted =
  (orderOf: (call: AtenCall, rank: number) => readonly number[] | undefined): LowerAten =>
  (call) => {
    const input = call.tensor('self', 'input');
    const rank = input?.shape?.length;
    const order = rank === undefined ? undefined : orderOf(call, rank);
    return order && call.emit('Transpose', [input], { perm: ints(order) });
  };

const swapped = (first: string | number, second: string | number): LowerAten =>
  permuted((call, rank) => {
    const placeOf = (axis: string | number): number =>
      fromFront(typeof axis === 'number' ? axis : call.numberOr(axis, 0), rank);
    const [one, other] = [placeOf(first), placeOf(second)];
    return Array.from({ length: rank }, (_, axis) => (axis === one ? other : axis === other ? one : axis));
  });

/** Matrices; what has one axis stays. */
const transposed: LowerAten = (call) => {
  const self = call.tensor('self');
  return rankOf(self) < 2 ? self && [self] : swapped(0, 1)(call);
};

const moved = permuted((call, rank) => {
  const from = call.numbers('source', []).map((axis) => fromFront(axis, rank));
  const to = call.numbers('destination', []).map((axis) => fromFront(axis, rank));
  const rest = Array.from({ length: rank }, (_, axis) => axis).filter((axis) => !from.includes(axis));
  const order = Array.from({ length: rank }, (_, axis) => {
    const at = to.indexOf(axis);
    return at < 0 ? rest.shift() : from[at];
  });
  return order.map((axis) => axis ?? 0);
});

const concatenate: LowerAten = (call) => {
  const tensors = call.list('tensors');
  if (tensors === undefined || tensors.length === 0) return undefined;
  const type = call.results[0]?.elementType;
  const axis = int(call.numberOr('dim', 0));
  return call.emit(
    'Concat',
    tensors.map((tensor) => call.cast(tensor, type)),
    { axis },
  );
};

const stack: LowerAten = (call) => {
  const tensors = call.list('tensors');
  const rank = call.shape?.length;
  if (tensors === undefined || tensors.length === 0 || rank === undefined) return undefined;
  const axis = fromFront(call.numberOr('dim', 0), rank);
  const apart = tensors.flatMap((tensor) => call.emit('Unsqueeze', [tensor, call.integers([axis])]));
  return call.emit('Concat', apart, { axis: int(axis) });
};

const expand: LowerAten = (call) => {
  const [self, sizes] = [call.tensor('self'), call.shape && call.sizes(call.shape)];
  return self && sizes && call.emit('Expand', [self, sizes]);
};

/** As often along each axis as the call says, where the archive says what comes out. */
const repeat: LowerAten = (call) => {
  const self = call.tensor('self');
  const rank = rankOf(self);
  const given = call.numbers('repeats', call.numbers('dims', []));
  if (self?.shape === undefined || given.length === 0) return broadcast(call, self);
  const times = [...Array.from({ length: Math.max(0, rank - given.length) }, () => 1), ...given];
  const missing = times.length - rank;
  const own = missing > 0 ? [...times.slice(0, missing).map(() => 1), ...self.shape] : self.shape;
  const input = missing > 0 ? reshaped(call, self, own) : [self];
  return input && call.emit('Tile', [...input, call.integers(times)]);
};

/** A repeat by an open count: of axes of size 1 it is a broadcast, of others one along an axis before each. */
function broadcast(call: AtenCall, self: Tensor | undefined): ReturnType<LowerAten> {
  const shape = call.shape;
  if (self?.shape === undefined || shape === undefined) return undefined;
  const missing = shape.length - self.shape.length;
  const own: readonly Dimension[] = [...shape.slice(0, Math.max(0, missing)).map(() => 1), ...self.shape];
  const times = shape.map((size, axis) => divideExactly(size, own[axis] ?? 1));
  const known = times.flatMap((count) => count ?? []);
  if (known.length < times.length) return undefined;
  if (known.every((count, axis) => count === 1 || own[axis] === 1)) {
    const sizes = call.sizes(shape);
    return sizes && call.emit('Expand', [self, sizes]);
  }
  const apart = reshaped(
    call,
    self,
    own.flatMap((size) => [1, size]),
  );
  const spread = call.sizes(known.flatMap((count, axis) => [count, own[axis] ?? 1]));
  if (apart === undefined || spread === undefined) return undefined;
  return reshaped(call, call.emit('Expand', [...apart, spread])[0], shape);
}

/** Each element `repeats` times: a new axis that is repeated, and merged. */
const interleaved: LowerAten = (call) => {
  const self = call.tensor('self');
  const times = call.number('repeats');
  const axis = call.number('dim');
  if (self?.shape === undefined || times === undefined || axis === undefined || call.shape === undefined)
    return undefined;
  const place = fromFront(axis, self.shape.length) + 1;
  const apart = call.emit('Unsqueeze', [self, call.integers([place])]);
  const counts = Array.from({ length: self.shape.length + 1 }, (_, at) => (at === place ? times : 1));
  const [tiled] = call.emit('Expand', [...apart, call.integers(counts)]);
  return reshaped(call, tiled, call.shape);
};

const flip: LowerAten = (call) => {
  const self = call.tensor('self');
  const axes = call.numbers('dims', []);
  if (self === undefined || axes.length === 0) return undefined;
  const all = (value: number) => call.integers(axes.map(() => value));
  return call.emit('Slice', [self, all(-1), all(-(2 ** 31)), call.integers(axes), all(-1)]);
};

/** What falls off at one end comes back at the other: two slices that change places. Without axes all elements are one row. */
const roll: LowerAten = (call) => {
  const self = call.tensor('self');
  const axes = call.numbers('dims', []);
  const shifts = call.numbers('shifts', []);
  if (self?.shape === undefined) return undefined;
  if (axes.length > 0) return rolled(call, self, axes, shifts);
  const sizes = call.sizes(self.shape);
  const [row] = call.emit('Reshape', [self, call.integers([-1])]);
  const [turned] = rolled(call, row, [0], shifts) ?? [];
  return turned && sizes && call.emit('Reshape', [turned, sizes]);
};

function rolled(
  call: AtenCall,
  self: Tensor,
  axes: readonly number[],
  shifts: readonly number[],
): readonly Tensor[] | undefined {
  let output = self;
  if (self.shape === undefined || axes.length !== shifts.length) return undefined;
  for (const [index, given] of axes.entries()) {
    const axis = fromFront(given, self.shape.length);
    const size = self.shape[axis];
    if (typeof size !== 'number') return undefined;
    const start = size === 0 ? 0 : ((-(shifts[index] ?? 0) % size) + size) % size;
    if (start === 0) continue;
    const sizes = call.integers([start, size - start]);
    // One kernel each way, as a split and a join are.
    const [front, back] = call.emitMany('Split', [output, sizes], 2, { axis: int(axis) }) ?? [];
    [output] = call.emit('Concat', [back, front], { axis: int(axis) });
  }
  return [output];
}

const padModes: Readonly<Record<string, string>> = {
  constant: 'constant',
  reflect: 'reflect',
  replicate: 'edge',
  circular: 'wrap',
};

/** (before, after) from the last axis on. */
const pad =
  (mode?: string): LowerAten =>
  (call) => {
    const self = call.tensor('self');
    const amounts = call.numbers('pad', call.numbers('padding', []));
    const name = padModes[mode ?? call.text('mode') ?? 'constant'];
    if (self?.shape === undefined || amounts.length === 0 || name === undefined) return undefined;
    const [before, after] = [self.shape.map(() => 0), self.shape.map(() => 0)];
    for (const [index, amount] of amounts.entries()) {
      const axis = self.shape.length - 1 - Math.floor(index / 2);
      (index % 2 === 0 ? before : after)[axis] = amount;
    }
    const value = call.numberOr('value', 0);
    const filled =
      name === 'constant' && value !== 0 ? [call.scalar(value, self.elementType ?? 'float32')] : [];
    return call.emit('Pad', [self, call.integers([...before, ...after]), ...filled], { mode: text(name) });
  };

/** Channels as blocks of pixels, and back. */
const shuffle =
  (type: 'DepthToSpace' | 'SpaceToDepth', factor: string): LowerAten =>
  (call) => {
    const self = call.tensor('self');
    const blocksize = call.number(factor);
    if (self?.shape?.length !== 4 || blocksize === undefined) return undefined;
    const mode = type === 'DepthToSpace' ? { mode: text('CRD') } : {};
    return call.emit(type, [self], { blocksize: int(blocksize), ...mode });
  };

/** Axes of all operands, in their order, each expanded over all. */
const mesh: LowerAten = (call) => {
  const tensors = call.list('tensors');
  const shape = call.shape;
  if (tensors === undefined || shape === undefined) return undefined;
  const isSwapped = call.text('indexing') === 'xy';
  const sizes = call.sizes(shape);
  const results = tensors.map((tensor, index) => {
    const axis = isSwapped && index < 2 ? 1 - index : index;
    const apart = reshaped(
      call,
      tensor,
      shape.map((size, at) => (at === axis ? size : 1)),
    );
    return sizes && apart && call.emit('Expand', [...apart, sizes])[0];
  });
  const found = results.flatMap((tensor) => tensor ?? []);
  return found.length === tensors.length ? found : undefined;
};

const broadcastAll: LowerAten = (call) => {
  const tensors = call.list('tensors');
  const sizes = call.shape && call.sizes(call.shape);
  return sizes && tensors?.flatMap((tensor) => call.emit('Expand', [tensor, sizes]));
};

const views = [
  ...['view.default', 'reshape.default', 'flatten.using_ints', 'unflatten.int', 'unsqueeze.default'],
  ...['squeeze.dim', 'squeeze.dims', 'squeeze.default', 'reshape_as.default', 'view_as.default'],
  ...['_unsafe_view.default', '_reshape_alias.default', 'unsqueeze_.default', 'squeeze_.dim'],
  ...['ravel.default', 'view_copy.default', 'atleast_1d.default', 'atleast_2d.default'],
];

export const layoutOperators: Readonly<Record<string, LowerAten>> = {
  ...each(views, reshape),
  ...each(
    ['permute.default', 'permute_copy.default'],
    permuted((call, rank) => call.numbers('dims', []).map((axis) => fromFront(axis, rank))),
  ),
  ...each(['transpose.int', 'transpose_.default', 'swapdims.default'], swapped('dim0', 'dim1')),
  'swapaxes.default': swapped('axis0', 'axis1'),
  ...each(['t.default', 't_.default', 'numpy_T.default'], transposed),
  ...each(['mT.default', 'mH.default', 'adjoint.default', 'matrix_H.default'], swapped(-2, -1)),
  ...each(['movedim.int', 'movedim.intlist', 'moveaxis.int'], moved),
  ...each(['cat.default', 'concat.default', 'concatenate.default'], concatenate),
  'stack.default': stack,
  ...each(['expand.default', 'expand_as.default', 'broadcast_to.default'], expand),
  ...each(['repeat.default', 'tile.default'], repeat),
  'repeat_interleave.self_int': interleaved,
  'flip.default': flip,
  'roll.default': roll,
  ...each(['pad.default', 'constant_pad_nd.default'], pad()),
  ...each(
    ['reflection_pad1d.default', 'reflection_pad2d.default', 'reflection_pad3d.default'],
    pad('reflect'),
  ),
  ...each(['replication_pad1d.default', 'replication_pad2d.default'], pad('replicate')),
  'replication_pad3d.default': pad('replicate'),
  'pixel_shuffle.default': shuffle('DepthToSpace', 'upscale_factor'),
  'pixel_unshuffle.default': shuffle('SpaceToDepth', 'downscale_factor'),
  'broadcast_tensors.default': broadcastAll,
  ...each(['meshgrid.default', 'meshgrid.indexing'], mesh),
};
