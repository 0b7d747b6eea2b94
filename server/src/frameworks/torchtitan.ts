/**
 * torchtitan: FSDP2 over all that is left of the GPUs, with tensor, context, expert and pipeline parallelism beside it.
 *
 * Rules, pytorch/torchtitan 000204a4, torchtitan/config/job_config.py: weights in fp32 shards, gathered in bf16, gradients
 * added up in fp32; AdamW in one pass, clipping at 1.0; sequence parallelism with tensor parallelism; one block less in the first
 * and last stage; shards are given up after forward, but not beside a pipeline (`fsdp_reshard_after_forward`). A stage of a
 * pipeline gathers and scatters once in a step (PyTorch 2.13, torch/distributed/pipelining/stage.py). FSDP2 copies what it
 * gathered into each weight, and gradients, cast, into what it scatters; NCCL divides (fsdp/_fully_shard/_fsdp_collectives.py).
 */

import { pytorchSchedules } from '../model/pytorchSchedules.ts';
import { pipelineSchedules } from '../model/scenario.ts';
import type { GradientHandling, GradientPass } from './behaviour.ts';
import { noExchange, type WorkerGroup } from './exchange.ts';
import type { FrameworkEntry } from './frameworkEntry.ts';
import { type FullSharding, fsdpExchange, fsdpInference, waysOf } from './fsdpExchange.ts';
import type { AskedLayout, TensorOverlap } from './layoutRules.ts';
import { oneOf } from './options.ts';
import { type ChangedDefault, releaseOptionWith } from './pytorch/releases.ts';
import { eagerOptionsWith, eagerPytorch } from './pytorchDdp.ts';
import { bytesPerElementOf } from './pytorchFsdp.ts';

const ownDefaults: Readonly<Record<string, string>> = { 'optimizer-kernels': 'fused', 'clip-norm': 'true' };
/** FSDP2 decides gradients and weights, and its own code computes the loss. */
const decided: readonly string[] = ['cross-entropy', 'gradients', 'weights'];

/**
 * Its loss was compiled with the blocks until builds of PyTorch failed on it in December 2024, and again later: pytorch/torchtitan,
 * pull requests 642 and 755.
 */
const lossOfDecember: ChangedDefault = { option: 'compile-loss', now: 'true', was: 'false', until: '2.7' };

export const torchtitan: FrameworkEntry = {
  name: 'torchtitan',
  documentation:
    'torchtitan: FSDP2 with gradients added up in fp32, beside tensor, context, expert and pipeline parallelism',
  trainsIn: 'half',
  optimizers: { takes: ['sgd', 'momentum', 'adam', 'adamw', 'none'] },
  layout: {
    defaults: { sequence: true, stages: 'torchtitan' },
    schedules: pipelineSchedules.filter((name) => pytorchSchedules[name] !== undefined),
    refuses: refusedLayout,
    warns: ({ parallel }, gpus) =>
      gpus === parallel.tensor * parallel.pipeline
        ? 'torchtitan computes in fp32 where nothing is sharded: its mixed precision is that of FSDP, and one copy has none; set `precision: fp32`, or use more GPUs'
        : undefined,
    overlap: (options, { sequence, crossesNodes }) =>
      options.get('async-tensor-parallel') === 'true' && sequence && !crossesNodes
        ? symmetricMemory
        : undefined,
    overlapOption: 'async-tensor-parallel',
  },
  overlaps:
    'input: read, decoded and copied ahead; parameters: the next block during the current one; gradients: by block, during backward; update: after all',
  sources: [
    'pytorch/torchtitan 000204a4, torchtitan/config/job_config.py, models/llama3/infra/parallelize.py, distributed/pipeline_parallel.py',
    'PyTorch 2.13, torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py and torch/distributed/pipelining/stage.py',
    'Liang et al., "TorchTitan", ICLR 2025',
  ],
  options: [
    {
      name: 'sharding',
      default: 'full',
      documentation:
        'full: data_parallel_shard_degree takes all copies; hybrid: those of a node, and data_parallel_replicate_degree the nodes',
      expects: oneOf('full', 'hybrid'),
    },
    {
      name: 'reshard-after-forward',
      default: 'default',
      documentation:
        'whether blocks are given up after forward and gathered again: always, never, or default, which is never beside a pipeline (fsdp_reshard_after_forward)',
      expects: oneOf('default', 'always', 'never'),
    },
    {
      name: 'async-tensor-parallel',
      default: 'false',
      documentation:
        'true: collectives of tensor parallelism run in pieces beside products, within a node; needs compile (enable_async_tensor_parallel)',
      expects: oneOf('true', 'false'),
    },
    releaseOptionWith([lossOfDecember]),
    ...eagerOptionsWith(ownDefaults, [...decided, 'torch']),
  ],
  contradiction: (options) =>
    options.get('async-tensor-parallel') === 'true' && options.get('compile') !== 'true'
      ? '`async-tensor-parallel` needs `compile`, as in torchtitan; set it to true'
      : undefined,
  create: (options) => ({
    // `cross_entropy_loss` of torchtitan/components/loss.py casts scores to fp32.
    ...eagerPytorch(new Map([...options, ['weights', 'fp32'], ['gradients', 'new']]), false, undefined, {
      castsScores: true,
    }),
    name: 'torchtitan',
    handleGradients: (group, pass, precision) =>
      group.gpus === 1 && pass.adds
        ? { bytesPerElement: 12, launches: 1 }
        : copies(pass, group, options, bytesPerElementOf('auto', { precision })),
    exchange: (gradients, group) => {
      if (group.gpus === 1) return noExchange;
      const how = shardingOf(options, group);
      const exchange = fsdpExchange(gradients, group, how);
      if (waysOf(how.over, group) === 1 || !how.keeps || group.pipelined !== true) return exchange;
      // Micro-batches add up whole gradients.
      return { ...exchange, shards: { ...exchange.shards, gradients: 1 } };
    },
    exchangeInInference: (parameters, group) =>
      group.gpus === 1 ? noExchange : fsdpInference(parameters, group, shardingOf(options, group)),
    notes: [`FSDP2 of torchtitan, ${options.get('sharding')}, by blocks, gradients added up in fp32`],
  }),
};

const shardingOf = (options: ReadonlyMap<string, string>, group: WorkerGroup): FullSharding => ({
  over: options.get('sharding') === 'hybrid' ? 'node' : 'all',
  keeps: keepsWhole(options, group),
  parameterBytesPerElement: bytesPerElementOf('auto', group),
  gradientBytesPerElement: 4,
  backwardPrefetch: 'pre',
});

const keepsWhole = (options: ReadonlyMap<string, string>, { pipelined }: WorkerGroup): boolean => {
  const asked = options.get('reshard-after-forward');
  return asked === 'never' || (asked === 'default' && pipelined === true);
};

/** Of one pass: from what was gathered into weights, from gradients into what is scattered, and to the sum of earlier passes. */
function copies(
  { adds, sends }: GradientPass,
  group: WorkerGroup,
  options: ReadonlyMap<string, string>,
  computed: number,
): GradientHandling {
  const { gpus, pipelined } = group;
  if (gpus === 1) return { bytesPerElement: 0, launches: 0 };
  const sum = 4;
  if (pipelined === true && !sends) {
    // Micro-batches before the last add what backward gives to a whole sum in fp32.
    return { bytesPerElement: computed + sum + (adds ? sum : 0), launches: 1 };
  }
  const gathers = keepsWhole(options, group) ? 1 : 2;
  const scattered = computed + sum;
  const ways = waysOf(shardingOf(options, group).over, group);
  const added = !adds ? 0 : pipelined === true ? computed + 2 * sum : (3 * sum) / ways;
  return { bytesPerElement: gathers * 2 * computed + scattered + added, launches: 0 };
}

/**
 * PyTorch 2.13, torch/distributed/_symmetric_memory, `_pipelined_multi_all_gather_and_consume` and `_pipelined_produce_and_all2all`:
 * copies by the copy engines, and a sum of what all GPUs gave. A gradient that several products give is not scattered so
 * (torch/_inductor/fx_passes/micro_pipeline_tp.py, `_find_producer_matmul`).
 */
const symmetricMemory: TensorOverlap = {
  gathered: { multiprocessors: 0 },
  scattered: { multiprocessors: 0, sums: true },
};

/** Heads: `view(bs, seqlen, -1, head_dim)` of torchtitan/models/llama3/model/model.py. torchtitan/distributed/parallel_dims.py, `_validate`; mixed precision: torchtitan/distributed/utils.py, `maybe_enable_amp`. */
function refusedLayout({ parallel, heads, keyHeads, options }: AskedLayout): string | undefined {
  const { tensor, pipeline, context, expert } = parallel;
  const odd = [...heads, ...keyHeads].find((each) => each % tensor !== 0);
  if (odd !== undefined)
    return `torchtitan gives each GPU whole heads: ${odd} heads do not divide by \`tp=${tensor}\`; use a \`tp\` that divides them`;
  if (expert > 1 && expert % context !== 0)
    return `torchtitan shares experts by all GPUs of a sequence: \`ep=${expert}\` is not a multiple of \`cp=${context}\`; use one that is`;
  if (pipeline > 1 && options.get('reshard-after-forward') === 'always')
    return '`reshard-after-forward=always` gathers every block in each micro-batch of a pipeline, which is not costed; leave it out';
  return undefined;
}
