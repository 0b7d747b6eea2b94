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
  const { pass, sequences, queries, keys, size, causal } = shape;
  const forward = pass === 'forward';
  const { shares, depth } = forward ? curve : (curve.backward ?? assumedBackward(curve));
  const [padded, share] = shares.find(([most]) => size <= most) ?? [size, shares.at(-1)?.[1] ?? 1];
  const perKey =
    ((forward ? 4 : 10) * blockQueries * padded) / ((rates.peak / rates.multiprocessors) * share);
  // What scores take besides lengthens the walk, not the start.
  const started = (depth * perKey) / (perKey + blockQueries * perScore);
  const ofKeys = forward ? { from: queries, seen: keys } : { from: keys, seen: queries };
  const blocks = unitsOf(
    { sequences, ...ofKeys, causal, longestFirst: !forward },
    started,
    rates.multiprocessors,
  );
  const compute = blocks * (perKey + blockQueries * perScore);
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

interface Blocks {
  readonly sequences: number;
  /** What blocks are cut from, and what each walks through. */
  readonly from: number;
  readonly seen: number;
  readonly causal: boolean;
  readonly longestFirst: boolean;
}

/** When the last block ends, in keys that one multiprocessor walks through. */
function unitsOf(blocks: Blocks, depth: number, multiprocessors: number): number {
  const { sequences, from, seen, causal, longestFirst } = blocks;
  const count = Math.ceil(from / blockQueries);
  const stepped = (walked: number): number => Math.ceil(walked / keyStep) * keyStep + depth;
  if (!causal) return Math.ceil((sequences * count) / multiprocessors) * stepped(seen);
  const key = `${sequences} ${from} ${seen} ${longestFirst} ${depth} ${multiprocessors}`;
  let units = known.get(key);
  if (units === undefined) {
    // The first of the queries sees the keys that are more than the queries, the last sees all.
    const costs = Array.from({ length: count }, (_, index) =>
      stepped(Math.max(1, Math.min(seen, seen - from + (index + 1) * blockQueries))),
    );
    units = lastBlockEnd(longestFirst ? costs.reverse() : costs, sequences, multiprocessors);
    if (known.size >= mostKnown) known.clear();
    known.set(key, units);
  }
  return units;
}

/** Layers of a model are alike, and a fit asks for each shape again and again. */
const known = new Map<string, number>();
const mostKnown = 20_000;
