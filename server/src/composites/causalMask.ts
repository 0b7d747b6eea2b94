/** The mask that an exporter builds for `is_causal=True`, which no kernel builds. */

import type { Graph, Operator } from '../model/graph.ts';
import { attributeReaders } from '../operators/attributeReaders.ts';
import { producerOf, readersOf } from './flow.ts';

/**
 * The operators that make `mask` from sizes alone by a lower triangle and that nothing but `path` reads; none where it is
 * made otherwise, shared between layers, or given.
 */
export function causalMask(
  graph: Graph,
  mask: string | undefined,
  path: readonly Operator[],
): readonly Operator[] {
  const members = new Set(path);
  const made: Operator[] = [];
  const isMade = (name: string): boolean => {
    const producer = producerOf(graph, name);
    if (producer === undefined) return name === '' || graph.values.get(name)?.content !== undefined;
    if (graph.values.get(name)?.content !== undefined || producer.type === 'Shape') return true;
    if (members.has(producer)) return true;
    if (made.length > 32 || !readersOf(graph, name).every((reader) => members.has(reader))) return false;
    members.add(producer);
    made.push(producer);
    return producer.inputs.every(isMade);
  };
  if (mask === undefined || !isMade(mask)) return [];
  return made.some(
    (operator) => operator.type === 'Trilu' && attributeReaders(operator.attributes).int('upper') === 0,
  )
    ? made
    : [];
}
