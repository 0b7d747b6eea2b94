/**
 * What is sent of embedding tables that are not all-reduced whole: the rows looked up, or, where tables are sharded, indices,
 * looked-up rows and their gradients.
 *
 * Sparse gradients. PyTorch DDP gives each a bucket of its own (torch/csrc/distributed/c10d/reducer.cpp,
 * `expect_sparse_gradient`). NCCL refuses them (github.com/pytorch/pytorch/issues/22400, open in 2024). Gloo first adds rows
 * that are alike on the GPU, then gathers a few sizes, indices and values of all ranks in host memory, and adds again
 * (PyTorch 2.x torch/csrc/distributed/c10d/ProcessGroupGloo.cpp, `AsyncSparseAllreduceCUDAWork`). A process group has one
 * backend for a device, so that dense buckets go by gloo too. Horovod gathers indices and values of all lookups as they are
 * (horovod at 62ed339, horovod/torch/mpi_ops.py, `sparse_allreduce_async`); with `sparse_as_dense` it sends tables whole.
 *
 * Sharded tables, as TorchRec has them (meta-pytorch/torchrec at 10d024e and 0fcce44, torchrec/distributed/sharding) and DLRM
 * before it (Naumov et al., arXiv 1906.00091, section 4): indices go to the GPUs that hold their rows (`KJTAllToAll`).
 * Table-wise, what is looked up comes back by all-to-all. Row-wise, parts of bags are summed by reduce-scatter
 * (rw_sharding.py, `RwPooledEmbeddingDist`), and rows that no bag adds come back by all-to-all from the GPU that holds each
 * (rw_sequence_sharding.py, `RwSequenceEmbeddingDist`). Gradients go the way back, all-to-all or all-gather. Tables are taken
 * as spread evenly.
 *
 * TensorFlow's gather always gives rows (IndexedSlices), one for each lookup. MXNet's row_sparse arrays have each row once.
 */

import { distinctRows, type EmbeddingTable } from '../analysis/embeddingTables.ts';
import type { CollectiveOperation } from '../communication/operation.ts';
import { type Bytes, bytes } from '../model/units.ts';
import {
  backwardAt,
  type Channel,
  forwardAt,
  type Message,
  type SyncPoint,
  stepStart,
  theUpdate,
  type WorkerGroup,
} from './exchange.ts';
import type { Gradient } from './gradient.ts';
import { type FrameworkOption, oneOf } from './options.ts';
import { ncclStream } from './packBuckets.ts';

export type EmbeddingHandling = 'as-written' | 'dense' | 'sparse' | 'table-wise' | 'row-wise';

const explained: Readonly<Record<EmbeddingHandling, string>> = {
  'as-written': 'as-written (the gradient is sparse where a layer has `sparse=True`)',
  dense: 'dense (gradients of whole tables)',
  sparse: 'sparse (gradients of the rows looked up)',
  'table-wise': 'table-wise (each GPU holds some tables, as TorchRec)',
  'row-wise': 'row-wise (each GPU holds some rows of every table)',
};

/** The first choice is the default. */
export const embeddingsOption = (...choices: readonly EmbeddingHandling[]): FrameworkOption => ({
  name: 'embeddings',
  default: choices[0] ?? 'as-written',
  documentation: `embedding tables: ${choices.map((choice) => explained[choice]).join(', ')}`,
  expects: oneOf(...choices),
});

export const embeddingHandling = (options: ReadonlyMap<string, string>): EmbeddingHandling => {
  const asked = options.get('embeddings');
  return asked !== undefined && isHandling(asked) ? asked : 'as-written';
};

const isHandling = (text: string): text is EmbeddingHandling => text in explained;

export const isSharded = (handling: EmbeddingHandling | undefined): boolean =>
  handling === 'table-wise' || handling === 'row-wise';

/** Those that are sent whole. */
export const denseGradients = (gradients: readonly Gradient[]): readonly Gradient[] =>
  gradients.every(({ table }) => table === undefined)
    ? gradients
    : gradients.filter(({ table }) => table === undefined);

/** An index, and a row in the type of the weights. */
export const indexBytes = 8;
export const rowBytes = ({ bytes: size, elements, table }: Gradient): number =>
  table === undefined ? 0 : (size / elements) * table.width;

/** How many rows a GPU sends of a table: one for each lookup, or, where those that are alike are added first, each once. */
export type RowsSent = (table: EmbeddingTable) => number;
export const everyLookup: RowsSent = ({ lookups }) => lookups;
export const differentRows: RowsSent = ({ rows, lookups }) => distinctRows(rows, lookups);

/** Rows and indices that a GPU sends of a table; of other parameters the gradient. */
export const sentBytes = (gradient: Gradient, sent: RowsSent = everyLookup): Bytes =>
  gradient.table === undefined
    ? gradient.bytes
    : bytes(sent(gradient.table) * (rowBytes(gradient) + indexBytes));

/** What a GPU receives of sparse gradients: the rows of all GPUs. */
export const receivedRows = (
  gradients: readonly Gradient[],
  { gpus }: WorkerGroup,
  sent: RowsSent = everyLookup,
): number => {
  let total = 0;
  for (const gradient of gradients) {
    if (gradient.table !== undefined) total += gpus * sentBytes(gradient, sent);
  }
  return total;
};

/** Indices and values of every table, gathered from all GPUs when its gradient is ready; the update waits for them. */
export function gatheredRows(
  gradients: readonly Gradient[],
  { gpus }: WorkerGroup,
  channel: Channel = ncclStream,
  library?: CollectiveOperation['library'],
  sent: RowsSent = everyLookup,
): readonly Message[] {
  const gather = (size: number) => ({
    channel,
    operation: {
      kind: 'collective',
      collective: 'all-gather',
      bytes: bytes(gpus * size),
      over: 'all',
      ...(library === undefined ? {} : { library }),
    } as const,
  });
  return gradients.flatMap((gradient): readonly Message[] => {
    const { table, readyAfter } = gradient;
    if (table === undefined) return [];
    const [indices, values] = [sent(table) * indexBytes, sent(table) * rowBytes(gradient)];
    return [
      {
        gradients: [gradient],
        bytes: bytes(indices + values),
        after: backwardAt(readyAfter),
        before: theUpdate,
        stages: [gather(indices), gather(values)],
      },
    ];
  });
}

/** What sharded tables send. Row by row, bags come back in another way than rows. */
export function shardedTables(
  gradients: readonly Gradient[],
  group: WorkerGroup,
  handling: EmbeddingHandling,
  learns: boolean,
): readonly Message[] {
  const tables = gradients.filter(({ table }) => table !== undefined);
  if (group.gpus === 1) return [];
  if (handling !== 'row-wise') return togetherOrApart(tables, group, false, learns);
  return [true, false].flatMap((areBags) =>
    togetherOrApart(
      tables.filter(({ table }) => table?.result.isBag === areBags),
      group,
      areBags,
      learns,
    ),
  );
}

/** All of them together where all are looked up before any is used, else each by itself. */
function togetherOrApart(
  tables: readonly Gradient[],
  group: WorkerGroup,
  areParts: boolean,
  learns: boolean,
): readonly Message[] {
  if (tables.length === 0) return [];
  const from = Math.max(...tables.map(({ table }) => table?.result.from ?? 0));
  const to = Math.min(...tables.map(({ table }) => table?.result.to ?? group.operators));
  return to > from
    ? sentTogether(tables, group, areParts, learns)
    : tables.flatMap((gradient) => sentTogether([gradient], group, areParts, learns));
}

/** `areParts`: each GPU has a part of every bag, which are added on the way. */
function sentTogether(
  gradients: readonly Gradient[],
  { gpus, operators }: WorkerGroup,
  areParts: boolean,
  learns: boolean,
): readonly Message[] {
  let [indices, results, first, from, to] = [0, 0, operators, 0, operators - 1];
  for (const gradient of gradients) {
    const { table } = gradient;
    if (table === undefined) continue;
    indices += table.lookups * indexBytes;
    results += (table.result.elements * rowBytes(gradient)) / table.width;
    first = Math.min(first, table.operators[0] ?? first);
    from = Math.max(from, table.result.from);
    to = Math.min(to, table.result.to ?? to);
  }
  const message = (
    collective: CollectiveOperation['collective'],
    size: number,
    after: SyncPoint,
    before: SyncPoint,
  ): Message => ({
    gradients,
    bytes: bytes(size),
    after,
    before,
    stages: [
      { channel: ncclStream, operation: { kind: 'collective', collective, bytes: bytes(size), over: 'all' } },
    ],
  });
  const size = areParts ? gpus * results : results;
  const last = operators - 1;
  return [
    message('all-to-all', indices, stepStart, forwardAt(first)),
    message(areParts ? 'reduce-scatter' : 'all-to-all', size, forwardAt(from), forwardAt(to)),
    ...(learns
      ? [
          message(
            areParts ? 'all-gather' : 'all-to-all',
            size,
            backwardAt(last - to),
            backwardAt(last - from),
          ),
        ]
      : []),
  ];
}
