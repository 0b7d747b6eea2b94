/**
 * Caffe-MPI 2.0 on NVCaffe: the gradients of each layer all-reduced by NCCL 2 while backward goes on.
 *
 * Each process reads its own share and NVCaffe parses and transforms it in threads of its own, so that input is hidden
 * (Caffe-MPI 2.0 README). One process runs a node, with a thread for each GPU and another that reduces and updates
 * (src/caffe/net.cpp, ReduceAndUpdate). That thread gathers parameters into a bucket as long as they are neighbours, which
 * the weights of two layers with biases, or with batch normalization between them, are not; so it sends layer by layer, and
 * each when the gradients of the layer before have come, the last when backward has ended. For each it waits at three
 * barriers of the node's threads, launches one NCCL collective over all GPUs of all nodes, waits for it, scales what came and
 * launches the updates, before it turns to the next (ReduceBucket; src/caffe/parallel.cpp, `allreduce_bucket`).
 */

import { memoize } from '../model/memoize.ts';
import { bytes, type Seconds, seconds } from '../model/units.ts';
import { cudnnEra, cudnnEraNote, cudnnEraOptions } from './cudnn/cudnnEra.ts';
import {
  backwardAt,
  backwardEnd,
  type Message,
  noExchange,
  type Stage,
  type WorkerGroup,
} from './exchange.ts';
import type { FrameworkEntry } from './frameworkEntry.ts';
import type { Gradient } from './gradient.ts';
import { cudnnEraOptimizers } from './optimizers/optimizerRules.ts';
import { oneOf } from './options.ts';
import { allReduceEach, ncclStream, packLayers } from './packBuckets.ts';

export const caffeMpi: FrameworkEntry = {
  name: 'caffe-mpi',
  documentation: 'Caffe-MPI 2.0: gradients all-reduced layer by layer during backward, by NCCL 2',
  trainsIn: 'fp32',
  optimizers: cudnnEraOptimizers,
  overlaps:
    'input: read, decoded and copied ahead; gradients: by layer, during backward; update: as they arrive',
  sources: [
    'Caffe-MPI 2.0 README (Inspur)',
    'Caffe-MPI/Caffe-MPI.github.io, src/caffe/net.cpp (ReduceAndUpdate) and src/caffe/parallel.cpp, commit 2451a793',
    'Shi, Wang, Chu, arXiv 1711.05979, case of wait-free backpropagation',
  ],
  options: [
    {
      name: 'hierarchical',
      default: 'false',
      documentation:
        'false: one communicator of all GPUs, as in its code; true: reduce within each node first, then between nodes',
      expects: oneOf('true', 'false'),
    },
    ...cudnnEraOptions,
  ],
  create: (options) => {
    const shared = cudnnEra(options);
    return {
      ...shared,
      name: 'caffe-mpi',
      exchange: (gradients, group) => {
        if (group.gpus === 1) return noExchange;
        const isHierarchical = group.nodes > 1 && options.get('hierarchical') === 'true';
        return {
          ...noExchange,
          messages: messagesOf(gradients, group, isHierarchical, shared.launch.middle),
          update: 'as they arrive',
          buffers: bytes(0),
        };
      },
      notes: ['Caffe-MPI 2.0: one all-reduce for each layer, during backward', cudnnEraNote],
    };
  },
};

/** Layers one behind, each with what the reducing thread does for it before it turns to the next. */
function messagesOf(
  gradients: readonly Gradient[],
  group: WorkerGroup,
  isHierarchical: boolean,
  launch: Seconds,
): readonly Message[] {
  const layers = packLayers(gradients);
  // NCCL of its time, 2.0 to 2.2, where the cluster names no other.
  const how = isHierarchical ? ({ algorithm: 'two-level ring' } as const) : { library: '2.3' as const };
  // Layers that are alike share their way, so that it is timed once.
  const launchedBefore = memoize((parameters: number) =>
    memoize((stages: Message['stages']) => [launching(parameters, launch), ...stages]),
  );
  return allReduceEach(layers, how).map((message, index): Message => {
    const next = layers[index + 1];
    return {
      ...message,
      after: next === undefined ? backwardEnd(group) : backwardAt(next.readyAfter),
      stages: launchedBefore(message.gradients.length)(message.stages),
    };
  });
}

const launching = (parameters: number, launch: Seconds): Stage => ({
  channel: ncclStream,
  operation: {
    kind: 'fixed',
    time: seconds((launchesPerLayer + parameters) * launch),
    isWork: true,
    what: `launches of the reducing thread for ${parameters} ${parameters === 1 ? 'parameter' : 'parameters'}`,
  },
});

/** The collective and the scaling of what came; beside them each parameter is updated by a kernel of its own. */
const launchesPerLayer = 2;
