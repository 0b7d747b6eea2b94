/** A parameter's gradient at the moment backward has finished it, and weights that have none. */

import type { EmbeddingTable } from '../analysis/embeddingTables.ts';
import type { Bytes } from '../model/units.ts';

export interface Gradient {
  readonly parameter: string;
  /** Index of the parameter in `ModelAnalysis.parameters`. */
  readonly index: number;
  readonly elements: number;
  /** As autograd accumulates it. */
  readonly bytes: Bytes;
  /** Position in backward order after which it is complete. */
  readonly readyAfter: number;
  /** Position in forward order of the first operator that uses the parameter. */
  readonly usedFrom: number;
  /** Where it is an embedding table that the framework does not send whole. */
  readonly table?: EmbeddingTable;
  /** Weight or bias of a batch normalization. */
  readonly ofBatchNorm?: boolean;
  /** Of experts that are divided over so many workers (`Parameter.expertWays`). */
  readonly expertWays?: number;
}

/** A weight that is not trained: workers that hold shards of it gather it all the same. */
export interface FrozenWeight {
  readonly parameter: string;
  /** Index in `ModelAnalysis.frozen`. */
  readonly index: number;
  /** That are gathered: fewer than it has where several lie in one. */
  readonly elements: number;
  readonly bytes: Bytes;
  /** Position in forward order of the first operator that uses it. */
  readonly usedFrom: number;
  /** Position in backward order of that operator; left out where backward does not come so far. */
  readonly passedAfter?: number;
  /** As that of a gradient. */
  readonly expertWays?: number;
}
