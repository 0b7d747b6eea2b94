/** An axis counted from the last, −1, as it passes operators that move axes; broadcasting leaves such a count as it is. */

import type { Dimension } from '../model/dimension.ts';
import { equalDimensions } from '../model/dimension.ts';
import { type Graph, isKnownShape, type Operator } from '../model/graph.ts';
import { attributeReaders } from '../operators/attributeReaders.ts';

/** The shape of a value, where at least its rank is known. */
export function shapeOf(graph: Graph, name: string | undefined): readonly Dimension[] | undefined {
  const type = graph.values.get(name ?? '')?.type;
  return type?.kind === 'tensor' && isKnownShape(type.shape) ? type.shape : undefined;
}

/**
 * The axis that a softmax sums over, from the last; `undefined` where it sums over several, as before opset 13 over all
 * from its axis on, or where its rank is not known.
 */
export function axisOfSoftmax(graph: Graph, softmax: Operator): number | undefined {
  const rank = shapeOf(graph, softmax.inputs[0])?.length;
  const opset = softmax.opset ?? graph.operatorSets.get(softmax.domain) ?? 13;
  const given = attributeReaders(softmax.attributes).int('axis') ?? (opset < 13 ? 1 : -1);
  const axis = given < 0 ? given : rank === undefined ? undefined : given - rank;
  return opset < 13 && axis !== -1 ? undefined : axis;
}

/** Where an axis of the output lies in the input of a view; `undefined` where a reshape takes it apart. */
export function axisBefore(graph: Graph, view: Operator, axis: number): number | undefined {
  if (view.type !== 'Transpose') return keptAxis(graph, view, axis);
  const order = permutationOf(graph, view);
  const from = order?.[order.length + axis];
  return order === undefined || from === undefined ? undefined : from - order.length;
}

/** Where an axis of the input of a view lies in its output; `undefined` where a reshape takes it apart. */
export function axisBehind(graph: Graph, view: Operator, axis: number): number | undefined {
  if (view.type !== 'Transpose') return keptAxis(graph, view, axis);
  const order = permutationOf(graph, view);
  const to = order?.indexOf(order.length + axis) ?? -1;
  return order === undefined || to < 0 ? undefined : to - order.length;
}

/** A reshape keeps an axis where it and all behind it stay as long as they are. */
function keptAxis(graph: Graph, view: Operator, axis: number): number | undefined {
  const [before, behind] = [view.inputs[0], view.outputs[0]].map((name) => shapeOf(graph, name)?.slice(axis));
  return sameShape(before, behind) ? axis : undefined;
}

/** The order of axes that a `Transpose` makes. */
function permutationOf(graph: Graph, transpose: Operator): readonly number[] | undefined {
  const given = attributeReaders(transpose.attributes).ints('perm');
  if (given !== undefined) return given;
  return shapeOf(graph, transpose.inputs[0])
    ?.map((_, axis) => axis)
    .toReversed();
}

export const sameShape = (
  left: readonly Dimension[] | undefined,
  right: readonly Dimension[] | undefined,
): boolean =>
  left !== undefined &&
  left.length === right?.length &&
  left.every((dimension, axis) => equalDimensions(dimension, right[axis] ?? -1));
