/**
 * PyTorch with FullyShardedDataParallel: parameters, gradients and optimizer state in shards, gathered unit by unit.
 *
 * Rules, PyTorch 2.x torch/distributed/fsdp: a unit is a block of the model (transformer_auto_wrap_policy), here what
 * shares a name up to its first number; what lies outside of blocks is the root, gathered once and kept. At most two
 * gathers are on their way (limit_all_gathers); backward gathers the next unit before the gradients of the current one
 * (BackwardPrefetch.BACKWARD_PRE) or after them (BACKWARD_POST). Gathers and scatters share one communicator.
 * `full` shards over all GPUs, `hybrid` over those of a node, with an all-reduce across nodes, `shard-grad-op` keeps
 * parameters whole between forward and backward. Inference gathers for forward alone; with `shard-grad-op` parameters stay
 * whole once they are (_runtime_utils.py, `_should_free_in_forward`).
 */

import type { Precision } from '../model/scenario.ts';
import { noExchange, type WorkerGroup } from './exchange.ts';
import type { FrameworkEntry } from './frameworkEntry.ts';
import { type FullSharding, fsdpExchange, fsdpInference } from './fsdpExchange.ts';
import { freeLayout } from './layoutRules.ts';
import { updateOnHost, updatesOnHost } from './offload.ts';
import { oneOf } from './options.ts';
import { flattenGradients } from './pytorch/gradientHandling.ts';
import type { HeldWeights } from './pytorch/optimizerUpdate.ts';
import { eagerOptions, eagerPytorch } from './pytorchDdp.ts';

export const pytorchFsdp: FrameworkEntry = {
  name: 'pytorch-fsdp',
  documentation: 'PyTorch FSDP: sharded parameters, gradients and optimizer state, gathered block by block',
  trainsIn: 'half',
  optimizers: { splitsTensors: true },
  layout: freeLayout,
  overlaps:
    'input: read, decoded and copied ahead; parameters: the next block during the current one; gradients: by block, during backward; update: after all',
  sources: [
    'PyTorch 2.x, torch/distributed/fsdp/fully_sharded_data_parallel.py and api.py (ShardingStrategy, BackwardPrefetch)',
    'Zhao et al., "PyTorch FSDP", VLDB 2023',
  ],
  options: [
    {
      name: 'sharding',
      default: 'full',
      documentation: 'full (FULL_SHARD), hybrid (HYBRID_SHARD) or shard-grad-op (SHARD_GRAD_OP)',
      expects: oneOf('full', 'hybrid', 'shard-grad-op'),
    },
    {
      name: 'backward-prefetch',
      default: 'pre',
      documentation: 'when backward gathers its next block: pre, post or none',
      expects: oneOf('pre', 'post', 'none'),
    },
    {
      name: 'communication-dtype',
      default: 'auto',
      documentation:
        'dtype of parameters and gradients on the wire: fp32, bf16, or auto (from the precision)',
      expects: oneOf('auto', 'fp32', 'bf16'),
    },
    {
      name: 'reduce-dtype',
      default: 'auto',
      documentation:
        'dtype of gradient reduction (MixedPrecision.reduce_dtype): fp32, bf16, or auto (the dtype of parameters on the wire)',
      expects: oneOf('auto', 'fp32', 'bf16'),
    },
    {
      name: 'cpu-offload',
      default: 'false',
      documentation:
        'true: shards of parameters, gradients and optimizer state lie in host memory, and the optimizer runs on its processors (CPUOffload, CPUOffloadPolicy)',
      expects: oneOf('true', 'false'),
    },
    ...eagerOptions,
  ],
  contradiction: (options) =>
    updatesOnHost(options) && options.get('gradients') !== 'new'
      ? '`cpu-offload` adds gradients up on the host; leave `gradients` out'
      : undefined,
  create: (options) => ({
    // MixedPrecision gathers parameters in the precision of the computation: nothing is cast.
    ...eagerPytorch(options, false),
    name: 'pytorch-fsdp',
    handleGradients: (group, pass, precision) =>
      flattenGradients(pass, group, {
        computed: bytesPerElementOf('auto', { precision }),
        reduced: gradientBytesPerElementOf(options, { precision }),
        shards: options.get('sharding') === 'hybrid' ? group.gpusPerNode : group.gpus,
      }),
    exchange: (gradients, group) =>
      group.gpus === 1 && !updatesOnHost(options)
        ? noExchange
        : fsdpExchange(gradients, group, shardingOf(options, group)),
    ...(updatesOnHost(options) && {
      update: (optimizer, precision, sizes) =>
        updateOnHost(optimizer, precision, sizes, {
          held: heldOnHost(options, precision),
          isFused: options.get('optimizer-kernels') === 'fused',
          // torchrun sets OMP_NUM_THREADS to 1 where a node has several processes (torch/distributed/run.py, `config_from_args`).
          isOneThread: true,
        }),
    }),
    exchangeInInference: (parameters, group) =>
      group.gpus === 1 ? noExchange : fsdpInference(parameters, group, shardingOf(options, group)),
    notes: [
      `FSDP, ${options.get('sharding')}, by blocks, backward prefetch ${options.get('backward-prefetch')}`,
    ],
  }),
};

const heldOnHost = (options: ReadonlyMap<string, string>, precision: Precision): HeldWeights => ({
  bytesPerElement: eagerPytorch(options, false).weightBytesPerElement(precision),
  copied: options.get('weights') === 'half-with-copy',
  clipped: options.get('clip-norm') === 'true',
});

const shardingOf = (options: ReadonlyMap<string, string>, group: WorkerGroup): FullSharding => {
  const prefetch = options.get('backward-prefetch');
  return {
    over: options.get('sharding') === 'hybrid' ? 'node' : 'all',
    keeps: options.get('sharding') === 'shard-grad-op',
    parameterBytesPerElement: bytesPerElementOf(options.get('communication-dtype'), group),
    gradientBytesPerElement: gradientBytesPerElementOf(options, group),
    backwardPrefetch: prefetch === 'post' || prefetch === 'none' ? prefetch : 'pre',
    ...(updatesOnHost(options) ? { onHost: heldOnHost(options, group.precision).bytesPerElement } : {}),
  };
};

export const bytesPerElementOf = (
  type: string | undefined,
  { precision }: Pick<WorkerGroup, 'precision'>,
): number => (type === 'fp32' || (type === 'auto' && (precision === 'fp32' || precision === 'tf32')) ? 4 : 2);

function gradientBytesPerElementOf(
  options: ReadonlyMap<string, string>,
  group: Pick<WorkerGroup, 'precision'>,
): number {
  const own = options.get('reduce-dtype');
  return bytesPerElementOf(own === 'auto' ? options.get('communication-dtype') : own, group);
}
