/** A parameter's gradient at the moment backward has finished it. */

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
