/** What a GPU holds and updates of embedding tables whose gradients are rows, or that are sharded. */

import { distinctRows, type EmbeddingTable, embeddingTables } from '../../analysis/embeddingTables.ts';
import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { FrameworkBehaviour, Update } from '../../frameworks/behaviour.ts';
import { indexBytes, isSharded } from '../../frameworks/embeddingTables.ts';
import type { KernelWork } from '../../hardware/kernelWork.ts';
import type { Optimizer } from '../../model/scenario.ts';
import { type Bytes, bytes, flops } from '../../model/units.ts';

export interface HeldTable extends EmbeddingTable {
  /** GPUs that share it; 1 where each has all of it. */
  readonly shards: number;
  /** Rows of gradients that arrive for what it holds, from all GPUs, and how many different ones these are. */
  readonly arriving: number;
  readonly distinct: number;
}

/** By index of the parameter; empty where all tables have dense gradients. */
export type HeldTables = ReadonlyMap<number, HeldTable>;

/** The tables that a framework does not treat as any other parameter. */
export function unlikeOthers(
  training: TrainingGraph,
  { embeddings }: Pick<FrameworkBehaviour, 'embeddings'>,
): readonly EmbeddingTable[] {
  if (embeddings === undefined || embeddings === 'dense') return none;
  if (embeddings !== 'as-written') return embeddingTables(training);
  return training.analysis.layers.some(({ marks }) => marks?.sparseGradient)
    ? embeddingTables(training).filter(({ isSparse }) => isSparse)
    : none;
}

const none: readonly EmbeddingTable[] = [];

export function heldTables(
  training: TrainingGraph,
  behaviour: Pick<FrameworkBehaviour, 'embeddings'>,
  gpus: number,
): HeldTables {
  const shards = isSharded(behaviour.embeddings) ? gpus : 1;
  return new Map(
    unlikeOthers(training, behaviour).map((table) => {
      const lookups = gpus * table.lookups;
      const distinct = distinctRows(table.rows, lookups) / shards;
      return [table.index, { ...table, shards, arriving: lookups / shards, distinct }];
    }),
  );
}

/** Of the gradient: a row and its index for every lookup. */
export const gradientBytes = ({ lookups, width }: EmbeddingTable, bytesPerElement: number): Bytes =>
  bytes(lookups * (width * bytesPerElement + indexBytes));

/**
 * The update of such tables. SGD adds the rows that arrive; Adam of PyTorch refuses sparse gradients, and SparseAdam sorts and
 * adds rows that are alike, then passes over the different ones (PyTorch 2.x torch/optim/_functional.py, `sparse_adam`,
 * counted operand by operand). Momentum keeps a sparse buffer that grows to the whole table, whose rows are all passed. Sharded
 * tables are updated by one kernel (FBGEMM, split table batched embeddings), state in rows beside the weights.
 */
export function updateOfTables(tables: HeldTables, optimizer: Optimizer, bytesPerElement: number): Update {
  const kernels: KernelWork[] = [];
  let state = 0;
  if (optimizer !== 'none') {
    for (const table of tables.values()) {
      const { rows, width, shards, arriving, distinct } = table;
      const [whole, came, met] = [(rows * width) / shards, arriving * width, distinct * width];
      const { touched, launches } = touchedBy(optimizer, shards > 1, { whole, came, met });
      kernels.push({
        // Most of what momentum moves is its buffer, whole.
        class: optimizer === 'momentum' && shards === 1 ? 'elementwise' : 'embedding',
        dtype: 'fp32',
        flops: flops(0),
        operations: met,
        bytes: bytes(touched * bytesPerElement + arriving * indexBytes),
        launches,
      });
      state += whole * bytesPerElement * statesOf[optimizer];
    }
  }
  return { kernels, stateBytes: bytes(state), temporaryBytes: bytes(0) };
}

const statesOf: Readonly<Record<Optimizer, number>> = { sgd: 0, momentum: 1, adam: 2, adamw: 2, none: 0 };

interface TableElements {
  readonly whole: number;
  readonly came: number;
  readonly met: number;
}

/** Elements read and written, and kernels. */
function touchedBy(
  optimizer: Optimizer,
  isFused: boolean,
  { whole, came, met }: TableElements,
): { readonly touched: number; readonly launches: number } {
  const states = statesOf[optimizer];
  if (isFused) return { touched: came + 2 * (1 + states) * met, launches: 1 };
  if (optimizer === 'sgd') return { touched: 3 * came, launches: 1 };
  // The rows are added to the buffer, which is scaled and added to the weights.
  if (optimizer === 'momentum') return { touched: 3 * came + 5 * whole, launches: 3 };
  // Sorted and added: 1 and 1. Each moment: taken out, subtracted, scaled, added back; the quotient, added to the weights.
  return { touched: came + 41 * met, launches: 24 };
}

/** The operators whose backward makes no gradient of a whole table: its rows are the gradient that comes in. */
export const silentBackward = (tables: HeldTables): readonly number[] =>
  [...tables.values()].flatMap(({ operators }) => operators);
