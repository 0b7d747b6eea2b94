/** Ranges of indices on axes, forwards or backwards, over numbers and symbols. */

import { itemAt } from '../../model/at.ts';
import {
  addDimensions,
  ceilDivideDimensions,
  type Dimension,
  equalDimensions,
  isSymbolic,
  isUnknown,
  maximumOfDimensions,
  minimumOfDimensions,
  subtractDimensions,
  symbolsOf,
  unknownDimension,
} from '../../model/dimension.ts';
import type { CostContext, Inference, InferenceContext, OperatorCost } from '../definition.ts';
import { sliceMap } from '../dimensions/parts.ts';
import { integersOf, lengthOf, normalizeAxes, numbersOf } from '../vocabulary/axes.ts';
import { gatherContent } from '../vocabulary/contents.ts';
import { define } from '../vocabulary/define.ts';
import { data, host } from '../vocabulary/facts.ts';
import { copyCost, viewCost } from '../vocabulary/movement.ts';
import {
  elementTypeOf,
  mismatch,
  printShape,
  single,
  tensor,
  unknownBecause,
  whyUnknown,
} from '../vocabulary/types.ts';

export const slice = define({
  type: 'Slice',
  documentation:
    'a range of indices on some axes, a view in PyTorch unless it goes backwards (ONNX Operators, Slice-13)',
  inputs: [data('data'), host('starts'), host('ends'), host('axes'), host('steps')],
  traits: ['copies-elements'],
  pytorch: { layer: 'Slice', autocast: 'widest', view: 'slice' },
  runner: { rule: 'Slice' },
  infer: inferSlice,
  dimensions: sliceMap,
  cost: (context) => (goesBackwards(context) ? copyOfReversed(context) : viewCost(context, 'scatter')),
});

/**
 * No stride is negative in PyTorch: `flip` copies, and flips the gradient back (aten/src/ATen/native/TensorTransformations.cpp, `flip`;
 * tools/autograd/derivatives.yaml).
 */
const goesBackwards = (context: CostContext): boolean =>
  context.inputContent(4)?.some((step) => step < 0) === true;

function copyOfReversed(context: CostContext): OperatorCost {
  const [whole, part] = [context.input(0), context.output(0)];
  return copyCost(context, { readsWhatItGives: true, scatters: whole?.elements !== part?.elements });
}

/** ONNX Operators, Slice-13; lists are attributes before version 10. Ends beyond the axis are clamped. */
function inferSlice(context: InferenceContext): Inference {
  const elementType = elementTypeOf(context, 0);
  const input = context.inputShape(0);
  if (input === undefined) return unknownBecause(context, 0);
  const starts = integersOf(context, 1, 'starts');
  const ends = integersOf(context, 2, 'ends');
  const axesGiven = integersOf(context, 3, 'axes');
  const stepsGiven = integersOf(context, 4, 'steps');
  // Without axes, starts and ends are those of the first axes; their number may be known where they are not.
  const count =
    [starts, ends].find((list) => list.kind === 'known')?.values.length ??
    lengthOf(context, 1) ??
    lengthOf(context, 2);
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
        input.map((size) => unknownDimension(reason, size)),
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
      coordinates.map((coordinate, axis) => itemAt(first, axis) + coordinate * itemAt(step, axis)),
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
  if (unknown !== undefined) {
    return { first, step, count: unknownDimension(unknown.reason, mostOfRange(size, start, end, step)) };
  }
  const length = subtractDimensions(last, first);
  const count = typeof length === 'number' || crosses(start, end) ? maximumOfDimensions(length, 0) : length;
  return { first, step, count: step === 1 ? count : ceilDivideDimensions(count, step) };
}

/** A range has no more entries than its axis, nor than lie between two positions counted from the same end. */
function mostOfRange(size: Dimension, start: Dimension, end: Dimension, step: number): Dimension {
  const isCounted =
    typeof start === 'number' && typeof end === 'number' && end < toTheEnd && start < 0 === end < 0;
  const most = isCounted ? minimumOfDimensions(size, Math.max(end - start, 0)) : size;
  return ceilDivideDimensions(most, step);
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
  if (unknown !== undefined) {
    const limit = ceilDivideDimensions(size, -step);
    return { first: 0, step, count: unknownDimension(unknown.reason, limit) };
  }
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
    if (mayBeShort(size)) {
      return index < 0
        ? maximumOfDimensions(addDimensions(size, index), 0)
        : minimumOfDimensions(index, size);
    }
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

/** Counted from the end to a place counted from the start: what lies between shrinks as the axis grows. */
const crosses = (start: Dimension, end: Dimension): boolean =>
  typeof start === 'number' && start < 0 && typeof end === 'number' && end >= 0 && end < toTheEnd;

/** Whether a size shrinks as a symbol grows, or was cut to fit: no constant index is sure to lie within it. */
const mayBeShort = (size: Dimension): boolean =>
  isSymbolic(size) &&
  size.terms.some(
    ({ coefficient, factors }) =>
      (coefficient < 0 && factors.length > 0) ||
      factors.some(({ kind }) => kind === 'maximum' || kind === 'minimum'),
  );

/** Whether every term is negative: −n, an offset from the end. */
const isNegativeSymbol = (index: Dimension): boolean =>
  isSymbolic(index) && index.terms.every((term) => term.coefficient < 0) && symbolsOf(index).length > 0;
