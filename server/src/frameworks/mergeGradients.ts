/**
 * Which neighbouring gradients travel as one message, so that start-ups are saved and little is waited for.
 *
 * Two rules of the same authors, both greedy over gradients in the order backward completes them, so neither is always
 * the best: where start-up is long against backward, buckets of one size can do better. Each is linear in gradients.
 */

import type { LinearCost } from '../communication/formulas/linkCost.ts';
import { linearTime } from '../communication/formulas/linkCost.ts';
import { type Bytes, bytes, type Seconds, seconds } from '../model/units.ts';

/** A gradient and when backward has completed it, from the start of backward. */
export interface ReadyGradient {
  readonly ready: Seconds;
  readonly bytes: Bytes;
  readonly elements: number;
}

/** Gradients from `first` to before `end`, in ready order, as one message. */
export interface MergedGroup {
  readonly first: number;
  readonly end: number;
  readonly bytes: Bytes;
  /** When the last of them is complete. */
  readonly ready: Seconds;
}

/**
 * MG-WFBP: a message that would still be on the wire when the next gradient is complete waits for it, if it has not
 * started, or if it has waited less than a start-up by then. One of fewer than `fewest` elements waits in any case.
 * Source: HKBU-HPML/MG-WFBP, distributed_optimizer.py; hclhkbu/B-Caffe, scripts/gmwfbp.py; of the fewest elements,
 * HKBU-HPML/ddl-benchmarks, mgwfbp/hv_distributed_optimizer.py (8,192).
 */
export const mergeGradients = (
  gradients: readonly ReadyGradient[],
  cost: LinearCost,
  fewest = 0,
): readonly MergedGroup[] =>
  mergeWhere(gradients, ({ start, size, elements, next }) => {
    const end = seconds(start + linearTime(cost, size));
    const waits = isBefore(next, end) && isBefore(next, start + cost.startup);
    return elements < fewest || waits ? undefined : end;
  });

/**
 * The earlier rule: wait for the next gradient if that takes less than 2·P·α, α = 20 µs·P for P workers.
 * Source: hclhkbu/B-Caffe.
 */
export const mergeWithinWait = (
  gradients: readonly ReadyGradient[],
  workers: number,
): readonly MergedGroup[] =>
  // When messages end decides nothing.
  mergeWhere(gradients, ({ ready, next }) =>
    isBefore(next, ready + 2 * workers * 20e-6 * workers) ? undefined : ready,
  );

/** Times that are equal up to the order in which they were added up are equal: which comes first must not hang on it. */
const isBefore = (time: number, other: number): boolean => other - time > 1e-12 * other;

interface OpenGroup {
  /** When the message would start: its gradients are complete and the messages before it have arrived. */
  readonly start: Seconds;
  readonly size: Bytes;
  readonly elements: number;
  /** When its last gradient is complete. */
  readonly ready: Seconds;
  /** When the gradient after it is complete. */
  readonly next: Seconds;
}

/** `endOf` gives the end of a message that is sent as it is, `undefined` where it takes the next gradient in. */
function mergeWhere(
  gradients: readonly ReadyGradient[],
  endOf: (group: OpenGroup) => Seconds | undefined,
): readonly MergedGroup[] {
  const groups: MergedGroup[] = [];
  let first = 0;
  let size = 0;
  let elements = 0;
  let free = 0;
  for (const [index, { ready, bytes: more, elements: count }] of gradients.entries()) {
    size += more;
    elements += count;
    const next = gradients[index + 1]?.ready;
    const start = seconds(Math.max(free, ready));
    const end = next === undefined ? 0 : endOf({ start, size: bytes(size), elements, ready, next });
    if (end === undefined) continue;
    groups.push({ first, end: index + 1, bytes: bytes(size), ready });
    first = index + 1;
    size = 0;
    elements = 0;
    free = end;
  }
  return groups;
}
