/**
 * What is sent of embedding tables that are not all-reduced whole: the rows looked up, or, where tables are sharded, indices,
 * looked-up rows and their gradients.
 *
 * Sparse gradients. PyTorch DDP gives each a bucket of its own (torch/csrc/distributed/c10d/reducer.cpp,
 * `expect_sparse_gradient`). NCCL refuses them (github.com/pytorch/pytorch/issues/22400, open in 2024); gloo gathers sizes,
 * indices and values of all ranks in host memory (ProcessGroupGloo.cpp, `AsyncSparseAllreduceWork`; NVIDIA/nccl issue 215). A
 * process group has one backend for a device, so that dense buckets go by gloo too. Horovod gathers indices and values
 * (horovod/torch/mpi_ops.py, `sparse_allreduce_async`); with `sparse_as_dense` it sends tables whole.
 *
 * Sharded tables, as TorchRec has them (torchrec/distributed/sharding, `tw_sharding.py` and `rw_sharding.py`) and DLRM before it
 * (facebookresearch/dlrm, extend_distributed.py; Naumov et al., arXiv 1906.00091, section 4): indices go to the GPUs that hold
 * their rows; table-wise, bags come back by all-to-all, row-wise, parts of bags are summed by reduce-scatter. Gradients go the
 * way back, all-to-all or all-gather. Tables are taken as spread evenly.
 */

import type { CollectiveOperation } from '../communication/operation.ts';
import { bytes } from '../model/units.ts';
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

export const embeddingsOption = (...choices: readonly EmbeddingHandling[]): FrameworkOption => ({
  name: 'embeddings',
  default: 'as-written',
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
const rowBytes = ({ bytes: size, elements, table }: Gradient): number =>
  table === undefined ? 0 : (size / elements) * table.width;

/** What a GPU receives of sparse gradients: the rows of all GPUs. */
export const receivedRows = (gradients: readonly Gradient[], { gpus }: WorkerGroup): number =>
  gradients.reduce(
    (total, gradient) => total + gpus * (gradient.table?.lookups ?? 0) * (rowBytes(gradient) + indexBytes),
    0,
  );

/** Indices and values of every table, gathered from all GPUs when its gradient is ready; the update waits for them. */
export function gatheredRows(
  gradients: readonly Gradient[],
  { gpus }: WorkerGroup,
  channel: Channel = ncclStream,
  library?: CollectiveOperation['library'],
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
    const [indices, values] = [table.lookups * indexBytes, table.lookups * rowBytes(gradient)];
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

/** What sharded tables send: all of them together where all are looked up before any is used, else each by itself. */
export function shardedTables(
  gradients: readonly Gradient[],
  group: WorkerGroup,
  handling: EmbeddingHandling,
  learns: boolean,
): readonly Message[] {
  const tables = gradients.filter(({ table }) => table !== undefined);
  if (tables.length === 0 || group.gpus === 1) return [];
  const from = Math.max(...tables.map(({ table }) => table?.result.from ?? 0));
  const to = Math.min(...tables.map(({ table }) => table?.result.to ?? group.operators));
  return to > from
    ? sentTogether(tables, group, handling, learns)
    : tables.flatMap((gradient) => sentTogether([gradient], group, handling, learns));
}

function sentTogether(
  gradients: readonly Gradient[],
  { gpus, operators }: WorkerGroup,
  handling: EmbeddingHandling,
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
  const isRowWise = handling === 'row-wise';
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
  // A part of every bag comes from each GPU.
  const size = isRowWise ? gpus * results : results;
  const last = operators - 1;
  return [
    message('all-to-all', indices, stepStart, forwardAt(first)),
    message(isRowWise ? 'reduce-scatter' : 'all-to-all', size, forwardAt(from), forwardAt(to)),
    ...(learns
      ? [
          message(
            isRowWise ? 'all-gather' : 'all-to-all',
            size,
            backwardAt(last - to),
            backwardAt(last - from),
          ),
        ]
      : []),
  ];
}
