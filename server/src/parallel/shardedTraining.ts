/** A training graph that is divided over the workers of a copy. */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import type { AttentionCore } from './contextParallel.ts';
import type { Division } from './division.ts';
import type { MeshCollective } from './meshCollective.ts';
import type { WholeProduct } from './tensorParallel.ts';

export interface ShardedTraining {
  /** Of one worker. */
  readonly training: TrainingGraph;
  readonly collectives: readonly MeshCollective[];
  /** Weights that each worker holds whole and has a part of the gradient of. */
  readonly partialGradients: ReadonlySet<string>;
  /** Products with weights that each worker computes whole. */
  readonly whole: readonly WholeProduct[];
  /** Operators that each worker of context parallelism computes over the whole sequence, with the reason. */
  readonly wholeSequence: readonly WholeProduct[];
  /** Attention over positions of several workers. */
  readonly cores: readonly AttentionCore[];
  /** Mixtures of experts, whose time the busiest worker decides. */
  readonly mixtures: readonly number[];
}

/** With the divisions over the workers of each axis. */
export interface DividedTraining extends ShardedTraining {
  readonly divisions: readonly Division[];
}
