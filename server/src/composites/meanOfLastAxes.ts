/** Whether a reduction is over the last axes and keeps them, as layer normalizations are. */

import type { Graph, Operator } from '../model/graph.ts';
import { rankOf } from './flow.ts';

/** Axes are an attribute before operator set 18, and an input from there. */
export function reducesLastAxes(graph: Graph, { attributes, inputs }: Operator): boolean {
  const keeps = attributes.get('keepdims');
  if (keeps?.kind === 'int' && keeps.value === 0) return false;
  const attribute = attributes.get('axes');
  const axes =
    attribute?.kind === 'ints' ? attribute.value : graph.values.get(inputs[1] ?? '')?.content?.elements;
  if (axes === undefined || axes.length === 0) return false;
  const rank = rankOf(graph, inputs[0] ?? '');
  const fromEnd = axes.map((axis) =>
    typeof axis !== 'number' ? Number.NaN : axis < 0 ? axis : rank === undefined ? Number.NaN : axis - rank,
  );
  return fromEnd.toSorted((left, right) => right - left).every((axis, position) => axis === -1 - position);
}
