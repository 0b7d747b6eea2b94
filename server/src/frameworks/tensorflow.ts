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
 */

import type { Operation } from '../communication/operation.ts';
import { placeTensors } from '../communication/parameterServer.ts';
import { type Bytes, bytes, bytesPerSecond, sum } from '../model/units.ts';
import { bySize } from './bySize.ts';
import { cudnnEra, cudnnEraNote, cudnnEraOptions } from './cudnn/cudnnEra.ts';
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
import { hostSum } from './hostSum.ts';
import { oneOf, positiveNumber } from './options.ts';
import { allReduceEach, packLayers } from './packBuckets.ts';
import { chooseServers, type ServerChoice, serverOptions } from './serverChoice.ts';

const updates = ['parameter-server', 'replicated', 'distributed-replicated'] as const;

export const tensorflow: FrameworkEntry = {
  name: 'tensorflow',
  documentation:
    'TensorFlow 1 (tf_cnn_benchmarks): parameter servers, replicated or distributed-replicated variables',
  trainsIn: 'fp32',
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
    ...cudnnEraOptions,
  ],
  create: (options) => ({
    ...cudnnEra(options),
    name: 'tensorflow',
    slowdownOnCpus: 2.65,
    exchange: (gradients, group, profiled) => {
      if (group.gpus === 1) return noExchange;
      const update = options.get('variable-update');
      if (group.nodes === 1) {
        return update === 'parameter-server'
          ? variablesOnOneNode(gradients, group, options)
          : replicated(gradients, group, options);
      }
      const choice = chooseServers(options, group, gradients);
      const overServer = overGrpc(gradients, group, profiled, choice, options);
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

const sent = (gradient: Gradient, stages: readonly Stage[]): Message => ({
  gradients: [gradient],
  bytes: gradient.bytes,
  after: backwardAt(gradient.readyAfter),
  before: theUpdate,
  stages,
});

const fetched = (gradient: Gradient, stages: readonly Stage[], isStaged: boolean): Message => ({
  gradients: [gradient],
  bytes: gradient.bytes,
  after: stepStart,
  before: forwardAt(gradient.usedFrom),
  stages,
  ...(isStaged ? { stepsLater: 1 } : {}),
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
  if (options.get('local-parameter-device') === 'gpu') {
    const [scatter, gather] = copiesBetween(gradients, gpusPerNode);
    return {
      ...noExchange,
      messages: throughServers(
        gradients,
        (size) => [scatter(size)],
        (size) => [gather(size)],
        options,
      ),
      shards: { ...wholeState, optimizerState: gpusPerNode },
    };
  }
  const sharing = gpusPerNode;
  const push: WayOf = (size) => [
    { channel: down, operation: { kind: 'copy', way: 'to host', bytes: size, sharing } },
    { channel: host, operation: hostSum(size, gpusPerNode, 16) },
  ];
  const pull: WayOf = (size) => [
    { channel: up, operation: { kind: 'copy', way: 'to GPU', bytes: size, sharing } },
  ];
  return {
    ...noExchange,
    messages: throughServers(gradients, push, pull, options),
    update: 'at servers',
  };
}

type WayOf = (size: Bytes) => readonly Stage[];

/** Each gradient sent when it is ready, and each variable fetched when the next step asks for it. */
function throughServers(
  gradients: readonly Gradient[],
  push: WayOf,
  pull: WayOf,
  options: ReadonlyMap<string, string>,
): readonly Message[] {
  const [pushOf, pullOf] = [bySize(push), bySize(pull)];
  return [
    ...gradients.map((gradient) => sent(gradient, pushOf(gradient.bytes))),
    ...inForwardOrder(gradients).map((gradient) =>
      fetched(gradient, pullOf(gradient.bytes), isStaged(options)),
    ),
  ];
}

/**
 * Tensors whole on the GPU that holds least: what the busiest one receives and gives is what a ring would move if each
 * held as much as it does.
 */
function copiesBetween(
  gradients: readonly Gradient[],
  gpus: number,
): readonly [(size: Bytes) => Stage, (size: Bytes) => Stage] {
  const tensors = gradients.map((gradient) => gradient.bytes);
  const total = tensors.reduce((all, size) => all + size, 0);
  const { busiest } = placeTensors(tensors, gpus);
  const crowding = total === 0 ? 1 : (busiest / total) * gpus;
  const stage =
    (collective: 'reduce-scatter' | 'all-gather') =>
    (size: Bytes): Stage => ({
      channel: links,
      operation: { kind: 'collective', collective, bytes: bytes(size * crowding), over: 'node' },
    });
  return [stage('reduce-scatter'), stage('all-gather')];
}

function replicated(
  gradients: readonly Gradient[],
  { gpusPerNode }: WorkerGroup,
  options: ReadonlyMap<string, string>,
): Exchange {
  if (options.get('all-reduce') === 'nccl') {
    return { ...noExchange, messages: allReduceEach(packLayers(gradients)) };
  }
  const [scatter, gather] = copiesBetween(gradients, gpusPerNode);
  const routeOf = bySize((size) => [scatter(size), gather(size)]);
  return {
    ...noExchange,
    messages: gradients.map((gradient) => sent(gradient, routeOf(gradient.bytes))),
  };
}

type OverGrpc = (way: 'push' | 'pull', size: Bytes) => Stage;

/** Variables of at least 65,536 elements (variable_mgr.py, OverrideCachingDevice); smaller ones are cached on the CPU. */
const cachedOnGpusFrom = 4 * 65_536;

/** To the servers or from them: by the ports or by gRPC of the busiest one, whichever is the slower. */
function overGrpc(
  gradients: readonly Gradient[],
  { nodes }: WorkerGroup,
  { timeOf }: ProfiledStep,
  choice: ServerChoice,
  options: ReadonlyMap<string, string>,
): OverGrpc {
  const byPorts = (way: 'push' | 'pull', size: Bytes): Operation => ({
    kind: 'server',
    way,
    bytes: size,
    senders: 'nodes',
    ...choice,
  });
  const byGrpc = (size: Bytes): Operation => ({
    kind: 'host pass',
    bytes: bytes(nodes * size * choice.busiestShare),
    rate: bytesPerSecond(Number(options.get('grpc-gbs')) * 1e9),
    what: `gRPC of the busiest server, ${nodes} senders`,
    at: choice,
  });
  const whole = sum(gradients.map((gradient) => gradient.bytes));
  const isGrpcSlower = timeOf(byGrpc(whole)) > timeOf(byPorts('push', whole));
  return (way, size) => ({ channel: serving, operation: isGrpcSlower ? byGrpc(size) : byPorts(way, size) });
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
  const push: WayOf = (size) => [
    { channel: down, operation: { kind: 'copy', way: 'to host', bytes: size, sharing } },
    ...(gpusPerNode > 1 ? [{ channel: host, operation: hostSum(size, gpusPerNode, 16) }] : []),
    overServer('push', size),
  ];
  const isCachedOnGpus = options.get('local-parameter-device') === 'gpu';
  const rate = bytesPerSecond(Number(options.get('gpu-receive-gbs')) * 1e9);
  const gather: WayOf = (size) =>
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
  const pull: WayOf = (size) =>
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
    messages: throughServers(gradients, push, pull, options),
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
  const routeOf = bySize((size): readonly Stage[] => [
    ...inside('reduce', size),
    { channel: down, operation: { kind: 'copy', way: 'to host', bytes: size, sharing: 1 } },
    overServer('push', size),
    overServer('pull', size),
    { channel: up, operation: { kind: 'copy', way: 'to GPU', bytes: size, sharing: 1 } },
    ...inside('broadcast', size),
  ]);
  return {
    ...noExchange,
    messages: gradients.map((gradient) => sent(gradient, routeOf(gradient.bytes))),
    synchrony: options.get('sync') === 'true' ? 'synchronous' : 'asynchronous',
    update: 'at servers',
  };
}
