/** Parts of tensors, by range or by index, and writes into them. */

import { itemAt } from '../../../model/at.ts';
import { countElements } from '../../../model/countElements.ts';
import { type Dimension, printDimension } from '../../../model/dimension.ts';
import { ownDomain } from '../../../operators/vocabulary/define.ts';
import { int, ints, type Tensor, text } from '../../layer-spec/layerDefinition.ts';
import { type AtenCall, each, fromFront, type LowerAten, rankOf } from '../atenCall.ts';

/** Into parts of `length`, of which the last may be shorter. */
const split =
  (sizesOf: (call: AtenCall, whole: number) => readonly number[] | undefined): LowerAten =>
  (call) => {
    const input = call.tensor('self');
    const axis = call.numberOr('dim', 0);
    const whole = input?.shape?.at(axis);
    const sizes = typeof whole === 'number' ? sizesOf(call, whole) : undefined;
    if (input === undefined || sizes === undefined || sizes.some((size) => !(size >= 0))) return undefined;
    if (sizes.length === 1) return [input];
    return call.emitMany('Split', [input, call.integers(sizes)], sizes.length, { axis: int(axis) });
  };

/** More parts than this are no model's; each is a tensor. */
const mostParts = 4096;

const parts = (whole: number, length: number | undefined): readonly number[] | undefined => {
  if (length === undefined || length < 1 || whole / length > mostParts) return undefined;
  const count = Math.max(1, Math.ceil(whole / length));
  return Array.from({ length: count }, (_, part) => Math.min(length, whole - part * length));
};

/** As even as can be: the first ones are one longer. */
const sections = (whole: number, count: number | undefined): readonly number[] | undefined =>
  count === undefined || count < 1 || count > mostParts
    ? undefined
    : Array.from({ length: count }, (_, part) => Math.floor(whole / count) + (part < whole % count ? 1 : 0));

/** Between the places where it is cut. */
const between = (whole: number, places: readonly number[]): readonly number[] | undefined => {
  if (places.length === 0 || places.length >= mostParts) return undefined;
  const cuts = places.map((place) => Math.min(whole, Math.max(0, place < 0 ? place + whole : place)));
  const edges = [0, ...cuts, whole];
  return edges.slice(1).map((edge, part) => edge - itemAt(edges, part));
};

const unbind: LowerAten = (call) => {
  const axis = call.integers([call.numberOr('dim', 0)]);
  const apart = split((_, whole) => parts(whole, 1))(call);
  return apart?.flatMap((part) => call.emit('Squeeze', [part, axis]));
};

const select: LowerAten = (call) => {
  const self = call.tensor('self');
  // Which entry is taken changes no cost, so that one that the step computes is the first; sizes are read from integers.
  const known = call.number('index');
  const index = known ?? (self?.elementType?.startsWith('float') ? 0 : undefined);
  if (self === undefined || index === undefined) return undefined;
  return call.emit('Gather', [self, call.scalar(index, 'int64')], { axis: int(call.numberOr('dim', 0)) });
};

const sliceOf = (
  call: AtenCall,
  self: Tensor | undefined,
  bounds: readonly (number | Tensor)[],
): readonly [Tensor] =>
  call.emit('Slice', [
    self,
    ...bounds.map((bound) => (typeof bound === 'number' ? call.integers([bound]) : bound)),
  ]);

/** An end that is computed is the size of what comes out, behind a start that is a number. */
const slice: LowerAten = (call) => {
  const self = call.tensor('self');
  const start = call.has('start') ? call.number('start') : 0;
  const given = call.has('end') ? call.number('end') : Number.MAX_SAFE_INTEGER;
  const axis = call.numberOr('dim', 0);
  const size = call.shape?.at(axis);
  if (self === undefined || start === undefined || size === undefined) return undefined;
  const isFromFront = start === 0 && call.numberOr('step', 1) === 1;
  const end =
    given === undefined
      ? isFromFront
        ? call.sizes([size])
        : undefined
      : Math.min(given, Number.MAX_SAFE_INTEGER);
  if (end === undefined) return undefined;
  if (start === 0 && end === Number.MAX_SAFE_INTEGER && isFromFront) return [self];
  return sliceOf(call, self, [start, end, axis, call.numberOr('step', 1)]);
};

const narrow: LowerAten = (call) => {
  const [start, length] = [call.number('start'), call.number('length')];
  if (start === undefined || length === undefined) return undefined;
  return sliceOf(call, call.tensor('self'), [start, start + length, call.numberOr('dim', 0)]);
};

/** Differences of neighbours. */
const difference: LowerAten = (call) => {
  const self = call.tensor('self');
  const axis = call.numberOr('dim', -1);
  if (self === undefined || call.numberOr('n', 1) !== 1) return undefined;
  const around = [call.tensor('prepend'), self, call.tensor('append')].flatMap((part) => part ?? []);
  const [whole] = around.length === 1 ? [self] : call.emit('Concat', around, { axis: int(axis) });
  const later = sliceOf(call, whole, [1, Number.MAX_SAFE_INTEGER, axis]);
  return call.emit('Sub', [...later, ...sliceOf(call, whole, [0, -1, axis])]);
};

/** A list of indices, one per axis from the front, with gaps; several are one coordinate after the other. */
const index: LowerAten = (call) => {
  const self = call.tensor('self');
  const given = call.optionalList('indices');
  const axes = given?.flatMap((entry, axis) => (entry === undefined ? [] : [axis]));
  const [first, ...others] = given?.flatMap((entry) => entry ?? []) ?? [];
  if (self === undefined || first === undefined || axes === undefined) return undefined;
  if (first.elementType === 'bool') return others.length === 0 ? masked(call, self, first) : undefined;
  if (others.length === 0) return call.emit('Gather', [self, first], { axis: int(itemAt(axes, 0)) });
  const coordinates = joined(call, [first, ...others]);
  const taken = coordinates && call.emit('GatherND', [toFront(call, self, axes), coordinates]);
  return taken && intoPlace(call, taken[0], axes, (coordinates?.shape?.length ?? 1) - 1);
};

/** Indexed axes first. */
function toFront(call: AtenCall, self: Tensor, axes: readonly number[]): Tensor {
  if (axes.every((axis, at) => axis === at)) return self;
  const rest = (self.shape ?? []).flatMap((_, axis) => (axes.includes(axis) ? [] : [axis]));
  return call.emit('Transpose', [self], { perm: ints([...axes, ...rest]) })[0];
}

/** What replaces axes that stand together stands where they did; else it stays in front. */
function intoPlace(call: AtenCall, taken: Tensor, axes: readonly number[], count: number): readonly [Tensor] {
  const [first = 0] = axes;
  const isTogether = axes.every((axis, at) => axis === first + at);
  if (first === 0 || !isTogether) return [taken];
  const rank = rankOf(taken);
  const rest = Array.from({ length: rank - count }, (_, axis) => axis + count);
  const own = Array.from({ length: count }, (_, axis) => axis);
  const order = [...rest.slice(0, first), ...own, ...rest.slice(first)];
  return call.emit('Transpose', [taken], { perm: ints(order) });
}

/** Indices that broadcast with each other, as coordinates in a new last axis. */
function joined(call: AtenCall, indices: readonly Tensor[]): Tensor | undefined {
  const rank = Math.max(...indices.map((own) => rankOf(own)));
  const sizes = Array.from({ length: rank }, (_, axis) => {
    const found = indices.flatMap((own) => own.shape?.[axis - rank + rankOf(own)] ?? []);
    return found.find((size) => size !== 1) ?? 1;
  });
  const isOne = (shape: Tensor['shape']) =>
    shape?.length === rank &&
    shape.every((size, axis) => printDimension(size) === printDimension(sizes[axis] ?? 1));
  const whole = indices.every(({ shape }) => isOne(shape)) ? undefined : call.sizes(sizes);
  if (whole === undefined && !indices.every(({ shape }) => isOne(shape))) return undefined;
  const columns = indices.flatMap((tensor) => {
    const spread = isOne(tensor.shape) ? [tensor] : call.emit('Expand', [tensor, whole]);
    return call.emit('Unsqueeze', [...spread, call.integers([-1])]);
  });
  return call.emit('Concat', columns, { axis: int(-1) })[0];
}

/** Elements where a mask holds: how many is known when the model runs. */
const masked = (call: AtenCall, self: Tensor, mask: Tensor): readonly Tensor[] =>
  call.emit('GatherND', [self, ...placesOf(call, mask)]);

const placesOf = (call: AtenCall, mask: Tensor): readonly [Tensor] =>
  call.emit('Transpose', call.emit('NonZero', [mask]));

/** Elements where a mask holds, replaced by those of a list in their order. */
const maskedScatter: LowerAten = (call) => {
  const given = [call.tensor('self'), call.tensor('mask'), call.tensor('source')];
  return given.includes(undefined) ? undefined : call.emitMany('MaskedScatter', given, 1, {}, ownDomain);
};

/**
 * Rows of a tensor where a mask of its first axes holds: a number or one row for all of them, or rows in their order, of which only the
 * step knows how many there are.
 */
function putWhere(
  call: AtenCall,
  { self, mask, values }: Readonly<Record<'self' | 'mask' | 'values', Tensor>>,
): readonly Tensor[] | undefined {
  const { shape } = values;
  if (self.shape === undefined || mask.shape === undefined || shape === undefined) return undefined;
  const inner = self.shape.length - mask.shape.length;
  const axes = call.integers(Array.from({ length: inner }, (_, axis) => axis - inner));
  const [held] = inner === 0 ? [mask] : call.emit('Unsqueeze', [mask, axes]);
  if (shape.length <= inner || shape[0] === 1) return call.emit('Where', [held, values, self]);
  const sizes = call.sizes(self.shape);
  if (shape.length !== inner + 1 || sizes === undefined) return undefined;
  const whole = inner === 0 ? [held] : call.emit('Expand', [held, sizes]);
  return call.emitMany('MaskedScatter', [self, ...whole, values], 1, {}, ownDomain);
}

/** What is written at several places is one value for all where it has fewer axes. */
function expandedTo(call: AtenCall, values: Tensor, shape: readonly Dimension[]): Tensor | undefined {
  const sizes = call.sizes(shape);
  return sizes && call.emit('Expand', [values, sizes])[0];
}

/** Where a mask holds, or at coordinates; values stand as the elements that they replace. */
const indexPut: LowerAten = (call) => {
  const [self, values] = [call.tensor('self'), call.tensor('values')];
  const given = call.optionalList('indices') ?? [];
  const indices = given.flatMap((entry) => entry ?? []);
  const axes = given.flatMap((entry, axis) => (entry === undefined ? [] : [axis]));
  const [front] = axes;
  if (self === undefined || values === undefined || front === undefined) return undefined;
  const [first, ...others] = indices;
  if (first?.elementType === 'bool') {
    const isOne = others.length === 0 && front === 0 && !call.flag('accumulate', false);
    return isOne ? putWhere(call, { self, mask: first, values }) : undefined;
  }
  const places = joined(call, indices);
  const count = (places?.shape?.length ?? 1) - 1;
  const isFront = axes.every((axis, at) => axis === at);
  const isTogether = axes.every((axis, at) => axis === front + at);
  if (places?.shape === undefined || self.shape === undefined || !isTogether) return undefined;
  const shape = self.shape.toSpliced(front, axes.length, ...places.shape.slice(0, -1));
  const whole = values.shape?.length === shape.length ? values : expandedTo(call, values, shape);
  if (whole === undefined) return undefined;
  const reduction = text(call.flag('accumulate', false) ? 'add' : 'none');
  const own = Array.from({ length: count }, (_, axis) => axis + front);
  const updates = isFront ? whole : toFront(call, whole, own);
  const [written] = call.emit('ScatterND', [toFront(call, self, axes), places, updates], { reduction });
  return intoPlace(call, written, axes, axes.length);
};

/** Every `step`th position of an axis, written one by one. */
function everyFew(
  call: AtenCall,
  self: Tensor,
  source: Tensor,
  { axis, start, end, step }: Readonly<Record<'axis' | 'start' | 'end' | 'step', number>>,
): readonly Tensor[] | undefined {
  const places: number[] = [];
  for (let place = start; step > 0 && place < end && places.length <= mostPlaces; place += step)
    places.push(place);
  if (start < 0 || end < 0 || places.length === 0 || places.length > mostPlaces) return undefined;
  const at = call.emit('Reshape', [call.integers(places), call.integers([places.length, 1])]);
  if (self.shape === undefined) return undefined;
  const axes = [fromFront(axis, self.shape.length)];
  const written = call.emit('ScatterND', [toFront(call, self, axes), ...at, toFront(call, source, axes)]);
  return intoPlace(call, written[0], axes, 1);
}

/** A tensor with one range, or one position, of an axis replaced: what is before, the new, what is behind. */
const replaced =
  (isRange: boolean): LowerAten =>
  (call) => {
    const [self, source] = [call.tensor('self'), call.tensor('src')];
    const axis = call.numberOr('dim', 0);
    const size = self?.shape?.at(axis);
    const start = isRange ? (call.has('start') ? call.number('start') : 0) : call.number('index');
    if (self === undefined || source === undefined || typeof size !== 'number' || start === undefined)
      return undefined;
    const end = isRange ? (call.has('end') ? call.number('end') : size) : start + 1;
    if (typeof end !== 'number') return undefined;
    const step = call.numberOr('step', 1);
    if (step !== 1) return everyFew(call, self, source, { axis, start, end: Math.min(size, end), step });
    const inside = (bound: number): number => Math.min(size, bound < 0 ? bound + size : bound);
    const [from, to] = [inside(start), inside(end)];
    const middle = isRange ? [source] : call.emit('Unsqueeze', [source, call.integers([axis])]);
    const pieces = [
      ...(from === 0 ? [] : sliceOf(call, self, [0, from, axis])),
      ...middle,
      ...(to === size ? [] : sliceOf(call, self, [to, size, axis])),
    ];
    return pieces.length === 1 ? pieces : call.emit('Concat', pieces, { axis: int(axis) });
  };

const gather: LowerAten = (call) => {
  const [self, places] = [call.tensor('self'), call.tensor('index')];
  const axis = int(call.numberOr('dim', 0));
  return self && places && call.emit('GatherElements', [self, places], { axis });
};

const indexSelect: LowerAten = (call) => {
  const [self, places] = [call.tensor('self'), call.tensor('index')];
  return self && places && call.emit('Gather', [self, places], { axis: int(call.numberOr('dim', 0)) });
};

const reductionNames: Readonly<Record<string, string>> = {
  sum: 'add',
  mean: 'mean',
  prod: 'mul',
  amax: 'max',
  amin: 'min',
};

const scatter =
  (reduction: string | undefined): LowerAten =>
  (call) => {
    const [self, places] = [call.tensor('self'), call.tensor('index')];
    const source = call.tensor('src') ?? call.operand('value', self);
    const named = reduction ?? reductionNames[call.text('reduce') ?? ''];
    if (self === undefined || places?.shape === undefined || source === undefined || named === undefined)
      return undefined;
    const isOne = source.shape?.length === 0;
    const sizes = isOne ? call.sizes(places.shape) : undefined;
    if (isOne && sizes === undefined) return undefined;
    const updates = isOne ? call.emit('Expand', [source, sizes]) : [source];
    const axis = int(call.numberOr('dim', 0));
    const attributes = { axis, reduction: text(named) };
    return named === 'mean'
      ? call.emitMany('ScatterReduce', [self, places, ...updates], 1, attributes, ownDomain)
      : call.emit('ScatterElements', [self, places, ...updates], attributes);
  };

/** As `scatter_reduce` of whole rows: the index holds for all of a row. */
const reduceRows: LowerAten = (call) => {
  const [self, places, source] = [call.tensor('self'), call.tensor('index'), call.tensor('source')];
  const reduction = reductionNames[call.text('reduce') ?? ''];
  if (self === undefined || places === undefined || source?.shape === undefined || reduction === undefined)
    return undefined;
  const axis = fromFront(call.numberOr('dim', 0), source.shape.length);
  const rest = source.shape.map((_, at) => at).filter((at) => at !== axis);
  const sizes = call.sizes(source.shape);
  if (sizes === undefined) return undefined;
  const [column] = rest.length === 0 ? [places] : call.emit('Unsqueeze', [places, call.integers(rest)]);
  const spread = call.emit('Expand', [column, sizes]);
  const attributes = { axis: int(axis), reduction: text(reduction) };
  return call.emitMany('ScatterReduce', [self, ...spread, source], 1, attributes, ownDomain);
};

/** Rows added, or written, where an index says, of one axis, which comes first. */
const toRows =
  (reduction: string): LowerAten =>
  (call) => {
    const [self, places, source] = [call.tensor('self'), call.tensor('index'), call.tensor('source')];
    const rank = rankOf(self);
    const axis = fromFront(call.numberOr('dim', 0), rank);
    if (self === undefined || places === undefined || source === undefined || axis >= Math.max(1, rank))
      return undefined;
    const coordinates = call.emit('Unsqueeze', [places, call.integers([-1])]);
    const order = [axis, ...Array.from({ length: rank }, (_, at) => at).filter((at) => at !== axis)];
    const turned = (of: Tensor, by: readonly number[]): Tensor =>
      axis === 0 ? of : call.emit('Transpose', [of], { perm: ints(by) })[0];
    const [rows] = call.emit('ScatterND', [turned(self, order), ...coordinates, turned(source, order)], {
      reduction: text(reduction),
    });
    return [
      turned(
        rows,
        order.map((_, at) => order.indexOf(at)),
      ),
    ];
  };

const triangle =
  (upper: number): LowerAten =>
  (call) => {
    const self = call.tensor('self');
    const diagonal = call.scalar(call.numberOr('diagonal', 0), 'int64');
    return self && call.emit('Trilu', [self, diagonal], { upper: int(upper) });
  };

const oneHot: LowerAten = (call) => {
  const self = call.tensor('self');
  const classes = call.shape?.at(-1);
  if (self === undefined || typeof classes !== 'number') return undefined;
  return call.emit('OneHot', [self, call.integers([classes]), call.integers([0, 1])]);
};

/** Sliding windows of one axis as a new last axis. */
const unfold: LowerAten = (call) => {
  const self = call.tensor('self');
  const [size, step] = [call.number('size'), call.number('step')];
  const rank = rankOf(self);
  const axis = fromFront(call.numberOr('dimension', 0), rank);
  const count = call.shape?.[axis];
  if (self === undefined || size === undefined || step === undefined || typeof count !== 'number')
    return undefined;
  if (size * count > mostPlaces) return undefined;
  const places = Array.from({ length: count }, (_, window) =>
    Array.from({ length: size }, (_, at) => window * step + at),
  );
  const windows = call.emit('Reshape', [call.integers(places.flat()), call.integers([count, size])]);
  const [taken] = call.emit('Gather', [self, ...windows], { axis: int(axis) });
  if (axis === rank - 1) return [taken];
  const order = Array.from({ length: rank + 1 }, (_, at) => at).filter((at) => at !== axis + 1);
  return call.emit('Transpose', [taken], { perm: ints([...order, axis + 1]) });
};

/** Numbers of an index that is written out; windows of signals need more, and stay unknown. */
const mostPlaces = 2 ** 16;

/**
 * Vectors on the diagonal of square matrices: each element followed by a row of zeros, which moves the next one by one place. At other
 * offsets, and on axes that are not the last, it stays unknown.
 */
const diagonalMatrix: LowerAten = (call) => {
  const self = call.tensor('self');
  const around = self?.shape?.slice(0, -1).map(() => 0);
  const size = self?.shape?.at(-1);
  if (self === undefined || around === undefined || typeof size !== 'number') return undefined;
  const rank = around.length + 2;
  const [first, second] = [call.numberOr('dim1', -2), call.numberOr('dim2', -1)].map((axis) =>
    fromFront(axis, rank),
  );
  if (first !== rank - 2 || second !== rank - 1 || call.numberOr('offset', 0) !== 0) return undefined;
  const columns = call.emit('Unsqueeze', [self, call.integers([-1])]);
  const rows = call.emit('Pad', [...columns, call.integers([...around, 0, 0, ...around, 0, size])]);
  const line = call.emit('Reshape', [...rows, call.integers([...around, size * (size + 1)])]);
  const [begin, end, axis] = [0, size * size, -1].map((number) => call.integers([number]));
  const cut = call.emit('Slice', [...line, begin, end, axis]);
  return call.emit('Reshape', [...cut, call.integers([...around, size, size])]);
};

/** A vector on the diagonal of a matrix, or the diagonal of a matrix. */
const diag: LowerAten = (call) => {
  const self = call.tensor('self');
  if (rankOf(self) !== 1) return diagonal(call);
  return call.numberOr('diagonal', 0) === 0 ? diagonalMatrix(call) : undefined;
};

const nonZero: LowerAten = (call) => {
  const self = call.tensor('self');
  return self && call.emit('Transpose', call.emit('NonZero', [self]));
};

/** Elements of two axes at equal places, as a last axis. */
const diagonal: LowerAten = (call) => {
  const self = call.tensor('self');
  const rank = self?.shape?.length;
  const [first, second] = [call.numberOr('dim1', 0), call.numberOr('dim2', 1)].map((axis) =>
    rank === undefined ? undefined : fromFront(axis, rank),
  );
  const offset = call.numberOr('offset', call.numberOr('diagonal', 0));
  const count = call.shape?.at(-1);
  if (self === undefined || rank === undefined || typeof count !== 'number') return undefined;
  if (first === undefined || second === undefined) return undefined;
  if (2 * count > mostPlaces) return undefined;
  const places = Array.from({ length: count }, (_, at) => [
    at + Math.max(0, -offset),
    at + Math.max(0, offset),
  ]);
  const index = call.emit('Reshape', [call.integers(places.flat()), call.integers([count, 2])]);
  const taken = call.emit('GatherND', [toFront(call, self, [first, second]), ...index]);
  if (rank === 2) return taken;
  const order = Array.from({ length: rank - 1 }, (_, axis) => (axis + 1) % (rank - 1));
  return call.emit('Transpose', taken, { perm: ints(order) });
};

/** Elements by their addresses: a reshape where they follow one another, else a choice of each. */
const strided: LowerAten = (call) => {
  const self = call.tensor('self');
  const [sizes, strides] = [call.numbers('size', []), call.numbers('stride', [])];
  const start = call.numberOr('storage_offset', 0);
  const whole = self?.shape?.map(Number) ?? [];
  if (self === undefined || sizes.length !== strides.length || !whole.every(Number.isFinite))
    return undefined;
  const count = countElements(sizes);
  if (count > mostPlaces) return undefined;
  let places: readonly number[] = [start];
  for (const [axis, size] of sizes.entries()) {
    const step = strides[axis];
    if (step === undefined) return undefined;
    places = places.flatMap((place) => Array.from({ length: size }, (_, at) => place + at * step));
  }
  const [flat] = call.emit('Reshape', [self, call.integers([-1])]);
  const isAll = places.every((place, at) => place === at) && count === countElements(whole);
  const [taken] = isAll ? [flat] : call.emit('Gather', [flat, call.integers(places)], { axis: int(0) });
  return call.emit('Reshape', [taken, call.integers(sizes)]);
};

/** How often each number occurs: ones added up where the numbers say. */
const counted: LowerAten = (call) => {
  const self = call.tensor('self');
  const type = call.results[0]?.elementType;
  const sizes = call.shape && call.sizes(call.shape);
  if (self?.shape === undefined || type === undefined || sizes === undefined) return undefined;
  const [flat] = call.emit('Reshape', [call.cast(self, 'int64'), call.integers([-1])]);
  const [zeros] = call.emit('Expand', [call.scalar(0, type), sizes]);
  const ones = call.emit('Expand', [call.scalar(1, type), ...call.emit('Shape', [flat])]);
  return call.emit('ScatterElements', [zeros, flat, ...ones], { reduction: text('add') });
};

export const partOperators: Readonly<Record<string, LowerAten>> = {
  'split.Tensor': split((call, whole) => parts(whole, call.number('split_size'))),
  'chunk.default': split((call, whole) => parts(whole, Math.ceil(whole / call.numberOr('chunks', 0)))),
  ...each(
    ['split_with_sizes.default', 'split.sizes', 'split_with_sizes_copy.default'],
    split((call) => call.numbers('split_sizes', call.numbers('split_size', []))),
  ),
  ...each(
    ['tensor_split.sections', 'tensor_split.indices'],
    split((call, whole) =>
      call.has('indices')
        ? between(whole, call.numbers('indices', []))
        : sections(whole, call.number('sections')),
    ),
  ),
  'unbind.int': unbind,
  'select.int': select,
  'slice.Tensor': slice,
  'narrow.default': narrow,
  'diff.default': difference,
  ...each(['index.Tensor', '_unsafe_index.Tensor'], index),
  ...each(['index_put.default', 'index_put_.default', '_unsafe_index_put.default'], indexPut),
  'index_select.default': indexSelect,
  ...each(['index_add.default', 'index_add_.default'], toRows('add')),
  ...each(['index_copy.default', 'index_copy_.default'], toRows('none')),
  ...each(['index_reduce.default', 'index_reduce_.default'], reduceRows),
  'gather.default': gather,
  'slice_scatter.default': replaced(true),
  'select_scatter.default': replaced(false),
  ...each(['scatter.src', 'scatter.value', 'scatter_.src', 'scatter_.value'], scatter('none')),
  ...each(['scatter_add.default', 'scatter_add_.default'], scatter('add')),
  ...each(['scatter_reduce.two', 'scatter_reduce_.two'], scatter(undefined)),
  ...each(['tril.default', 'tril_.default'], triangle(0)),
  ...each(['triu.default', 'triu_.default'], triangle(1)),
  ...each(['diagonal.default', 'diagonal_copy.default', 'linalg_diagonal.default'], diagonal),
  'diag_embed.default': diagonalMatrix,
  'diag.default': diag,
  ...each(['as_strided.default', 'as_strided_copy.default'], strided),
  ...each(['histc.default', 'bincount.default'], counted),
  'one_hot.default': oneHot,
  'unfold.default': unfold,
  ...each(['masked_scatter.default', 'masked_scatter_.default'], maskedScatter),
  ...each(['nonzero.default', 'argwhere.default'], nonZero),
};
