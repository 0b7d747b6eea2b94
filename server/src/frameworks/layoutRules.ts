/** What a framework sets of a parallel layout where nobody says, and which layouts it refuses. */

import type { ParallelScenario, PipelineScheduleName } from '../model/scenario.ts';

export interface LayoutRules {
  /** Where a person says nothing. */
  readonly defaults: Partial<Pick<ParallelScenario, 'sequence' | 'gathered' | 'contextExchange' | 'stages'>>;
  /** Left out: all. */
  readonly schedules?: readonly PipelineScheduleName[];
  /** Why it does not run a layout, and what to do; `undefined` where it does. */
  readonly refuses?: (layout: AskedLayout) => string | undefined;
  /** Micro-batches of a step with interleaved stages are a multiple of ranks. */
  readonly wholeRounds?: true;
}

export interface AskedLayout {
  readonly parallel: ParallelScenario;
  /** Blocks that the model can be cut between. */
  readonly blocks: number;
  /** Heads of each attention. */
  readonly heads: readonly number[];
  readonly options: ReadonlyMap<string, string>;
}

/** A program of one's own in PyTorch takes what the engine can cost. */
export const freeLayout: LayoutRules = { defaults: {} };
