/** A training graph that is divided over the workers of tensor parallelism. */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import type { Division } from './division.ts';
import type { TensorCollective } from './tensorCollectives.ts';
import type { WholeProduct } from './tensorParallel.ts';

export interface ShardedTraining {
  /** Of one worker. */
  readonly training: TrainingGraph;
  readonly collectives: readonly TensorCollective[];
  /** Weights that each worker holds whole and has a part of the gradient of. */
  readonly partialGradients: ReadonlySet<string>;
  /** Products with weights that each worker computes whole. */
  readonly whole: readonly WholeProduct[];
}

/** With the division that it follows from. */
export interface DividedTraining extends ShardedTraining {
  readonly division: Division;
}
