/** Consecutive parts of a tensor along an axis. */

import {
  addDimensions,
  type Dimension,
  floorDivideDimensions,
  isUnknown,
  minimumOfDimensions,
  subtractDimensions,
  unknownDimension,
} from '../../model/dimension.ts';
import type { TensorContent } from '../../model/graph.ts';
import type { Inference, InferenceContext } from '../definition.ts';
import { splitMap } from '../dimensions/parts.ts';
import { integersOf, normalizeAxis, numbersOf } from '../vocabulary/axes.ts';
import { contradict } from '../vocabulary/broadcast.ts';
import { gatherContent } from '../vocabulary/contents.ts';
import { define } from '../vocabulary/define.ts';
import { data, host } from '../vocabulary/facts.ts';
import { viewCost } from '../vocabulary/movement.ts';
import {
  elementTypeOf,
  mismatch,
  printShape,
  tensor,
  tensorOfUnknownShape,
  whyUnknown,
} from '../vocabulary/types.ts';

export const split = define({
  type: 'Split',
  documentation: 'consecutive parts along an axis, views in PyTorch (ONNX Operators, Split-18)',
  inputs: [data('input'), host('split')],
  traits: ['copies-elements'],
  pytorch: { layer: 'Split', autocast: 'widest', view: 'split' },
  runner: { rule: 'Split' },
  infer: inferSplit,
  dimensions: splitMap,
  cost: (context) => viewCost(context, 'concatenation'),
});

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
    if (parts.kind === 'known') return partOf(size, parts.values, index);
    if (parts.kind === 'unknown')
      return context.outputCount === 1 ? size : unknownDimension(whyUnknown(context, 1), size);
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

/** A single part that is not known is what the others leave. */
function partOf(size: Dimension, parts: readonly Dimension[], index: number): Dimension {
  const part = parts[index];
  if (part === undefined) return unknownDimension('Split gives fewer sizes than outputs');
  if (!isUnknown(part)) return part;
  const others = parts.filter((_, position) => position !== index);
  return others.some(isUnknown)
    ? minimumOfDimensions(part, size)
    : others.reduce((left, other) => subtractDimensions(left, other), size);
}

/** Equal parts of ⌈size / count⌉, the last one smaller where that does not divide (Split-18). */
function equalPart(size: Dimension, index: number, count: number): Dimension {
  if (count <= 0) return unknownDimension('Split into no parts');
  if (typeof size !== 'number') return floorDivideDimensions(size, count);
  const part = Math.ceil(size / count);
  return index === count - 1 ? size - part * (count - 1) : part;
}
