/**
 * When the last thread block of a kernel ends. A GPU starts the blocks of a grid in order, each on the multiprocessor that is
 * free first (list scheduling: Graham, "Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math. 17, 1969). Where
 * blocks differ, as under a causal mask, a few heads of short sequences leave most multiprocessors idle at the end.
 */

import { floatAt } from '../../model/at.ts';

/** `costs`: of the blocks of one sequence, in the order in which they start. In the unit of `costs`. */
export function lastBlockEnd(costs: readonly number[], sequences: number, multiprocessors: number): number {
  const sum = costs.reduce((total, cost) => total + cost, 0);
  // Of the many waves of a large grid, the first leave no trace at its end.
  const simulated = Math.min(sequences, Math.max(1, Math.floor(mostBlocks / costs.length)));
  const before = ((sequences - simulated) * sum) / multiprocessors;
  const ends = new Float64Array(multiprocessors);
  let last = 0;
  for (let sequence = 0; sequence < simulated; sequence += 1) {
    for (const cost of costs) {
      const end = floatAt(ends, 0) + cost;
      last = Math.max(last, end);
      replaceLeast(ends, end);
    }
  }
  return before + last;
}

const mostBlocks = 2048;

/** Of a binary heap, least first. */
function replaceLeast(heap: Float64Array, value: number): void {
  let parent = 0;
  for (;;) {
    let child = 2 * parent + 1;
    const left = heap[child];
    if (left === undefined) break;
    const right = heap[child + 1];
    const isRight = right !== undefined && right < left;
    const least = isRight ? right : left;
    if (isRight) child += 1;
    if (least >= value) break;
    heap[parent] = least;
    parent = child;
  }
  heap[parent] = value;
}
