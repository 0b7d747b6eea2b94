/** Operators that give the same elements another shape, or another order. */

import { itemAt } from '../../model/at.ts';
import {
  type Dimension,
  divideExactly,
  equalDimensions,
  floorDivideDimensions,
  isUnknown,
  printDimension,
  productOfDimensions,
  unknownDimension,
} from '../../model/dimension.ts';
import type { Inference, InferenceContext, OperatorDefinition } from '../definition.ts';
import { likeInputMap } from '../dimensions/elementwise.ts';
import {
  blocksMap,
  mergedMap,
  reshapeMap,
  squeezeMap,
  transposeMap,
  unsqueezeMap,
} from '../dimensions/reshaping.ts';
import { expandMap } from '../dimensions/sizes.ts';
import { integersOf, lengthOf, normalizeAxes, normalizeAxis, numbersOf } from '../vocabulary/axes.ts';
import { broadcastShapes } from '../vocabulary/broadcast.ts';
import { gatherContent, reshapeContent } from '../vocabulary/contents.ts';
import { define } from '../vocabulary/define.ts';
import { data, host } from '../vocabulary/facts.ts';
import { copyCost, viewCost } from '../vocabulary/movement.ts';
import { withoutSomeAxes, withSomeAxesInserted } from '../vocabulary/openAxes.ts';
import {
  elementTypeOf,
  listedElements,
  mismatch,
  printShape,
  single,
  tensor,
  tensorOfUnknownShape,
  unknownBecause,
  whyUnknown,
} from '../vocabulary/types.ts';

const reshape = define({
  type: 'Reshape',
  documentation:
    'the same elements in another shape; 0 copies a size, −1 takes what is left (ONNX Operators, Reshape-25)',
  inputs: [data('data'), host('shape')],
  traits: ['layout'],
  pytorch: { layer: 'Reshape', autocast: 'widest', view: 'reshape' },
  runner: { rule: 'Reshape' },
  infer: inferReshape,
  dimensions: (context) => reshapeMap(context, inferReshape(context)),
  cost: (context) => viewCost(context),
});

const flatten = define({
  type: 'Flatten',
  documentation: 'the axes before and from `axis` on, each merged into one (ONNX Operators, Flatten-25)',
  inputs: [data('input')],
  traits: ['layout'],
  pytorch: { layer: 'Flatten', autocast: 'widest', view: 'reshape' },
  runner: { rule: 'Flatten' },
  infer: (context) => {
    const input = context.inputShape(0);
    if (input === undefined) return unknownBecause(context, 0);
    // The axis may equal the rank, but a negative one counts from the rank as everywhere (Flatten-21).
    const given = context.int('axis', 1);
    const axis = given === input.length ? given : normalizeAxis(given, input.length);
    if (axis === undefined) {
      return mismatch(`axis ${given} lies outside the input ${printShape(input)}`);
    }
    const shape = [productOfDimensions(input.slice(0, axis)), productOfDimensions(input.slice(axis))];
    return single(tensor(elementTypeOf(context, 0), shape), reshapeContent(context.inputContent(0), shape));
  },
  dimensions: (context) => mergedMap(context, flatten.infer(context)),
  cost: (context) => viewCost(context),
});

const squeeze = define({
  type: 'Squeeze',
  documentation: 'axes of size 1 removed (ONNX Operators, Squeeze-25)',
  inputs: [data('data'), host('axes')],
  traits: ['layout'],
  pytorch: { layer: 'Squeeze', autocast: 'widest', view: 'reshape' },
  runner: { rule: 'Squeeze' },
  infer: inferSqueeze,
  dimensions: squeezeMap,
  cost: (context) => viewCost(context),
});

const unsqueeze = define({
  type: 'Unsqueeze',
  documentation: 'axes of size 1 inserted (ONNX Operators, Unsqueeze-25)',
  inputs: [data('data'), host('axes')],
  traits: ['layout'],
  pytorch: { layer: 'Unsqueeze', autocast: 'widest', view: 'reshape' },
  runner: { rule: 'Unsqueeze' },
  infer: inferUnsqueeze,
  dimensions: unsqueezeMap,
  cost: (context) => viewCost(context),
});

const identity = define({
  type: 'Identity',
  documentation: 'the input itself (ONNX Operators, Identity-25)',
  inputs: [data('input')],
  traits: ['passes-gradient', 'layout'],
  pytorch: { layer: 'Identity', autocast: 'widest' },
  runner: { rule: 'Identity' },
  infer: (context) => {
    const type = context.inputType(0);
    return type === undefined ? unknownBecause(context, 0) : single(type, context.inputContent(0));
  },
  dimensions: likeInputMap,
  cost: (context) => viewCost(context),
});

const transpose = define({
  type: 'Transpose',
  documentation: 'axes in another order, a view in PyTorch (ONNX Operators, Transpose-25)',
  inputs: [data('data')],
  traits: ['layout'],
  pytorch: { layer: 'Transpose', autocast: 'widest', view: 'permute' },
  runner: { rule: 'Transpose' },
  infer: (context) => {
    const input = context.inputShape(0);
    if (input === undefined) return unknownBecause(context, 0);
    const order = context.ints('perm') ?? input.map((_, axis) => input.length - 1 - axis);
    const isOrder = order.length === input.length && input.every((_, axis) => order.includes(axis));
    if (!isOrder) {
      return mismatch(`perm ${printShape(order)} is not an order of the axes of ${printShape(input)}`);
    }
    const shape = order.map((axis) => input[axis] ?? 1);
    const content = gatherContent(context.inputContent(0), shape, (coordinates) =>
      input.map((_, axis) => itemAt(coordinates, order.indexOf(axis))),
    );
    return single(tensor(elementTypeOf(context, 0), shape), content);
  },
  dimensions: transposeMap,
  cost: (context) => viewCost(context),
});

const expand = define({
  type: 'Expand',
  since: 8,
  documentation: 'the input broadcast to a shape, a view in PyTorch (ONNX Operators, Expand-13)',
  inputs: [data('input'), host('shape')],
  traits: ['copies-elements'],
  pytorch: { layer: 'Expand', autocast: 'widest', view: 'expand' },
  runner: { rule: 'Expand' },
  infer: (context) => {
    const elementType = elementTypeOf(context, 0);
    const input = context.inputShape(0);
    if (input === undefined) return unknownBecause(context, 0);
    const requested = listedElements(context, 1);
    if (requested === undefined) return single(tensorOfUnknownShape(elementType, whyUnknown(context, 1)));
    const shape = broadcastShapes([input, requested]);
    if (shape === undefined) {
      return mismatch(
        `the input ${printShape(input)} cannot be broadcast to ${printShape(requested)}`,
        tensor(elementType, requested),
      );
    }
    const content = gatherContent(context.inputContent(0), shape, (coordinates) =>
      input.map((size, axis) =>
        size === 1 ? 0 : itemAt(coordinates, axis + coordinates.length - input.length),
      ),
    );
    return single(tensor(elementType, shape), content);
  },
  dimensions: expandMap,
  cost: (context) => viewCost(context, 'sum'),
});

const depthToSpace = define({
  type: 'DepthToSpace',
  documentation: 'blocks of channels moved to blocks of pixels (ONNX Operators, DepthToSpace-28)',
  inputs: [data('input')],
  pytorch: { layer: 'PixelShuffle', autocast: 'widest' },
  runner: { rule: 'DepthToSpace' },
  infer: (context) =>
    inferBlocks(context, 'channels', (block, channels, size) => [
      floorDivideDimensions(channels, block * block),
      productOfDimensions([size, block]),
    ]),
  dimensions: (context) => blocksMap(context, 'to pixels'),
  cost: (context) => copyCost(context),
});

const spaceToDepth = define({
  type: 'SpaceToDepth',
  documentation: 'blocks of pixels moved to channels (ONNX Operators, SpaceToDepth-28)',
  inputs: [data('input')],
  pytorch: { layer: 'PixelUnshuffle', autocast: 'widest' },
  runner: { rule: 'SpaceToDepth' },
  infer: (context) =>
    inferBlocks(context, 'pixels', (block, channels, size) => [
      productOfDimensions([channels, block * block]),
      floorDivideDimensions(size, block),
    ]),
  dimensions: (context) => blocksMap(context, 'to channels'),
  cost: (context) => copyCost(context),
});

export const reshapingOperators: readonly OperatorDefinition[] = [
  reshape,
  flatten,
  squeeze,
  unsqueeze,
  identity,
  transpose,
  expand,
  depthToSpace,
  spaceToDepth,
];

/** ONNX Operators, Reshape-21; −1 is solved by exact division of polynomials. */
function inferReshape(context: InferenceContext): Inference {
  const elementType = elementTypeOf(context, 0);
  const requested = context.inputType(1) === undefined ? context.ints('shape') : listedElements(context, 1);
  if (requested === undefined) return single(tensorOfUnknownShape(elementType, whyUnknown(context, 1)));
  const input = context.inputShape(0);
  const allowZero = context.int('allowzero', 0) === 1;
  const shape = requested.map((size, axis): Dimension => {
    if (size !== 0 || allowZero) return size;
    return input === undefined
      ? unknownDimension(whyUnknown(context, 0))
      : (input[axis] ?? unknownDimension(`Reshape copies size ${axis}, which the input does not have`));
  });
  if (shape.lastIndexOf(-1) !== shape.indexOf(-1)) {
    return mismatch(
      `Reshape to ${printShape(shape)} leaves more than one size open; give all but one`,
      tensorOfUnknownShape(elementType, 'Reshape leaves more than one size open'),
    );
  }
  const total = input === undefined ? undefined : productOfDimensions(input);
  // A single size that only a run tells is what the others leave, written as −1 or not.
  const unknown = shape.filter(isUnknown);
  const open = shape.includes(-1)
    ? shape.indexOf(-1)
    : unknown.length === 1
      ? shape.findIndex(isUnknown)
      : -1;
  if (open >= 0) shape[open] = sizeLeft(context, total, shape, open);
  const type = tensor(elementType, shape);
  if (total !== undefined && typeof total === 'number') {
    const count = productOfDimensions(shape);
    if (typeof count === 'number' && count !== total) {
      return mismatch(
        `${printShape(input ?? [])} has ${total} elements, which do not fill ${printShape(requested)}`,
        type,
      );
    }
  }
  return single(type, reshapeContent(context.inputContent(0), shape));
}

/**
 * The size −1 stands for: elements left over the other sizes. Sizes common to both sides cancel first, so that
 * one unknown size on both sides does not make the result unknown.
 */
function sizeLeft(
  context: InferenceContext,
  total: Dimension | undefined,
  shape: readonly Dimension[],
  open: number,
): Dimension {
  const others = shape.filter((_, axis) => axis !== open);
  if (total === undefined) return unknownDimension(whyUnknown(context, 0));
  if (others.some(isUnknown) || isUnknown(total)) {
    const input = [...(context.inputShape(0) ?? [])];
    const rest: Dimension[] = [];
    for (const size of others) {
      const position = input.findIndex((candidate) => candidate === size || equalDimensions(candidate, size));
      if (position < 0) rest.push(size);
      else input.splice(position, 1);
    }
    return floorDivideDimensions(productOfDimensions(input), productOfDimensions(rest));
  }
  const count = productOfDimensions(others);
  if (count === 0) return unknownDimension('Reshape cannot infer a size beside a size of 0');
  return divideExactly(total, count) ?? floorDivideDimensions(total, count);
}

function inferSqueeze(context: InferenceContext): Inference {
  const elementType = elementTypeOf(context, 0);
  const input = context.inputShape(0);
  if (input === undefined) return unknownBecause(context, 0);
  const axes = integersOf(context, 1, 'axes');
  const given = axes.kind === 'known' ? numbersOf(axes.values) : undefined;
  if (axes.kind === 'unknown' || (axes.kind === 'known' && given === undefined)) {
    const count = lengthOf(context, 1);
    const reason = whyUnknown(context, 1);
    const mayGo = (size: Dimension): boolean => typeof size !== 'number' || size === 1;
    return single(
      count === undefined
        ? tensorOfUnknownShape(elementType, reason)
        : tensor(elementType, withoutSomeAxes(input, count, reason, mayGo)),
    );
  }
  if (given === undefined) {
    const open = input.find((dimension) => typeof dimension !== 'number');
    if (open !== undefined) {
      return single(
        tensorOfUnknownShape(
          elementType,
          `Squeeze without axes removes \`${printDimension(open)}\` where it is 1`,
        ),
      );
    }
  }
  const normalized = given === undefined ? undefined : normalizeAxes(given, input.length);
  if (given !== undefined && normalized === undefined) {
    return mismatch(`axes ${printShape(given)} lie outside the input ${printShape(input)}`);
  }
  const shape = input.filter((dimension, axis) =>
    normalized === undefined ? dimension !== 1 : !normalized.includes(axis),
  );
  const wrong = normalized?.find((axis) => typeof input[axis] === 'number' && input[axis] !== 1);
  if (wrong !== undefined) {
    return mismatch(
      `axis ${wrong} of ${printShape(input)} has size ${printDimension(input[wrong] ?? 1)} and cannot be removed; only axes of size 1 can`,
      tensor(elementType, shape),
    );
  }
  return single(tensor(elementType, shape), reshapeContent(context.inputContent(0), shape));
}

function inferUnsqueeze(context: InferenceContext): Inference {
  const elementType = elementTypeOf(context, 0);
  const input = context.inputShape(0);
  if (input === undefined) return unknownBecause(context, 0);
  const axes = integersOf(context, 1, 'axes');
  const given = axes.kind === 'known' ? numbersOf(axes.values) : undefined;
  if (given === undefined) {
    const count = lengthOf(context, 1);
    const reason = whyUnknown(context, 1);
    return single(
      count === undefined
        ? tensorOfUnknownShape(elementType, reason)
        : tensor(elementType, withSomeAxesInserted(input, count, reason)),
    );
  }
  const rank = input.length + given.length;
  const normalized = normalizeAxes(given, rank);
  if (normalized === undefined || new Set(normalized).size !== given.length) {
    return mismatch(`axes ${printShape(given)} cannot be inserted into ${printShape(input)}`);
  }
  const rest = [...input];
  const shape = Array.from(
    { length: rank },
    (_, axis): Dimension => (normalized.includes(axis) ? 1 : (rest.shift() ?? 1)),
  );
  return single(tensor(elementType, shape), reshapeContent(context.inputContent(0), shape));
}

function inferBlocks(
  context: InferenceContext,
  divided: 'channels' | 'pixels',
  sizes: (block: number, channels: Dimension, size: Dimension) => readonly [Dimension, Dimension],
): Inference {
  const input = context.inputShape(0);
  if (input === undefined) return unknownBecause(context, 0);
  const [batch, channels, height, width] = input;
  if (batch === undefined || channels === undefined || height === undefined || width === undefined) {
    return mismatch(`the input must be [batch, channels, height, width], not ${printShape(input)}`);
  }
  const block = context.int('blocksize', 1);
  const parts = divided === 'channels' ? block * block : block;
  const odd = (divided === 'channels' ? [channels] : [height, width]).find(
    (size) => typeof size === 'number' && size % parts !== 0,
  );
  if (block < 1 || odd !== undefined) {
    return mismatch(`the ${divided} of ${printShape(input)} cannot be divided into blocks of ${parts}`);
  }
  const [outputChannels, outputHeight] = sizes(block, channels, height);
  const [, outputWidth] = sizes(block, channels, width);
  return single(tensor(elementTypeOf(context, 0), [batch, outputChannels, outputHeight, outputWidth]));
}
