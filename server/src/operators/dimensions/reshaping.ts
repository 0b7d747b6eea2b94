/** Dimension maps of operators that give the same elements another shape: dimensions are merged and split. */

import {
  type Dimension,
  divideExactly,
  equalDimensions,
  isUnknown,
  multiplyDimensions,
} from '../../model/dimension.ts';
import { isKnownShape } from '../../model/graph.ts';
import type { Inference, InferenceContext } from '../definition.ts';
import { type DimensionMap, type Factor, type Place, type StatedSize, unknownMap } from '../dimensionMap.ts';
import { integersOf, normalizeAxes, numbersOf } from '../vocabulary/axes.ts';
import { whyUnknown } from '../vocabulary/types.ts';
import { labelsOfRank, mapOfLabels } from './labels.ts';

/** Reshape: `inference` is what its shape rule says of it. Sizes that its target states are divided with a factor. */
export function reshapeMap(context: InferenceContext, inference: Inference): DimensionMap {
  const input = context.inputShape(0);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  const requested = integersOf(context, 1, 'shape');
  const [type] = inference.outputs;
  if (requested.kind !== 'known' || type?.kind !== 'tensor' || !isKnownShape(type.shape))
    return unknownMap(whyUnknown(context, 1));
  const copies = context.int('allowzero', 0) !== 1;
  const statedSize = (axis: number): readonly StatedSize[] => {
    const stated = requested.values[axis];
    if (stated === -1 || (stated === 0 && copies)) return [];
    return context.inputType(1) === undefined
      ? [{ kind: 'attribute', name: 'shape', element: axis }]
      : [{ kind: 'content', input: 1, element: axis }];
  };
  const factors = factorsOfReshape(input, type.shape);
  return {
    kind: 'known',
    factors: factors.flatMap((factor): readonly Factor[] => {
      const [from] = factor.inputs;
      const [to] = factor.outputs;
      if (from === undefined || to === undefined) return [];
      // A size that is copied from another axis of the input than the one that is divided stays what it is.
      const isCopied = requested.values[to.axis] === 0 && copies;
      if (isCopied && from.axis !== to.axis) return [];
      // An axis of the input that is divided is copied by no other axis of the output.
      if (requested.values[from.axis] === 0 && copies && from.axis !== to.axis) return [];
      const sizes = statedSize(to.axis);
      return [{ ...factor, ...(sizes.length === 0 ? {} : { sizes }) }];
    }),
  };
}

/** Flatten. */
export function mergedMap(context: InferenceContext, inference: Inference): DimensionMap {
  const input = context.inputShape(0);
  const [type] = inference.outputs;
  if (input === undefined || type?.kind !== 'tensor' || !isKnownShape(type.shape))
    return unknownMap(whyUnknown(context, 0));
  return { kind: 'known', factors: factorsOfReshape(input, type.shape) };
}

/**
 * The common factors of two shapes of the same elements in row-major order. A factor with `before` indices around it lies in
 * an axis of each shape: where axes a and b begin after A and B elements' worth of outer axes, the factor begins after the
 * least common multiple P of A and B, and its size is the greatest common divisor of what P leaves of both axes.
 */
function factorsOfReshape(from: readonly Dimension[], to: readonly Dimension[]): readonly Factor[] {
  const factors: Factor[] = [];
  let before: Dimension = 1;
  for (const [axis, size] of from.entries()) {
    let outputBefore: Dimension = 1;
    for (const [outputAxis, outputSize] of to.entries()) {
      const start = commonMultiple(before, outputBefore);
      const left = start && partAfter(before, size, start);
      const right = start && partAfter(outputBefore, outputSize, start);
      if (left && right) {
        const common = commonDivisor(left.rest, right.rest);
        if (common !== undefined && common !== 1 && common !== 0) {
          factors.push({
            size: common,
            inputs: [place(axis, left.outer)],
            outputs: [place(outputAxis, right.outer)],
          });
        }
      }
      outputBefore = multiplyDimensions(outputBefore, outputSize);
    }
    before = multiplyDimensions(before, size);
  }
  return factors;
}

const place = (axis: number, outer: Dimension): Place =>
  outer === 1 ? { tensor: 0, axis } : { tensor: 0, axis, outer };

/** Of an axis that begins after `before` outer indices: what lies outside and what inside of `start`. */
function partAfter(
  before: Dimension,
  size: Dimension,
  start: Dimension,
): { readonly outer: Dimension; readonly rest: Dimension } | undefined {
  const outer = divideExactly(start, before);
  const rest = outer === undefined ? undefined : divideExactly(size, outer);
  return outer === undefined || rest === undefined ? undefined : { outer, rest };
}

function commonMultiple(left: Dimension, right: Dimension): Dimension | undefined {
  if (left === 0 || right === 0 || isUnknown(left) || isUnknown(right)) return undefined;
  if (equalDimensions(left, right)) return left;
  if (typeof left === 'number' && typeof right === 'number') return (left / divisorOf(left, right)) * right;
  if (divideExactly(left, right) !== undefined) return left;
  return divideExactly(right, left) === undefined ? undefined : right;
}

function commonDivisor(left: Dimension, right: Dimension): Dimension | undefined {
  if (isUnknown(left) || isUnknown(right)) return undefined;
  if (equalDimensions(left, right)) return left;
  if (typeof left === 'number' && typeof right === 'number') return divisorOf(left, right);
  if (divideExactly(left, right) !== undefined) return right;
  return divideExactly(right, left) === undefined ? undefined : left;
}

function divisorOf(left: number, right: number): number {
  let [a, b] = [Math.abs(left), Math.abs(right)];
  while (b > 0) [a, b] = [b, a % b];
  return a;
}

/** Axes removed: the others are kept in their order. */
export function squeezeMap(context: InferenceContext): DimensionMap {
  const input = context.inputShape(0);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  const axes = integersOf(context, 1, 'axes');
  const given = axes.kind === 'known' ? numbersOf(axes.values) : undefined;
  if (axes.kind !== 'absent' && given === undefined) return unknownMap(whyUnknown(context, 1));
  const removed = given === undefined ? undefined : normalizeAxes(given, input.length);
  const isRemoved = (axis: number): boolean =>
    removed === undefined ? input[axis] === 1 : removed.includes(axis);
  const labels = labelsOfRank(input.length, isRemoved);
  return mapOfLabels(context, {
    inputs: { 0: labels },
    outputs: [labels.filter((_, axis) => !isRemoved(axis))],
  });
}

/** Axes inserted: those of the input are kept in their order. */
export function unsqueezeMap(context: InferenceContext): DimensionMap {
  const input = context.inputShape(0);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  const axes = integersOf(context, 1, 'axes');
  const given = axes.kind === 'known' ? numbersOf(axes.values) : undefined;
  const rank = input.length + (given?.length ?? 0);
  const inserted = given === undefined ? undefined : normalizeAxes(given, rank);
  if (inserted === undefined) return unknownMap(whyUnknown(context, 1));
  const labels = labelsOfRank(input.length);
  const rest = [...labels];
  const output = Array.from({ length: rank }, (_, axis) =>
    inserted.includes(axis) ? undefined : rest.shift(),
  );
  return mapOfLabels(context, { inputs: { 0: labels }, outputs: [output] });
}

export function transposeMap(context: InferenceContext): DimensionMap {
  const input = context.inputShape(0);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  const order = context.ints('perm') ?? input.map((_, axis) => input.length - 1 - axis);
  const labels = labelsOfRank(input.length);
  return mapOfLabels(context, { inputs: { 0: labels }, outputs: [order.map((axis) => labels[axis])] });
}

/** Blocks of channels to pixels and back: what is left of channels, rows and columns beside the blocks is kept. */
export function blocksMap(context: InferenceContext, direction: 'to pixels' | 'to channels'): DimensionMap {
  const input = context.inputShape(0);
  if (input?.length !== 4) return unknownMap(whyUnknown(context, 0));
  const block = context.int('blocksize', 1);
  const [, channels = 0, height = 0, width = 0] = input;
  const area = block * block;
  const isDepthFirst = context.string('mode', 'DCR') !== 'CRD';
  const details =
    direction === 'to pixels'
      ? { c: divideExactly(channels, area), h: height, w: width }
      : { c: channels, h: divideExactly(height, block), w: divideExactly(width, block) };
  const sizes = Object.fromEntries(
    Object.entries(details).flatMap(([label, size]) => (size === undefined ? [] : [[label, { size }]])),
  );
  const outer = isDepthFirst ? area : 1;
  const whole = ['n', [{ label: 'c' }], [{ label: 'h' }], [{ label: 'w' }]];
  const parted = ['n', [{ label: 'c', outer }], [{ label: 'h' }], [{ label: 'w' }]];
  return mapOfLabels(context, {
    inputs: { 0: direction === 'to pixels' ? parted : whole },
    outputs: [direction === 'to pixels' ? whole : parted],
    details: sizes,
  });
}
