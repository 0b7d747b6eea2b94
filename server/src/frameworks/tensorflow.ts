/**
 * TensorFlow 1 as tf_cnn_benchmarks runs it: variables on servers, replicated on GPUs, or both.
 *
 * The graph starts a tensor's aggregation when its gradient is ready. Each variable is placed whole on the server that
 * holds least (tf.contrib.training.GreedyLoadBalancingStrategy). `parameter-server`: gradients are sent to where a
 * variable is, which is fetched in the next step, before its layer or, with staged variables, one step late. `replicated`:
 * gradients are added by NCCL or by copies between GPUs, each GPU updates. `distributed-replicated`: the GPUs of a node add
 * first, then the node pushes, waits until all variables are updated, and fetches. Sources: TensorFlow performance guide,
 * "High-Performance Models"; tensorflow/benchmarks, tf_cnn_benchmarks/variable_mgr.py.
 *
 * Between processes, one for each node, tensors travel by gRPC, which copies and parses each on the way. Gradients are added
 * on the CPU of a worker before they are sent (`param_server_device`), and a variable is fetched once by a worker, to its
 * CPU or to the GPU that caches it (variable_mgr.py, `VariableMgrDistributedFetchFromPS`). What arrives for a CPU is parsed
 * in place; for a GPU it is parsed aside, made a tensor and copied (tensorflow/core/distributed_runtime/tensor_coding.cc).
 * A server moves 0.4 GB/s one way and a worker takes in 0.2 GB/s for its GPUs: set from two published rows, ResNet-101 on
 * 64 GPUs with variables on CPUs and on GPUs (horovod pull request 19).
 *
 * The gradient of a lookup is its rows (IndexedSlices). Those of the GPUs of a worker are joined, not added
 * (variable_mgr_util.py, `aggregate_indexed_slices_gradients`). A lookup runs where its table is, so that rows come back
 * (tensorflow/python/ops/embedding_ops.py), but a worker of several caches whole variables, tables too. NCCL adds no rows:
 * `replicated` with it needs whole gradients (`sparse_to_dense_grads`).
 */

import type { Operation } from '../communication/operation.ts';
import { type Bytes, bytes, bytesPerSecond, sum } from '../model/units.ts';
import { bySize } from './bySize.ts';
import { cudnnEra, cudnnEraNote, cudnnEraOptions } from './cudnn/cudnnEra.ts';
import { embeddingHandling, embeddingsOption, rowBytes, sentBytes } from './embeddingTables.ts';
import {
  backwardAt,
  type Channel,
  type Exchange,
  forwardAt,
  type Message,
  noExchange,
  type ProfiledStep,
  type Stage,
  stepStart,
  theUpdate,
  type WorkerGroup,
  wholeState,
} from './exchange.ts';
import type { FrameworkEntry } from './frameworkEntry.ts';
import type { Gradient } from './gradient.ts';
import { hostConcat, hostSum } from './hostSum.ts';
import { cudnnEraOptimizers } from './optimizers/optimizerRules.ts';
import { oneOf, positiveNumber } from './options.ts';
import { allReduceEach, packLayers } from './packBuckets.ts';
import { busiestShare, chooseServers, serverOptions } from './serverChoice.ts';
import { tensorflowGradients } from './sparseGradients.ts';

const updates = ['parameter-server', 'replicated', 'distributed-replicated'] as const;

export const tensorflow: FrameworkEntry = {
  name: 'tensorflow',
  documentation:
    'TensorFlow 1 (tf_cnn_benchmarks): parameter servers, replicated or distributed-replicated variables',
  trainsIn: 'fp32',
  optimizers: cudnnEraOptimizers,
  overlaps:
    'input: read, decoded and copied ahead; gradients: each tensor, during backward; variables: before their layer in the next step, or one step late; update: at the servers, or after all',
  sources: [
    'TensorFlow performance guide (r1), "High-Performance Models" and "Benchmarks"',
    'tensorflow/benchmarks, scripts/tf_cnn_benchmarks/variable_mgr.py',
    'tf.contrib.training.GreedyLoadBalancingStrategy',
    'Krisilias et al., IEEE Big Data 2021: synchronous averages on a CPU cluster, MXNet 1, PyTorch 1.38, TensorFlow 3.66',
  ],
  options: [
    {
      name: 'variable-update',
      default: 'parameter-server',
      documentation: `${updates.join(', ')}; on several nodes replicated is distributed-replicated`,
      expects: oneOf(...updates),
    },
    {
      name: 'local-parameter-device',
      default: 'gpu',
      documentation:
        'device of variables: of parameter-server on one node, or of a worker on several nodes: cpu or gpu',
      expects: oneOf('cpu', 'gpu'),
    },
    {
      name: 'all-reduce',
      default: 'nccl',
      documentation: 'how replicated sums gradients: nccl, or copies between GPUs',
      expects: oneOf('nccl', 'copies'),
    },
    {
      name: 'sync',
      default: 'true',
      documentation: 'false: servers update without waiting for other workers (cross_replica_sync)',
      expects: oneOf('true', 'false'),
    },
    {
      name: 'staged-vars',
      default: 'false',
      documentation: 'true: variables are fetched during the previous step and are one step old',
      expects: oneOf('true', 'false'),
    },
    {
      name: 'grpc-gbs',
      default: '0.4',
      documentation: 'throughput of one server over gRPC, one way, in GB/s',
      expects: positiveNumber,
    },
    {
      name: 'gpu-receive-gbs',
      default: '0.2',
      documentation:
        'throughput of a worker receiving variables that its GPUs cache (local-parameter-device gpu), in GB/s',
      expects: positiveNumber,
    },
    ...serverOptions,
    embeddingsOption('sparse', 'dense'),
    ...cudnnEraOptions,
  ],
  create: (options) => ({
    ...cudnnEra(options),
    name: 'tensorflow',
    slowdownOnCpus: 2.65,
    embeddings:
      options.get('variable-update') === 'replicated' && options.get('all-reduce') === 'nccl'
        ? 'dense'
        : embeddingHandling(options),
    sparseGradients: tensorflowGradients,
    exchange: (gradients, group, profiled) => {
      if (group.gpus === 1) return noExchange;
      const update = options.get('variable-update');
      if (group.nodes === 1) {
        return update === 'parameter-server'
          ? variablesOnOneNode(gradients, group, options)
          : replicated(gradients, group, options);
      }
      const overServer = overGrpc(gradients, group, profiled, options);
      return update === 'parameter-server'
        ? variablesOnServers(gradients, group, options, overServer)
        : distributedReplicated(gradients, group, options, overServer);
    },
    notes: [
      `TensorFlow 1, ${options.get('variable-update')}: each tensor when its gradient is ready`,
      cudnnEraNote,
      'on CPUs 2.65 times as slow as PyTorch, an average of published measurements',
    ],
  }),
};

const links: Channel = { name: 'links between GPUs', order: 'first come' };
const down: Channel = { name: 'copies to host', order: 'first come' };
const host: Channel = { name: 'sums in host memory', order: 'first come' };
const serving: Channel = { name: 'busiest server', order: 'first come' };
const received: Channel = { name: 'receiving of a worker', order: 'first come' };
const up: Channel = { name: 'copies to GPU', order: 'first come' };

const sent = (gradient: Gradient, size: Bytes, stages: readonly Stage[]): Message => ({
  gradients: [gradient],
  bytes: size,
  after: backwardAt(gradient.readyAfter),
  before: theUpdate,
  stages,
});

const fetched = (gradient: Gradient, size: Bytes, stages: readonly Stage[], isLate: boolean): Message => ({
  gradients: [gradient],
  bytes: size,
  after: stepStart,
  before: forwardAt(gradient.usedFrom),
  stages,
  ...(isLate ? { stepsLater: 1 } : {}),
});

/** In the order of forward, in which a step asks for its variables. */
const inForwardOrder = (gradients: readonly Gradient[]): readonly Gradient[] =>
  gradients.toSorted((a, b) => a.usedFrom - b.usedFrom);

const isStaged = (options: ReadonlyMap<string, string>): boolean => options.get('staged-vars') === 'true';

function variablesOnOneNode(
  gradients: readonly Gradient[],
  { gpusPerNode }: WorkerGroup,
  options: ReadonlyMap<string, string>,
): Exchange {
  const fetchedOf = isStaged(options) ? wholeOf : lookedUp;
  if (options.get('local-parameter-device') === 'gpu') {
    const scatter = copiesBetween('reduce-scatter', gradients, gpusPerNode, sentBytes);
    const gather = copiesBetween('all-gather', gradients, gpusPerNode, fetchedOf);
    return {
      ...noExchange,
      messages: throughServers(gradients, (gradient) => [scatter(sentBytes(gradient))], {
        sizeOf: fetchedOf,
        stagesOf: (size) => [gather(size)],
        isLate: isStaged(options),
      }),
      shards: { ...wholeState, optimizerState: gpusPerNode },
    };
  }
  const sharing = gpusPerNode;
  return {
    ...noExchange,
    messages: throughServers(gradients, (gradient) => toOwnHost(gradient, gpusPerNode), {
      sizeOf: fetchedOf,
      stagesOf: (size) => [{ channel: up, operation: { kind: 'copy', way: 'to GPU', bytes: size, sharing } }],
      isLate: isStaged(options),
    }),
    update: 'at servers',
  };
}

const wholeOf = (gradient: Gradient): Bytes => gradient.bytes;

/** What comes back of a variable whose lookups run where it is. */
const lookedUp = (gradient: Gradient): Bytes =>
  gradient.table === undefined ? gradient.bytes : bytes(gradient.table.lookups * rowBytes(gradient));

/** What a worker has of a gradient when those of its GPUs are added, or, where they are rows, joined. */
const ofWorker = (gradient: Gradient, gpusPerNode: number): Bytes =>
  gradient.table === undefined ? gradient.bytes : bytes(gpusPerNode * sentBytes(gradient));

/** From all GPUs of a node to its host, where gradients are added or joined. */
function toOwnHost(gradient: Gradient, gpusPerNode: number): readonly Stage[] {
  const size = sentBytes(gradient);
  const together = gradient.table === undefined ? hostSum : hostConcat;
  return [
    { channel: down, operation: { kind: 'copy', way: 'to host', bytes: size, sharing: gpusPerNode } },
    ...(gpusPerNode > 1 ? [{ channel: host, operation: together(size, gpusPerNode, 16) }] : []),
  ];
}

interface Fetching {
  readonly sizeOf: (gradient: Gradient) => Bytes;
  readonly stagesOf: (size: Bytes) => readonly Stage[];
  /** Variables are one step old. */
  readonly isLate: boolean;
}

/** Each gradient sent when it is ready, and each variable fetched when the next step asks for it. */
function throughServers(
  gradients: readonly Gradient[],
  push: (gradient: Gradient) => readonly Stage[],
  { sizeOf, stagesOf, isLate }: Fetching,
): readonly Message[] {
  const pushOf = byGradient(push);
  const pullOf = bySize(stagesOf);
  return [
    ...gradients.map((gradient) => sent(gradient, sentBytes(gradient), pushOf(gradient))),
    ...inForwardOrder(gradients).map((gradient) =>
      fetched(gradient, sizeOf(gradient), pullOf(sizeOf(gradient)), isLate),
    ),
  ];
}

/** Gradients of one size travel alike; rows travel in another way than whole ones. */
function byGradient(stagesOf: (gradient: Gradient) => readonly Stage[]): typeof stagesOf {
  const known = new Map<Bytes, readonly Stage[]>();
  return (gradient) => {
    if (gradient.table !== undefined) return stagesOf(gradient);
    const stages = known.get(gradient.bytes) ?? stagesOf(gradient);
    known.set(gradient.bytes, stages);
    return stages;
  };
}

/**
 * Tensors whole on the GPU that holds least: what the busiest one receives and gives is what a ring would move if each
 * held as much as it does.
 */
function copiesBetween(
  collective: 'reduce-scatter' | 'all-gather',
  gradients: readonly Gradient[],
  gpus: number,
  sizeOf: (gradient: Gradient) => Bytes,
): (size: Bytes) => Stage {
  const crowding = busiestShare(gradients, gpus, undefined, sizeOf) * gpus;
  return (size) => ({
    channel: links,
    operation: { kind: 'collective', collective, bytes: bytes(size * crowding), over: 'node' },
  });
}

function replicated(
  gradients: readonly Gradient[],
  { gpusPerNode }: WorkerGroup,
  options: ReadonlyMap<string, string>,
): Exchange {
  if (options.get('all-reduce') === 'nccl') {
    return { ...noExchange, messages: allReduceEach(packLayers(gradients)) };
  }
  const joined = (gradient: Gradient): Bytes => ofWorker(gradient, gpusPerNode);
  const scatter = copiesBetween('reduce-scatter', gradients, gpusPerNode, sentBytes);
  const gather = copiesBetween('all-gather', gradients, gpusPerNode, joined);
  const routeOf = byGradient((gradient) => [scatter(sentBytes(gradient)), gather(joined(gradient))]);
  return {
    ...noExchange,
    messages: gradients.map((gradient) => sent(gradient, sentBytes(gradient), routeOf(gradient))),
  };
}

type OverGrpc = (way: 'push' | 'pull', size: Bytes) => Stage;

/** Variables of at least 65,536 elements (variable_mgr.py, OverrideCachingDevice); smaller ones are cached on the CPU. */
const cachedOnGpusFrom = 4 * 65_536;

/** To the servers or from them: by the ports or by gRPC of the busiest one, whichever is the slower. */
function overGrpc(
  gradients: readonly Gradient[],
  group: WorkerGroup,
  { timeOf }: ProfiledStep,
  options: ReadonlyMap<string, string>,
): OverGrpc {
  const { nodes, gpusPerNode } = group;
  const pushed = (gradient: Gradient): Bytes => ofWorker(gradient, gpusPerNode);
  const choices = {
    push: chooseServers(options, group, gradients, undefined, pushed),
    pull: chooseServers(options, group, gradients),
  };
  const byPorts = (way: 'push' | 'pull', size: Bytes): Operation => ({
    kind: 'server',
    way,
    bytes: size,
    senders: 'nodes',
    ...choices[way],
  });
  const byGrpc = (way: 'push' | 'pull', size: Bytes): Operation => ({
    kind: 'host pass',
    bytes: bytes(nodes * size * choices[way].busiestShare),
    rate: bytesPerSecond(Number(options.get('grpc-gbs')) * 1e9),
    what: `gRPC of the busiest server, ${nodes} senders`,
    at: choices[way],
  });
  const whole = sum(gradients.map(wholeOf));
  const isGrpcSlower = timeOf(byGrpc('pull', whole)) > timeOf(byPorts('pull', whole));
  return (way, size) => ({
    channel: serving,
    operation: isGrpcSlower ? byGrpc(way, size) : byPorts(way, size),
  });
}

/**
 * One process for each node: the gradients of its GPUs are added on its CPU and sent once, and it fetches a variable once,
 * to its CPU, or to the GPU that caches it, from where the others copy it.
 */
function variablesOnServers(
  gradients: readonly Gradient[],
  { gpusPerNode }: WorkerGroup,
  options: ReadonlyMap<string, string>,
  overServer: OverGrpc,
): Exchange {
  const sharing = gpusPerNode;
  const push = (gradient: Gradient): readonly Stage[] => [
    ...toOwnHost(gradient, gpusPerNode),
    overServer('push', ofWorker(gradient, gpusPerNode)),
  ];
  const isCachedOnGpus = options.get('local-parameter-device') === 'gpu';
  const rate = bytesPerSecond(Number(options.get('gpu-receive-gbs')) * 1e9);
  const gather = (size: Bytes): readonly Stage[] =>
    gpusPerNode > 1
      ? [
          {
            channel: links,
            operation: { kind: 'collective', collective: 'all-gather', bytes: size, over: 'node' },
          },
        ]
      : [];
  const toGpu = (size: Bytes, among: number): Stage => ({
    channel: up,
    operation: { kind: 'copy', way: 'to GPU', bytes: size, sharing: among },
  });
  const stagesOf = (size: Bytes): readonly Stage[] =>
    isCachedOnGpus && size >= cachedOnGpusFrom
      ? [
          overServer('pull', size),
          {
            channel: received,
            operation: { kind: 'host pass', bytes: size, rate, what: 'tensors for a GPU parsed and copied' },
          },
          toGpu(size, 1),
          ...gather(size),
        ]
      : [overServer('pull', size), toGpu(size, sharing)];
  return {
    ...noExchange,
    messages: throughServers(gradients, push, { sizeOf: wholeOf, stagesOf, isLate: isStaged(options) }),
    synchrony: options.get('sync') === 'true' ? 'synchronous' : 'asynchronous',
    update: 'at servers',
  };
}

function distributedReplicated(
  gradients: readonly Gradient[],
  group: WorkerGroup,
  options: ReadonlyMap<string, string>,
  overServer: OverGrpc,
): Exchange {
  const inside = (collective: 'reduce' | 'broadcast', size: Bytes): readonly Stage[] =>
    group.gpusPerNode === 1
      ? []
      : [{ channel: links, operation: { kind: 'collective', collective, bytes: size, over: 'node' } }];
  const routeOf = byGradient((gradient): readonly Stage[] => {
    const [joined, size] = [ofWorker(gradient, group.gpusPerNode), gradient.bytes];
    return [
      ...inside('reduce', sentBytes(gradient)),
      { channel: down, operation: { kind: 'copy', way: 'to host', bytes: joined, sharing: 1 } },
      overServer('push', joined),
      overServer('pull', size),
      { channel: up, operation: { kind: 'copy', way: 'to GPU', bytes: size, sharing: 1 } },
      ...inside('broadcast', size),
    ];
  });
  return {
    ...noExchange,
    messages: gradients.map((gradient) => sent(gradient, sentBytes(gradient), routeOf(gradient))),
    synchrony: options.get('sync') === 'true' ? 'synchronous' : 'asynchronous',
    update: 'at servers',
  };
}
