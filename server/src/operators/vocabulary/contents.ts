/**
 * Known contents of small tensors. Shape arithmetic of exporters runs through these, with symbols inside.
 */

import { countElements } from '../../model/countElements.ts';
import { type Dimension, unknownDimension } from '../../model/dimension.ts';
import type { TensorContent } from '../../model/graph.ts';
import type { InferenceContext } from '../definition.ts';
import { numbersOf } from './axes.ts';
import { broadcastPosition, broadcastShapes } from './broadcast.ts';

/** Larger tensors are data, not shapes; following their contents would cost more than it tells. */
export const largestContent = 1024;

export function content(shape: readonly number[], elements: readonly Dimension[]): TensorContent | undefined {
  return elements.length <= largestContent && elements.length === countElements(shape)
    ? { shape, elements }
    : undefined;
}

/** Contents of a tensor of this shape, where the shape is known and small. */
export function contentOf(
  shape: readonly Dimension[],
  element: (position: number) => Dimension,
): TensorContent | undefined {
  const numbers = numbersOf(shape);
  if (numbers === undefined) return undefined;
  const count = countElements(numbers);
  if (count > largestContent) return undefined;
  return { shape: numbers, elements: Array.from({ length: count }, (_, position) => element(position)) };
}

/** Combines inputs element by element, broadcasting them. `undefined` unless all are known. */
export function combineContents(
  inputs: readonly (TensorContent | undefined)[],
  combine: (elements: readonly Dimension[]) => Dimension,
): TensorContent | undefined {
  const known = inputs.filter((input) => input !== undefined);
  if (known.length !== inputs.length || known.length === 0) return undefined;
  const shape = broadcastShapes(known.map((input) => input.shape));
  if (shape === undefined) return undefined;
  const numbers = numbersOf(shape);
  if (numbers === undefined) return undefined;
  return contentOf(numbers, (position) =>
    combine(known.map((input) => elementAt(input, broadcastPosition(position, numbers, input.shape)))),
  );
}

/** The same elements in another shape. */
export function reshapeContent(
  input: TensorContent | undefined,
  shape: readonly Dimension[],
): TensorContent | undefined {
  const numbers = numbersOf(shape);
  return input === undefined || numbers === undefined ? undefined : content(numbers, input.elements);
}

/** A tensor whose element at these coordinates is the input's element at the coordinates `source` gives. */
export function gatherContent(
  input: TensorContent | undefined,
  shape: readonly Dimension[],
  source: (coordinates: readonly number[]) => readonly number[] | undefined,
): TensorContent | undefined {
  const numbers = numbersOf(shape);
  if (input === undefined || numbers === undefined) return undefined;
  return contentOf(numbers, (position) => {
    const coordinates = source(coordinatesOf(position, numbers));
    return coordinates === undefined
      ? unknownDimension('an index lies outside the tensor')
      : elementAt(input, positionOf(coordinates, input.shape));
  });
}

export function elementAt(input: TensorContent, position: number): Dimension {
  return input.elements[position] ?? unknownDimension('an index lies outside the tensor');
}

/** The only element of a scalar or one-element input. */
export function scalarOf(context: InferenceContext, index: number): Dimension | undefined {
  const elements = context.inputContent(index)?.elements;
  return elements?.length === 1 ? elements[0] : undefined;
}

export function coordinatesOf(position: number, shape: readonly number[]): readonly number[] {
  const coordinates: number[] = [];
  let rest = position;
  for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
    const size = shape[axis] ?? 1;
    coordinates.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return coordinates;
}

export function positionOf(coordinates: readonly number[], shape: readonly number[]): number {
  return coordinates.reduce((position, coordinate, axis) => position * (shape[axis] ?? 1) + coordinate, 0);
}
