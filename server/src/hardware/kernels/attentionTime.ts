/**
 * Time of attention by one kernel that never stores the scores, from its shape.
 *
 * A thread block takes 128 queries of a head and walks through the keys they see; blocks are spread over the
 * multiprocessors (FlashAttention-2, arXiv 2307.08691, section 3.2). With a causal mask it stops at the diagonal, so
 * the block of the last queries sees all keys and takes longest:
 *
 *   t = when the last block ends (`lastBlock.ts`)
 *   t_block = 4 · 128 · size · (keys seen + k₀) / (peak / multiprocessors · e_size)
 *
 * Under a window it starts where the first of its queries begins to see (`n_block_min` of FlashAttention), in backward it ends where the
 * last one does.
 *
 * k₀ is what starting and ending a block costs, as keys; e_size is the share of the peak at this size of a head. Sizes
 * between two that kernels exist for are padded to the larger one. Shares and k₀ are fitted (`curves.json`).
 * Backward has five matmuls for two and a block for 128 keys, of which the first are seen by all queries (algorithm 2 of
 * the same paper). It has shares of its own where it was measured; elsewhere how much slower it is is of published runs.
 */

import type { AttentionShape } from '../../operators/definition.ts';
import { attentionBackward } from '../assumedShares.ts';
import type { AttentionCurve } from '../curves.ts';
import type { BoundTime, Rates } from './gemmTime.ts';
import { lastBlockEnd } from './lastBlock.ts';

/** `moved`: bytes of queries, keys, values and results. `perScore`: seconds of a multiprocessor. Without launch. */
export function attentionTime(
  rates: Rates,
  curve: AttentionCurve,
  shape: AttentionShape,
  moved: number,
  perScore = 0,
): BoundTime {
  const { pass, size } = shape;
  const forward = pass === 'forward';
  const { shares, depth } = forward ? curve : (curve.backward ?? assumedBackward(curve));
  const [padded, share] = shares.find(([most]) => size <= most) ?? [size, shares.at(-1)?.[1] ?? 1];
  const perKey =
    ((forward ? 4 : 10) * blockQueries * padded) / ((rates.peak / rates.multiprocessors) * share);
  // What scores take besides lengthens the walk, not the start.
  const started = (depth * perKey) / (perKey + blockQueries * perScore);
  const walked = walkedUntilLast(shape, started, rates.multiprocessors);
  const compute = walked * (perKey + blockQueries * perScore);
  const memory = moved / rates.bandwidth;
  return { time: Math.max(compute, memory), bound: compute >= memory ? 'compute' : 'memory' };
}

const blockQueries = 128;
const keyStep = 64;

const assumedBackward = ({ shares, depth, gradients = 1 }: AttentionCurve): BackwardCurve => ({
  shares: shares.map(([size, share]) => [size, share * attentionBackward.share.middle * gradients] as const),
  depth: depth + attentionBackward.depth,
});

type BackwardCurve = NonNullable<AttentionCurve['backward']>;

/** When the last block ends, in keys (backward in queries) that one multiprocessor walks through. */
function walkedUntilLast(
  { pass, sequences, queries, keys, causal, window = Number.POSITIVE_INFINITY }: AttentionShape,
  depth: number,
  multiprocessors: number,
): number {
  const forward = pass === 'forward';
  const [cut, seen] = forward ? [queries, keys] : [keys, queries];
  const count = Math.ceil(cut / blockQueries);
  const stepped = (walked: number): number => Math.ceil(walked / keyStep) * keyStep + depth;
  if (!causal) return Math.ceil((sequences * count) / multiprocessors) * stepped(seen);
  const key = `${pass} ${sequences} ${queries} ${keys} ${window} ${depth} ${multiprocessors}`;
  let walked = known.get(key);
  if (walked === undefined) {
    // All queries see the keys that are more than the queries. The last keys are seen by the last queries alone.
    const before = forward ? keys - queries : 0;
    const costs = Array.from({ length: count }, (_, index) =>
      stepped(Math.max(1, Math.min(seen, before + (index + 1) * blockQueries, blockQueries + window))),
    );
    walked = lastBlockEnd(forward ? costs : costs.reverse(), sequences, multiprocessors);
    if (known.size >= mostKnown) known.clear();
    known.set(key, walked);
  }
  return walked;
}

/** Layers of a model are alike, and a fit asks for each shape again and again. */
const known = new Map<string, number>();
const mostKnown = 20_000;
