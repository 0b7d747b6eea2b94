/** What is alive at each operator of forward and of backward, beside what forward keeps: the same on any number of GPUs. */

import { isSettled, unfoldColumn } from '../../analysis/repetition/foldGraph.ts';
import type { LoweredGraph } from '../../frameworks/behaviour.ts';
import { memoizeRecent } from '../../model/memoizeRecent.ts';
import { gradientsBetween } from './backwardMemory.ts';
import { forwardMemory } from './forwardMemory.ts';
import type { LoweredTraining } from './valueLifetimes.ts';

export interface LiveMemory {
  /** Bytes of the values that nothing has kept yet, when each operator of forward has run. */
  readonly unkept: Float64Array;
  /** The most bytes of gradients between operators while the backward of each operator runs; empty in inference. */
  readonly gradients: Float64Array;
}

/** Found once for what stages share. */
const walkGraph = memoizeRecent(
  (lowered: LoweredGraph, { training, learns }: WalkedGraph): LiveMemory => ({
    unkept: forwardMemory({ training, lowered }).unkept,
    gradients: learns ? gradientsBetween(training, lowered) : new Float64Array(0),
  }),
  (known, asked) => known.training === asked.training && known.learns === asked.learns,
);

interface WalkedGraph {
  readonly training: LoweredTraining['training'];
  readonly learns: boolean;
}

/** Where blocks repeat, what is alive in one is alive in all: the folded graph is walked, and its columns unfolded. */
export function liveMemory(
  whole: LoweredTraining,
  folded: LoweredTraining | undefined,
  learns: boolean,
): LiveMemory {
  const walk = ({ training, lowered }: LoweredTraining): LiveMemory =>
    walkGraph(lowered, { training, learns });
  const layout = whole.training.analysis.folded?.layout;
  if (folded === undefined || layout === undefined) return walk(whole);
  const { unkept, gradients } = walk(folded);
  const areAlike = (index: number, other: number): boolean =>
    unkept[index] === unkept[other] && gradients[index] === gradients[other];
  if (!isSettled(layout, areAlike)) return walk(whole);
  return {
    unkept: unfoldColumn(layout, unkept),
    gradients: learns ? unfoldColumn(layout, gradients) : gradients,
  };
}
