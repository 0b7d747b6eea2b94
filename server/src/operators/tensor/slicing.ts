/** Operators that take contiguous parts of a tensor, or join tensors. */

import {
  addDimensions,
  ceilDivideDimensions,
  type Dimension,
  equalDimensions,
  floorDivideDimensions,
  isSymbolic,
  isUnknown,
  maximumOfDimensions,
  minimumOfDimensions,
  multiplyDimensions,
  subtractDimensions,
  symbolsOf,
  unknownDimension,
} from '../../model/dimension.ts';
import type { TensorContent } from '../../model/graph.ts';
import type { Inference, InferenceContext, OperatorDefinition } from '../definition.ts';
import { integersOf, normalizeAxes, normalizeAxis, numbersOf } from '../vocabulary/axes.ts';
import { contradict } from '../vocabulary/broadcast.ts';
import { content, gatherContent, positionOf } from '../vocabulary/contents.ts';
import { define } from '../vocabulary/define.ts';
import { copyCost, viewCost } from '../vocabulary/movement.ts';
import {
  elementTypeOf,
  mismatch,
  printShape,
  single,
  tensor,
  tensorOfUnknownShape,
  unknownBecause,
  whyUnknown,
} from '../vocabulary/types.ts';

const slice = define({
  type: 'Slice',
  documentation: 'a range of indices on some axes, a view in PyTorch (ONNX Operators, Slice-13)',
  infer: inferSlice,
  cost: (context) => viewCost(context, 'scatter'),
});

const split = define({
  type: 'Split',
  documentation: 'consecutive parts along an axis, views in PyTorch (ONNX Operators, Split-18)',
  infer: inferSplit,
  cost: (context) => viewCost(context, 'concatenation'),
});

const concat = define({
  type: 'Concat',
  documentation: 'tensors joined along an axis (ONNX Operators, Concat-13)',
  infer: inferConcat,
  cost: (context) => copyCost(context, { gradientIsView: true }),
});

const pad = define({
  type: 'Pad',
  documentation: 'elements added, or removed, at both ends of axes (ONNX Operators, Pad-21)',
  infer: inferPad,
  cost: (context) => copyCost(context),
});

const tile = define({
  type: 'Tile',
  documentation: 'the input repeated along axes (ONNX Operators, Tile-13)',
  infer: (context) => {
    const input = context.inputShape(0);
    const elementType = elementTypeOf(context, 0);
    if (input === undefined) return unknownBecause(context, 0);
    const repeats = context.inputContent(1)?.elements;
    if (repeats === undefined) {
      const reason = whyUnknown(context, 1);
      return single(
        tensor(
          elementType,
          input.map(() => unknownDimension(reason)),
        ),
      );
    }
    if (repeats.length !== input.length) {
      return mismatch(
        `${repeats.length} repeats do not fit the ${input.length} axes of ${printShape(input)}`,
      );
    }
    const shape = input.map((size, axis) => multiplyDimensions(size, repeats[axis] ?? 1));
    const sizes = numbersOf(input);
    const elements =
      sizes &&
      gatherContent(context.inputContent(0), shape, (coordinates) =>
        coordinates.map((coordinate, axis) => coordinate % (sizes[axis] ?? 1)),
      );
    return single(tensor(elementType, shape), elements);
  },
  cost: (context) => copyCost(context),
});

const centerCropPad = define({
  type: 'CenterCropPad',
  since: 18,
  documentation: 'cropped or padded around the centre to a given size (ONNX Operators, CenterCropPad-18)',
  infer: (context) => {
    const input = context.inputShape(0);
    if (input === undefined) return unknownBecause(context, 0);
    const sizes = context.inputContent(1)?.elements;
    const axes = normalizeAxes(context.ints('axes') ?? input.map((_, axis) => axis), input.length);
    if (axes === undefined) return mismatch(`the axes lie outside the input ${printShape(input)}`);
    const reason = whyUnknown(context, 1);
    const shape = input.map((size, axis) => {
      const position = axes.indexOf(axis);
      return position < 0 ? size : (sizes?.[position] ?? unknownDimension(reason));
    });
    return single(tensor(elementTypeOf(context, 0), shape));
  },
  cost: (context) => copyCost(context),
});

const trilu = define({
  type: 'Trilu',
  since: 14,
  documentation: 'upper or lower triangle of matrices (ONNX Operators, Trilu-14)',
  infer: (context) => {
    const type = context.inputType(0);
    const input = context.inputShape(0);
    if (type === undefined || input === undefined) return unknownBecause(context, 0);
    if (input.length < 2) return mismatch(`Trilu takes matrices, not ${printShape(input)}`, type);
    return single(type);
  },
  cost: (context) => copyCost(context),
});

const reverseSequence = define({
  type: 'ReverseSequence',
  since: 10,
  documentation: 'sequences of given lengths reversed (ONNX Operators, ReverseSequence-10)',
  infer: (context) =>
    single(context.inputType(0) ?? unknownBecause(context, 0).outputs[0] ?? tensor('undefined', [])),
  cost: (context) => copyCost(context),
});

export const slicingOperators: readonly OperatorDefinition[] = [
  slice,
  split,
  concat,
  pad,
  tile,
  centerCropPad,
  trilu,
  reverseSequence,
];

/** ONNX Operators, Slice-13; lists are attributes before version 10. Ends beyond the axis are clamped. */
function inferSlice(context: InferenceContext): Inference {
  const elementType = elementTypeOf(context, 0);
  const input = context.inputShape(0);
  if (input === undefined) return unknownBecause(context, 0);
  const starts = integersOf(context, 1, 'starts');
  const ends = integersOf(context, 2, 'ends');
  const axesGiven = integersOf(context, 3, 'axes');
  const stepsGiven = integersOf(context, 4, 'steps');
  const count =
    starts.kind === 'known' ? starts.values.length : ends.kind === 'known' ? ends.values.length : undefined;
  const axes =
    axesGiven.kind === 'known'
      ? normalizeAxes(numbersOf(axesGiven.values) ?? [Number.NaN], input.length)
      : axesGiven.kind === 'absent'
        ? Array.from({ length: count ?? input.length }, (_, axis) => axis)
        : undefined;
  const reasonIndex = [starts, ends, axesGiven, stepsGiven].findIndex((list) => list.kind === 'unknown') + 1;
  const reason = reasonIndex > 0 ? whyUnknown(context, reasonIndex) : 'Slice on axes that are not known';
  if (axes === undefined) {
    if (axesGiven.kind === 'known' && numbersOf(axesGiven.values) !== undefined) {
      return mismatch(`axes ${printShape(axesGiven.values)} lie outside the input ${printShape(input)}`);
    }
    return single(
      tensor(
        elementType,
        input.map(() => unknownDimension(reason)),
      ),
    );
  }
  const valuesOf = (list: typeof starts, position: number, otherwise: Dimension): Dimension =>
    list.kind === 'known'
      ? (list.values[position] ?? otherwise)
      : list.kind === 'absent'
        ? otherwise
        : unknownDimension(reason);

  const shape = [...input];
  const firsts = input.map((): Dimension => 0);
  const strides = input.map((): Dimension => 1);
  for (const [position, axis] of axes.entries()) {
    const size = input[axis] ?? 1;
    const range = sliceAxis(
      size,
      valuesOf(starts, position, 0),
      valuesOf(ends, position, Number.MAX_SAFE_INTEGER),
      valuesOf(stepsGiven, position, 1),
    );
    shape[axis] = range.count;
    firsts[axis] = range.first;
    strides[axis] = range.step;
  }
  const first = numbersOf(firsts);
  const step = numbersOf(strides);
  const elements =
    first &&
    step &&
    gatherContent(context.inputContent(0), shape, (coordinates) =>
      coordinates.map((coordinate, axis) => (first[axis] ?? 0) + coordinate * (step[axis] ?? 1)),
    );
  return single(tensor(elementType, shape), elements);
}

interface SliceRange {
  readonly first: Dimension;
  readonly step: Dimension;
  readonly count: Dimension;
}

/** Beyond this an index means "to the end", as exporters write it (2⁶³ − 1 saturates to 2⁵³ − 1). */
const toTheEnd = 2 ** 31 - 1;

function sliceAxis(size: Dimension, start: Dimension, end: Dimension, step: Dimension): SliceRange {
  const unknown = [size, start, end, step].find(isUnknown);
  if (typeof step !== 'number' || step === 0) {
    return { first: 0, step: 1, count: unknown ?? unknownDimension('Slice with a symbolic step') };
  }
  if (step < 0) return sliceBackwards(size, start, end, step);
  const first = clampIndex(start, size);
  const last = clampIndex(end, size);
  const whole = equalDimensions(last, size) || last === size;
  if (step === 1 && first === 0 && whole && (unknown === undefined || unknown === size)) {
    return { first, step, count: size };
  }
  if (unknown !== undefined) return { first, step, count: unknownDimension(unknown.reason) };
  const length = subtractDimensions(last, first);
  const count = typeof length === 'number' ? Math.max(length, 0) : length;
  return { first, step, count: step === 1 ? count : ceilDivideDimensions(count, step) };
}

function sliceBackwards(size: Dimension, start: Dimension, end: Dimension, step: number): SliceRange {
  if (typeof start === 'number' && start === -1 && typeof end === 'number' && end <= -toTheEnd) {
    return { first: addDimensions(size, -1), step, count: ceilDivideDimensions(size, -step) };
  }
  if (typeof size === 'number' && typeof start === 'number' && typeof end === 'number') {
    const first = Math.min(Math.max(start < 0 ? start + size : start, 0), size - 1);
    const last = Math.min(Math.max(end < 0 ? end + size : end, -1), size - 1);
    return { first, step, count: Math.max(Math.ceil((last - first) / step), 0) };
  }
  const unknown = [size, start, end].find(isUnknown);
  if (unknown !== undefined) return { first: 0, step, count: unknownDimension(unknown.reason) };
  if (typeof start === 'number' && start >= toTheEnd && typeof end === 'number' && end <= -toTheEnd) {
    return { first: addDimensions(size, -1), step, count: ceilDivideDimensions(size, -step) };
  }
  return { first: 0, step, count: unknownDimension('Slice backwards over a symbolic range') };
}

/**
 * An index as a position in 0 … size: negative ones count from the end. Indices that share symbols with the size
 * are compared as polynomials; one that does not is clamped by a minimum that is solved once symbols have values.
 */
function clampIndex(index: Dimension, size: Dimension): Dimension {
  if (typeof index === 'number') {
    if (index >= toTheEnd) return size;
    if (index <= -toTheEnd) return 0;
    if (typeof size === 'number') return Math.min(Math.max(index < 0 ? index + size : index, 0), size);
    // A symbolic axis is taken to be at least as long as a constant index into it.
    return index < 0 ? addDimensions(size, index) : index;
  }
  if (isUnknown(index) || isUnknown(size)) return index;
  if (equalDimensions(index, size)) return size;
  const beyond = subtractDimensions(size, index);
  if (typeof beyond === 'number') return beyond < 0 ? size : index;
  if (isNegativeSymbol(index)) return maximumOfDimensions(addDimensions(size, index), 0);
  return minimumOfDimensions(index, size);
}

/** Whether every term is negative: −n, an offset from the end. */
const isNegativeSymbol = (index: Dimension): boolean =>
  isSymbolic(index) && index.terms.every((term) => term.coefficient < 0) && symbolsOf(index).length > 0;

/** Parts from an input (13), an attribute, or equal ones by the number of outputs (2) or `num_outputs` (18). */
function inferSplit(context: InferenceContext): Inference {
  const elementType = elementTypeOf(context, 0);
  const input = context.inputShape(0);
  if (input === undefined) {
    return {
      outputs: Array.from({ length: context.outputCount }, () =>
        tensorOfUnknownShape(elementType, whyUnknown(context, 0)),
      ),
    };
  }
  const axis = normalizeAxis(context.int('axis', 0), input.length);
  const size = axis === undefined ? undefined : input[axis];
  if (axis === undefined || size === undefined) {
    return mismatch(`axis ${context.int('axis', 0)} lies outside the input ${printShape(input)}`);
  }
  const parts = integersOf(context, 1, 'split');
  const sizes = Array.from({ length: context.outputCount }, (_, index): Dimension => {
    if (parts.kind === 'known')
      return parts.values[index] ?? unknownDimension('Split gives fewer sizes than outputs');
    if (parts.kind === 'unknown') return unknownDimension(whyUnknown(context, 1));
    return equalPart(size, index, context.int('num_outputs', context.outputCount));
  });
  const types = sizes.map((part) =>
    tensor(
      elementType,
      input.map((own, position) => (position === axis ? part : own)),
    ),
  );
  const total = sizes.reduce((sum, part) => addDimensions(sum, part), 0);
  if (parts.kind === 'known' && contradict(total, size)) {
    return mismatch(
      `parts ${printShape(sizes)} do not add up to the ${size} elements of axis ${axis} of ${printShape(input)}`,
      ...types,
    );
  }
  const source = context.inputContent(0);
  const numbers = numbersOf(sizes);
  if (source === undefined || numbers === undefined) return { outputs: types };
  let begin = 0;
  const contents = numbers.map((part): TensorContent | undefined => {
    const first = begin;
    begin += part;
    return gatherContent(
      source,
      input.map((own, position) => (position === axis ? part : own)),
      (coordinates) =>
        coordinates.map((coordinate, position) => coordinate + (position === axis ? first : 0)),
    );
  });
  return { outputs: types, contents };
}

/** Equal parts of ⌈size / count⌉, the last one smaller where that does not divide (Split-18). */
function equalPart(size: Dimension, index: number, count: number): Dimension {
  if (count <= 0) return unknownDimension('Split into no parts');
  if (typeof size !== 'number') return floorDivideDimensions(size, count);
  const part = Math.ceil(size / count);
  return index === count - 1 ? size - part * (count - 1) : part;
}

function inferConcat(context: InferenceContext): Inference {
  const elementType = elementTypeOf(context, 0);
  const shapes: (readonly Dimension[])[] = [];
  for (let index = 0; index < context.inputCount; index += 1) {
    const shape = context.inputShape(index);
    if (shape === undefined) return unknownBecause(context, index, elementType);
    shapes.push(shape);
  }
  const [first] = shapes;
  // Before version 4 the axis was optional and 1.
  const axis = normalizeAxis(context.int('axis', 1), first?.length ?? 0);
  if (first === undefined || axis === undefined) {
    return mismatch(
      `axis ${context.int('axis', 1)} lies outside the inputs ${shapes.map(printShape).join(', ')}`,
    );
  }
  const shape = first.map(
    (size, position): Dimension =>
      position === axis
        ? shapes.reduce<Dimension>((sum, other) => addDimensions(sum, other[position] ?? 0), 0)
        : (shapes.map((other) => other[position] ?? size).find((other) => typeof other === 'number') ??
          shapes.map((other) => other[position] ?? size).find(isSymbolic) ??
          size),
  );
  const type = tensor(elementType, shape);
  const odd = shapes.find(
    (other) =>
      other.length !== first.length ||
      other.some((size, position) => position !== axis && contradict(size, shape[position] ?? size)),
  );
  if (odd !== undefined) {
    return mismatch(
      `shapes ${shapes.map(printShape).join(' and ')} cannot be joined on axis ${axis}; all other sizes must be equal`,
      type,
    );
  }
  return single(type, concatContent(context, shapes, axis, shape));
}

function concatContent(
  context: InferenceContext,
  shapes: readonly (readonly Dimension[])[],
  axis: number,
  shape: readonly Dimension[],
): TensorContent | undefined {
  const numbers = numbersOf(shape);
  const parts = shapes.map((_, index) => context.inputContent(index));
  if (numbers === undefined) return undefined;
  if (parts.every((part) => part === undefined)) return undefined;
  // An unknown part of a shape leaves the others known, so that the rank of a later Reshape is.
  if (numbers.length === 1) {
    const elements = parts.flatMap((part, index): readonly Dimension[] => {
      if (part !== undefined) return part.elements;
      const [length] = shapes[index] ?? [];
      const reason = whyUnknown(context, index);
      return typeof length === 'number' && length <= 64
        ? Array.from({ length }, () => unknownDimension(reason))
        : [];
    });
    return content(numbers, elements);
  }
  const known = parts.filter((part) => part !== undefined);
  if (known.length !== parts.length) return undefined;
  const first = known[0];
  return (
    first &&
    gatherContent(
      { shape: numbers, elements: joined(known, numbers, axis) },
      numbers,
      (coordinates) => coordinates,
    )
  );
}

function joined(
  parts: readonly TensorContent[],
  shape: readonly number[],
  axis: number,
): readonly Dimension[] {
  const elements: Dimension[] = [];
  let begin = 0;
  for (const part of parts) {
    for (const [position, element] of part.elements.entries()) {
      let rest = position;
      const coordinates = part.shape
        .toReversed()
        .map((size) => {
          const coordinate = rest % size;
          rest = Math.floor(rest / size);
          return coordinate;
        })
        .toReversed();
      elements[
        positionOf(
          coordinates.map((c, a) => (a === axis ? c + begin : c)),
          shape,
        )
      ] = element;
    }
    begin += part.shape[axis] ?? 0;
  }
  return elements;
}

/** ONNX Operators, Pad-21: `pads` is an attribute before version 11 (`paddings` in version 1), negative ones crop. */
function inferPad(context: InferenceContext): Inference {
  const elementType = elementTypeOf(context, 0);
  const input = context.inputShape(0);
  if (input === undefined) return unknownBecause(context, 0);
  const pads = integersOf(context, 1, context.opset < 2 ? 'paddings' : 'pads');
  const axesGiven = context.opset < 18 ? undefined : context.inputContent(3)?.elements;
  const axesUnknown = context.opset >= 18 && context.inputType(3) !== undefined && axesGiven === undefined;
  const axes =
    axesGiven === undefined
      ? input.map((_, axis) => axis)
      : normalizeAxes(numbersOf(axesGiven) ?? [Number.NaN], input.length);
  if (pads.kind !== 'known' || axesUnknown || axes === undefined) {
    const reason = whyUnknown(context, axesUnknown ? 3 : 1);
    return single(
      tensor(
        elementType,
        input.map(() => unknownDimension(reason)),
      ),
    );
  }
  const type = tensor(
    elementType,
    input.map((size, axis) => {
      const position = axes.indexOf(axis);
      if (position < 0) return size;
      const begin = pads.values[position] ?? 0;
      return addDimensions(addDimensions(size, begin), pads.values[position + axes.length] ?? 0);
    }),
  );
  if (pads.values.length !== 2 * axes.length) {
    return mismatch(
      `${pads.values.length} pads do not fit ${axes.length} axes of ${printShape(input)}: two per axis`,
      type,
    );
  }
  return single(type);
}
