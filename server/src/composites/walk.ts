/** Steps from a value to what computes it and to what reads it. */

import type { Graph } from '../model/graph.ts';
import { producerOf } from './flow.ts';

/** The same elements in another arrangement, as long as nothing is repeated. */
export const views: ReadonlySet<string> = new Set([
  'Flatten',
  'Identity',
  'Reshape',
  'Squeeze',
  'Transpose',
  'Unsqueeze',
]);

export const casts: ReadonlySet<string> = new Set(['Cast', 'CastLike']);

/** What a value is a view or a cast of. */
export function baseOf(graph: Graph, name: string): string {
  let base = name;
  for (let steps = 0; steps < 8; steps += 1) {
    const producer = producerOf(graph, base);
    if (producer === undefined || !(views.has(producer.type) || casts.has(producer.type))) return base;
    base = producer.inputs[0] ?? '';
  }
  return base;
}

/** Whether a value is one number, whatever its rank. */
export function isScalar(graph: Graph, name: string): boolean {
  const type = graph.values.get(name)?.type;
  return (
    type?.kind === 'tensor' &&
    Array.isArray(type.shape) &&
    type.shape.every((dimension: unknown) => dimension === 1)
  );
}
