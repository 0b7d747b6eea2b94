/**
 * Operators whose results AOTAutograd never computes again, because something they read is used before them too, with a
 * library's kernel between: a sum around a block. Else backward would add up all blocks from the first one.
 *
 * Source: PyTorch 2.13, torch/_functorch/partitioners.py `solve_min_cut` (`ban_if_used_far_apart`) and its
 * `find_first_unfusible`.
 */

import type { Operator } from '../../../model/graph.ts';
import { type CompiledGraph, isFusible } from './compiledGraph.ts';

export function usedFarApart(graph: CompiledGraph): ReadonlySet<number> {
  const { operators, values } = graph.training.analysis.graph;
  const fusible = operators.map((operator) => isFusible(graph.partOf(operator)));
  const readersOf = (operator: Operator | undefined): readonly number[] =>
    (operator?.outputs ?? []).flatMap((name) => values.get(name)?.consumers ?? []);

  /** The first operator, up to `last`, that is not fused with what lies between it and the readers. */
  const firstUnfusible = (readers: readonly number[], last: number): number => {
    let first = last;
    const seen = new Set(readers);
    const waiting = [...readers];
    for (let reader = waiting.pop(); reader !== undefined; reader = waiting.pop()) {
      for (const next of readersOf(operators[reader])) {
        if (next >= first) continue;
        if (!(fusible[reader] && fusible[next])) first = next;
        else if (!seen.has(next)) {
          seen.add(next);
          waiting.push(next);
        }
      }
    }
    return first;
  };

  const found = new Set<number>();
  for (const [name, { consumers, role, producer }] of values) {
    // Only what is fused with the operator that makes the value would be computed again with it.
    if (producer === undefined || !fusible[producer]) continue;
    // A number that many operators read is written into each of them.
    if (consumers.length < 2 || (role === 'constant' && graph.elementsOf(name) === 1)) continue;
    const last = Math.max(...consumers);
    const first = firstUnfusible(consumers, last);
    for (const reader of consumers) if (reader > first && fusible[reader]) found.add(reader);
  }
  return found;
}
