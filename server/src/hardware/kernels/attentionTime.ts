/**
 * Time of attention by one kernel that never stores the scores, from its shape.
 *
 * A thread block takes 128 queries of a head and walks through the keys they see; blocks are spread over the
 * multiprocessors (FlashAttention-2, arXiv 2307.08691, section 3.2). With a causal mask it stops at the diagonal, so
 * the block of the last queries sees all keys and takes longest, and blocks see fewer in the mean:
 *
 *   t = max(longest block, sum of the blocks / multiprocessors)
 *   t_block = 4 · 128 · size · (keys seen + k₀) / (peak / multiprocessors · e_size)
 *
 * k₀ is what starting and ending a block costs, as keys; e_size is the share of the peak at this size of a head. Sizes
 * between two that kernels exist for are padded to the larger one. Shares and k₀ are fitted (`curves.json`).
 * Backward has five matmuls for two (algorithm 2 of the same paper); how much slower they are is of published runs.
 */

import type { AttentionShape } from '../../operators/definition.ts';
import { attentionBackward } from '../assumedShares.ts';
import type { AttentionCurve } from '../curves.ts';
import type { BoundTime, Rates } from './gemmTime.ts';

/** `moved`: bytes of queries, keys, values and results. `perScore`: seconds of a multiprocessor. Without launch. */
export function attentionTime(
  rates: Rates,
  curve: AttentionCurve,
  { pass, sequences, queries, keys, size, causal }: AttentionShape,
  moved: number,
  perScore = 0,
): BoundTime {
  const [padded, share] = curve.shares.find(([most]) => size <= most) ?? [
    size,
    curve.shares.at(-1)?.[1] ?? 1,
  ];
  const blocks = sequences * Math.ceil(queries / blockQueries);
  const forward = pass === 'forward';
  const perKey = (forward ? 4 : 10) * blockQueries * padded;
  const reached = share * (forward ? 1 : attentionBackward.share.middle * (curve.gradients ?? 1));
  const blockTime = (seen: number): number => {
    const computed = Math.ceil(seen / keyStep) * keyStep;
    const products =
      (perKey * (computed + curve.depth + (forward ? 0 : attentionBackward.depth))) /
      ((rates.peak / rates.multiprocessors) * reached);
    return products + blockQueries * computed * perScore;
  };
  // The first of the queries sees the keys that are more than the queries, the last sees all.
  const mean = causal ? keys - Math.max(0, Math.min(queries, keys) - blockQueries) / 2 : keys;
  const compute = Math.max(blockTime(keys), (blocks / rates.multiprocessors) * blockTime(mean));
  const memory = moved / rates.bandwidth;
  return { time: Math.max(compute, memory), bound: compute >= memory ? 'compute' : 'memory' };
}

const blockQueries = 128;
const keyStep = 64;
