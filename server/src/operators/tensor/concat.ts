/** Tensors joined along an axis. */

import { addDimensions, type Dimension, isSymbolic, unknownDimension } from '../../model/dimension.ts';
import { isInteger } from '../../model/elementType.ts';
import type { TensorContent } from '../../model/graph.ts';
import type { Inference, InferenceContext } from '../definition.ts';
import { concatMap } from '../dimensions/parts.ts';
import { normalizeAxis, numbersOf } from '../vocabulary/axes.ts';
import { contradict } from '../vocabulary/broadcast.ts';
import { content, gatherContent, positionOf } from '../vocabulary/contents.ts';
import { define } from '../vocabulary/define.ts';
import { data, variadic } from '../vocabulary/facts.ts';
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

export const concat = define({
  type: 'Concat',
  documentation: 'tensors joined along an axis (ONNX Operators, Concat-13)',
  inputs: [variadic(data('inputs'))],
  traits: ['joins'],
  pytorch: { layer: 'Concat', autocast: 'widest' },
  runner: { rule: 'Concat' },
  infer: inferConcat,
  dimensions: (context) => concatMap(context),
  // Exporters join the indices of `x[index]`, of which there is often one; their optimizers leave that out. A program that joins one
  // tensor copies it.
  cost: (context) => {
    const type = context.output(0)?.elementType;
    const isIndex = context.inputCount === 1 && type !== undefined && isInteger(type);
    return isIndex ? viewCost(context) : copyCost(context, { gradientIsView: true });
  },
});

export function inferConcat(context: InferenceContext): Inference {
  const elementType = elementTypeOf(context, 0);
  const given = Array.from({ length: context.inputCount }, (_, index) => context.inputShape(index));
  const ranked = given.find((shape) => shape !== undefined);
  const open = given.indexOf(undefined);
  if (ranked === undefined && open >= 0) return unknownBecause(context, open, elementType);
  // An input of unknown rank has the rank of the others.
  const shapes = given.map(
    (shape, index) => shape ?? (ranked ?? []).map(() => unknownDimension(whyUnknown(context, index))),
  );
  const [first] = shapes;
  // Before version 4 the axis was optional and 1.
  const axis = first && normalizeAxis(context.int('axis', 1), first.length);
  if (first === undefined || axis === undefined) {
    return mismatch(
      `axis ${context.int('axis', 1)} lies outside ${shapes.length === 0 ? 'an operator without inputs' : `the inputs ${shapes.map(printShape).join(', ')}`}`,
    );
  }
  const shape = first.map(
    (size, position): Dimension =>
      position === axis
        ? shapes.flatMap((other) => other[position] ?? []).reduce(addDimensions, 0)
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
