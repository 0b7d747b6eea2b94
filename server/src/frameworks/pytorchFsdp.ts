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

import { type Bytes, bytes } from '../model/units.ts';
import { type Exchange, noExchange, type WorkerGroup, wholeState } from './exchange.ts';
import type { FrameworkEntry } from './frameworkEntry.ts';
import type { Gradient } from './gradient.ts';
import { oneOf } from './options.ts';
import { allReduceEach } from './packBuckets.ts';
import { flattenGradients } from './pytorch/gradientHandling.ts';
import { eagerOptions, eagerPytorch } from './pytorchDdp.ts';
import { gathersOfForward, shardedMessages, shardStream, type Unit, unitOf } from './shardedUnits.ts';

export const pytorchFsdp: FrameworkEntry = {
  name: 'pytorch-fsdp',
  documentation: 'PyTorch FSDP: sharded parameters, gradients and optimizer state, gathered block by block',
  trainsIn: 'half',
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
    ...eagerOptions,
  ],
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
    exchange: (gradients, group) => {
      if (group.gpus === 1) return noExchange;
      const sharding = options.get('sharding');
      const isHybrid = sharding === 'hybrid';
      const keeps = sharding === 'shard-grad-op';
      const parameterBytesPerElement = bytesPerElementOf(options.get('communication-dtype'), group);
      const gradientBytesPerElement = gradientBytesPerElementOf(options, group);
      const units = blocksOf(gradients, group);
      const over = isHybrid ? group.gpusPerNode : group.gpus;
      if (over === 1) return replicated(units, parameterBytesPerElement, gradientBytesPerElement);
      return {
        ...noExchange,
        messages: shardedMessages(units, group, {
          over: isHybrid ? 'node' : 'all',
          parameterBytesPerElement,
          gradientBytesPerElement,
          // A model without blocks is all root.
          gathersAgain: !keeps && units.length > 1,
          ahead: 2,
          aheadInBackward: options.get('backward-prefetch') === 'pre' ? 1 : 0,
          // After the backward of a unit its hook prefetches, then reduces (_runtime_utils.py, `_post_backward_hook`).
          gathersFirst: options.get('backward-prefetch') === 'post',
        }),
        shards: { parameters: keeps ? 1 : over, gradients: over, optimizerState: over },
        buffers: bytes(
          (keeps ? 0 : wholeUnits(units, parameterBytesPerElement, 1)) +
            castGradients(units, parameterBytesPerElement, gradientBytesPerElement),
        ),
      };
    },
    exchangeInInference: (parameters, group) => {
      const sharding = options.get('sharding');
      const isHybrid = sharding === 'hybrid';
      const over = isHybrid ? group.gpusPerNode : group.gpus;
      if (over === 1 || sharding === 'shard-grad-op') return noExchange;
      const parameterBytesPerElement = bytesPerElementOf(options.get('communication-dtype'), group);
      const units = blocksOf(parameters, group);
      return {
        ...noExchange,
        messages: gathersOfForward(units, {
          over: isHybrid ? 'node' : 'all',
          parameterBytesPerElement,
          ahead: 2,
        }),
        shards: { ...wholeState, parameters: over },
        buffers: wholeUnits(units, parameterBytesPerElement, 0),
      };
    },
    notes: [
      `FSDP, ${options.get('sharding')}, by blocks, backward prefetch ${options.get('backward-prefetch')}`,
    ],
  }),
};

/**
 * Nodes of one GPU have nobody to share with: each keeps all (`_init_utils.py`: "switching to NO_SHARD"), and gradients
 * of a unit are added up across nodes.
 */
function replicated(units: readonly Unit[], parameterBytes: number, gradientBytes: number): Exchange {
  const buckets = units
    .map(({ gradients, elements, backwardLast }) => ({
      gradients,
      bytes: bytes(elements * gradientBytes),
      readyAfter: backwardLast,
    }))
    .sort((a, b) => a.readyAfter - b.readyAfter);
  return {
    ...noExchange,
    messages: allReduceEach(buckets, {}, shardStream),
    buffers: castGradients(units, parameterBytes, gradientBytes),
  };
}

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

/** The name up to its first number, as `layers.3` of `layers.3.mlp.weight`; empty outside of blocks. */
export const blockOfParameter = (parameter: string): string =>
  /^(.*?\D)??\d+(?=[./\]]|$)/.exec(parameter)?.[0] ?? '';

/** In the order of forward; the root, which is used at both ends of the model, comes first. */
function blocksOf(gradients: readonly Gradient[], group: WorkerGroup): readonly Unit[] {
  const blocks = new Map<string, Gradient[]>();
  for (const gradient of gradients) {
    const name = blockOfParameter(gradient.parameter);
    const block = blocks.get(name);
    if (block === undefined) blocks.set(name, [gradient]);
    else block.push(gradient);
  }
  return [...blocks.values()].map((block) => unitOf(block, group)).sort((a, b) => a.first - b.first);
}

/** Two units are whole at a time, the gradients of so many beside them. */
const wholeUnits = (units: readonly Unit[], bytesPerElement: number, gradients: 0 | 1): Bytes => {
  const [first, second] = largestTwo(units);
  return bytes(((1 + gradients) * first + second) * bytesPerElement);
};

/** Gradients are added in a copy where they change their type; the largest unit is the root, whose turn comes last. */
const castGradients = (units: readonly Unit[], from: number, to: number): Bytes =>
  bytes(from === to ? 0 : largestTwo(units)[1] * to);

/** Elements. */
function largestTwo(units: readonly Unit[]): readonly [number, number] {
  const [first = 0, second = 0] = units.map(({ elements }) => elements).sort((a, b) => b - a);
  return [first, second];
}
