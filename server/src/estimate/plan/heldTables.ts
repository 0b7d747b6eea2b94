/** What a GPU holds and updates of embedding tables whose gradients are rows, or that are sharded. */

import { distinctRows, type EmbeddingTable, embeddingTables } from '../../analysis/embeddingTables.ts';
import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { FrameworkBehaviour, Update } from '../../frameworks/behaviour.ts';
import { indexBytes, isSharded } from '../../frameworks/embeddingTables.ts';
import { optimizerDefinitions } from '../../frameworks/optimizers/optimizers.ts';
import { fusedUpdate, pytorchGradients, statesOf } from '../../frameworks/sparseGradients.ts';
import type { KernelWork } from '../../hardware/kernelWork.ts';
import type { Optimizer } from '../../model/scenario.ts';
import { type Bytes, bytes, flops } from '../../model/units.ts';

export interface HeldTable extends EmbeddingTable {
  /** GPUs that share it; 1 where each has all of it. */
  readonly shards: number;
  /** Rows of the gradient of one GPU. */
  readonly gradientRows: number;
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
  behaviour: Pick<FrameworkBehaviour, 'embeddings' | 'sparseGradients'>,
  gpus: number,
): HeldTables {
  const shards = isSharded(behaviour.embeddings) ? gpus : 1;
  const { rows } = behaviour.sparseGradients ?? pytorchGradients;
  return new Map(
    unlikeOthers(training, behaviour).map((table) => {
      const lookups = gpus * table.lookups;
      const distinct = distinctRows(table.rows, lookups) / shards;
      return [
        table.index,
        { ...table, shards, gradientRows: rows(table), arriving: lookups / shards, distinct },
      ];
    }),
  );
}

/** Of the gradient: rows and their indices. */
export const gradientBytes = ({ gradientRows, width }: HeldTable, bytesPerElement: number): Bytes =>
  bytes(gradientRows * (width * bytesPerElement + indexBytes));

/** The update of such tables, by the framework; sharded ones keep their state in rows beside the weights. */
export function updateOfTables(
  tables: HeldTables,
  optimizer: Optimizer,
  bytesPerElement: number,
  { sparseGradients = pytorchGradients }: Pick<FrameworkBehaviour, 'sparseGradients'>,
): Pick<Update, 'kernels' | 'stateBytes'> {
  const kernels: KernelWork[] = [];
  let state = 0;
  if (optimizer !== 'none') {
    const { ofRows } = optimizerDefinitions[optimizer];
    for (const table of tables.values()) {
      const { rows, width, shards, arriving, distinct } = table;
      const [whole, came, met] = [(rows * width) / shards, arriving * width, distinct * width];
      const update = shards > 1 ? fusedUpdate : sparseGradients.update;
      const { touched, launches, passesWhole } = update(ofRows, { whole, came, met });
      kernels.push({
        class: passesWhole === true ? 'elementwise' : 'embedding',
        dtype: 'fp32',
        flops: flops(0),
        operations: met,
        bytes: bytes(touched * bytesPerElement + arriving * indexBytes),
        launches,
      });
      state += tableState(table, optimizer, bytesPerElement);
    }
  }
  return { kernels, stateBytes: bytes(state) };
}

/** What an optimizer keeps of the rows that a GPU holds, in bytes. */
export const tableState = (
  { rows, width, shards }: HeldTable,
  optimizer: Optimizer,
  bytesPerElement: number,
): number =>
  optimizer === 'none'
    ? 0
    : ((rows * width) / shards) * bytesPerElement * statesOf[optimizerDefinitions[optimizer].ofRows];

/** The operators whose backward makes no gradient of a whole table: its rows are the gradient that comes in. */
export const silentBackward = (tables: HeldTables): readonly number[] =>
  [...tables.values()].flatMap(({ operators }) => operators);
