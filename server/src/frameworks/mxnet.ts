/**
 * MXNet 1 through its kvstore: each tensor is pushed when its gradient is ready and pulled before its layer runs again.
 *
 * Push and pull are asynchronous operations of the engine with priority −index, so that what the next forward needs first
 * goes first (python/mxnet/model.py, _update_params_on_kvstore). Inside a node gradients are added first: `local` copies
 * them to the host, where four threads add (MXNET_KVSTORE_REDUCTION_NTHREADS), `device` adds on GPUs from peer to peer.
 * `dist_*` then exchange with parameter servers, by default one on each node: tensors of 1,000,000 elements and more
 * (MXNET_KVSTORE_BIGARRAY_BOUND) are split over all, smaller ones go whole to one (src/kvstore/comm.h, kvstore_dist.h).
 * `dist_async` updates at the servers without waiting for other workers.
 *
 * Embeddings whose weight and gradient are row_sparse (gluon.contrib.nn.SparseEmbedding): a gradient has each row once; a node
 * adds those of its GPUs and pushes the rows, with a key of 8 and a length of 4 bytes each, to the servers of their range of
 * rows (MXNet 1.5, src/kvstore/kvstore_dist.h, EncodeRowSparseKey). Each GPU pulls the rows of its next batch when forward
 * begins (python/mxnet/gluon/trainer.py, `_row_sparse_pull`). Optimizers update the rows alone (`lazy_update`).
 */

import { distinctRows, type EmbeddingTable } from '../analysis/embeddingTables.ts';
import type { Estimate } from '../model/estimate.ts';
import { type Bytes, bytes, microseconds, type Seconds } from '../model/units.ts';
import { bySize } from './bySize.ts';
import { cudnnEra, cudnnEraNote, cudnnEraOptions } from './cudnn/cudnnEra.ts';
import {
  differentRows,
  embeddingHandling,
  embeddingsOption,
  rowBytes,
  sentBytes,
} from './embeddingTables.ts';
import {
  backwardAt,
  type Channel,
  forwardAt,
  type Message,
  noExchange,
  type Stage,
  stepStart,
  type WorkerGroup,
  wholeState,
} from './exchange.ts';
import type { FrameworkEntry } from './frameworkEntry.ts';
import type { Gradient } from './gradient.ts';
import { hostSum } from './hostSum.ts';
import { cudnnEraOptimizers } from './optimizers/optimizerRules.ts';
import { oneOf, wholeNumber } from './options.ts';
import { chooseServers, type ServerChoice, serverOptions } from './serverChoice.ts';
import { mxnetGradients } from './sparseGradients.ts';

const stores = ['local', 'device', 'dist_sync', 'dist_device_sync', 'dist_async'] as const;

/**
 * An operator outside the graph, as the update of each tensor is, is waited for before the next one is launched
 * (src/imperative/imperative_utils.h, PushFCompute: the stream's Wait; python/mxnet/model.py, `_update_params`). 130 µs of each tensor is what
 * steps of ResNet-50 and Inception-v3 with batches of 1 to 4 on a V100 take beside their kernels (MXNet documentation, faq/perf,
 * training results of MXNet 1.2). Other hosts are taken to be up to twice as fast and as slow.
 */
const updateWait: Estimate<Seconds> = {
  low: microseconds(65),
  middle: microseconds(130),
  high: microseconds(260),
};

export const mxnet: FrameworkEntry = {
  name: 'mxnet',
  documentation: 'MXNet 1: each tensor through the kvstore during backward and the next forward, by priority',
  trainsIn: 'fp32',
  optimizers: cudnnEraOptimizers,
  overlaps:
    'input: read, decoded and copied ahead; gradients: each tensor, during backward and the next forward; update: as they arrive, with `dist_*` at the servers',
  sources: [
    'apache/incubator-mxnet 1.x, python/mxnet/model.py, src/kvstore/comm.h, src/kvstore/kvstore_dist.h',
    'MXNet documentation, "Environment Variables" and "Distributed Training in MXNet"',
    'Krisilias et al., IEEE Big Data 2021: synchronous averages on a CPU cluster, MXNet 1, PyTorch 1.38, TensorFlow 3.66',
  ],
  options: [
    {
      name: 'kvstore',
      default: 'device',
      documentation: `${stores.join(', ')}; on several nodes local is dist_sync and device is dist_device_sync`,
      expects: oneOf(...stores),
    },
    {
      name: 'split-elements',
      default: '1000000',
      documentation:
        'tensors with at least so many elements are split over all servers (MXNET_KVSTORE_BIGARRAY_BOUND)',
      expects: wholeNumber,
    },
    {
      name: 'reduction-threads',
      default: '4',
      documentation: 'threads that sum in host memory (MXNET_KVSTORE_REDUCTION_NTHREADS)',
      expects: wholeNumber,
    },
    ...serverOptions,
    embeddingsOption('as-written', 'dense', 'sparse'),
    ...cudnnEraOptions,
  ],
  create: (options) => {
    const store = options.get('kvstore') ?? 'device';
    return {
      ...cudnnEra(options),
      name: 'mxnet',
      updateWait,
      slowdownOnCpus: 1 / 1.38,
      embeddings: embeddingHandling(options),
      sparseGradients: mxnetGradients,
      exchange: (gradients, group) => {
        if (group.gpus === 1) return noExchange;
        const isDistributed = group.nodes > 1;
        const split = bytes(4 * Number(options.get('split-elements')));
        const pushedOf = (gradient: Gradient): Bytes =>
          pushedRows(gradient, group.gpusPerNode) ?? gradient.bytes;
        const servers = isDistributed ? chooseServers(options, group, gradients, split, pushedOf) : undefined;
        const stagesFor = bySize((size) => stagesOf(size, group, options, servers));
        return {
          messages: gradients.flatMap((gradient) =>
            gradient.table === undefined
              ? [messageOf(gradient, stagesFor(gradient.bytes))]
              : messagesOfRows(gradient, gradient.table, group, options, servers),
          ),
          synchrony: isDistributed && store === 'dist_async' ? 'asynchronous' : 'synchronous',
          update: isDistributed ? 'at servers' : 'as they arrive',
          shards: wholeState,
          buffers: bytes(0),
        };
      },
      notes: [
        `MXNet, kvstore ${store}: each tensor pushed and pulled by priority`,
        cudnnEraNote,
        'on CPUs 1.38 times as fast as PyTorch, an average of published measurements',
      ],
    };
  },
};

const links: Channel = { name: 'links between GPUs', order: 'by priority' };
const down: Channel = { name: 'copies to host', order: 'by priority' };
const host: Channel = { name: 'sums in host memory', order: 'by priority' };
const network: Channel = { name: 'network', order: 'by priority' };
const up: Channel = { name: 'copies to GPU', order: 'by priority' };

const messageOf = (gradient: Gradient, stages: readonly Stage[]): Message => ({
  gradients: [gradient],
  bytes: gradient.bytes,
  after: backwardAt(gradient.readyAfter),
  before: forwardAt(gradient.usedFrom),
  stages,
  priority: gradient.usedFrom,
});

function stagesOf(
  size: Bytes,
  { gpusPerNode }: WorkerGroup,
  options: ReadonlyMap<string, string>,
  servers: ServerChoice | undefined,
): readonly Stage[] {
  const store = options.get('kvstore');
  const onGpus = store === 'device' || store === 'dist_device_sync';
  const isBig = size >= 4 * Number(options.get('split-elements'));
  const threads = isBig ? Number(options.get('reduction-threads')) : 1;
  const copying = onGpus ? 1 : gpusPerNode;
  const copy = { kind: 'copy', bytes: size, sharing: copying } as const;
  const node = { kind: 'collective', bytes: size, over: 'node' } as const;
  const isCopied = servers !== undefined || (!onGpus && gpusPerNode > 1);
  const toHost: Stage = { channel: down, operation: { ...copy, way: 'to host' } };
  const toGpu: Stage = { channel: up, operation: { ...copy, way: 'to GPU' } };
  return [
    ...(onGpus && gpusPerNode > 1
      ? [{ channel: links, operation: { ...node, collective: 'reduce' } as const }]
      : []),
    ...(isCopied ? [toHost] : []),
    ...(!onGpus && gpusPerNode > 1
      ? [{ channel: host, operation: hostSum(size, gpusPerNode, threads) }]
      : []),
    ...(servers === undefined
      ? []
      : [
          {
            channel: network,
            operation: {
              kind: 'server',
              way: 'push and pull',
              bytes: size,
              senders: 'nodes',
              library: 'ps-lite',
              ...servers,
            } as const,
          },
        ]),
    ...(isCopied ? [toGpu] : []),
    ...(onGpus && gpusPerNode > 1
      ? [{ channel: links, operation: { ...node, collective: 'broadcast' } as const }]
      : []),
  ];
}

/** A key (ps::Key) and a length (int) with each row. */
const keyBytes = 12;

/** What a node pushes of a table: the different rows of its GPUs. */
const pushedRows = (gradient: Gradient, gpusPerNode: number): Bytes | undefined =>
  gradient.table === undefined
    ? undefined
    : bytes(
        distinctRows(gradient.table.rows, gpusPerNode * gradient.table.lookups) *
          (rowBytes(gradient) + keyBytes),
      );

/** The push of the rows of a gradient when it is ready, and the pull of those of the next batch when its step begins. */
function messagesOfRows(
  gradient: Gradient,
  table: EmbeddingTable,
  { gpusPerNode }: WorkerGroup,
  options: ReadonlyMap<string, string>,
  servers: ServerChoice | undefined,
): readonly Message[] {
  const store = options.get('kvstore');
  const onGpus = store === 'device' || store === 'dist_device_sync';
  const own = sentBytes(gradient, differentRows);
  const isServed = servers !== undefined;
  const pushed = isServed ? (pushedRows(gradient, gpusPerNode) ?? own) : own;
  const pulled = isServed ? bytes(differentRows(table) * (rowBytes(gradient) + keyBytes)) : own;
  const isAdded = gpusPerNode > 1;
  const isCopied = servers !== undefined || (!onGpus && isAdded);
  const copy = (way: 'to host' | 'to GPU', size: Bytes, sharing: number): Stage => ({
    channel: way === 'to host' ? down : up,
    operation: { kind: 'copy', way, bytes: size, sharing },
  });
  const inside = (collective: 'reduce' | 'broadcast'): Stage => ({
    channel: links,
    operation: { kind: 'collective', collective, bytes: own, over: 'node' },
  });
  const served = (way: 'push' | 'pull', size: Bytes, senders: 'nodes' | 'gpus'): readonly Stage[] =>
    servers === undefined
      ? []
      : [
          {
            channel: network,
            operation: { kind: 'server', way, bytes: size, senders, library: 'ps-lite', ...servers },
          },
        ];
  const threads = Number(options.get('reduction-threads'));
  const before = forwardAt(gradient.usedFrom);
  const shared = { gradients: [gradient], before, priority: gradient.usedFrom };
  return [
    {
      ...shared,
      bytes: pushed,
      after: backwardAt(gradient.readyAfter),
      stages: [
        ...(onGpus && isAdded ? [inside('reduce')] : []),
        ...(isCopied ? [copy('to host', onGpus ? pushed : own, onGpus ? 1 : gpusPerNode)] : []),
        ...(!onGpus && isAdded ? [{ channel: host, operation: hostSum(own, gpusPerNode, threads) }] : []),
        ...served('push', pushed, 'nodes'),
      ],
    },
    {
      ...shared,
      bytes: pulled,
      after: stepStart,
      stages: [
        ...served('pull', pulled, 'gpus'),
        ...(isCopied ? [copy('to GPU', own, gpusPerNode)] : []),
        ...(servers === undefined && onGpus && isAdded ? [inside('broadcast')] : []),
      ],
    },
  ];
}
