/**
 * Megatron-LM: weights in half precision, fp32 sums of gradients in one buffer, all-reduced or scattered in buckets.
 *
 * Rules, NVIDIA/Megatron-LM 00119989: gradients lie in a buffer, in fp32 with bf16 weights (megatron/training/arguments.py), in fp16 with fp16,
 * that products of backward add to (`gradient_accumulation_fusion`). It is scaled by 1/copies and sent whole behind backward;
 * with `overlap-grad-reduce` in buckets of max(40M, 1M · copies) elements (megatron/core/distributed/
 * distributed_data_parallel.py). Some operators are fused by hand (`pytorch/fusedByHand.ts`). The distributed optimizer scatters gradients and gathers weights in their own type, before the
 * next forward or, with `overlap-param-gather`, bucket by bucket ahead of it (param_and_grad_buffer.py).
 */

import { type Estimate, estimateOf } from '../model/estimate.ts';
import type { Precision } from '../model/scenario.ts';
import { totalElements } from '../model/totalElements.ts';
import { bytes, microseconds, type Seconds } from '../model/units.ts';
import type { FrameworkBehaviour } from './behaviour.ts';
import {
  backwardEnd,
  type Exchange,
  forwardAt,
  type Message,
  noExchange,
  type SyncPoint,
  theUpdate,
  type WorkerGroup,
} from './exchange.ts';
import type { FrameworkEntry } from './frameworkEntry.ts';
import type { Gradient } from './gradient.ts';
import type { AskedLayout, TensorOverlap } from './layoutRules.ts';
import { fromZero, oneOf, positiveNumber } from './options.ts';
import { type Bucket, ncclStream, packBuckets } from './packBuckets.ts';
import { eagerOptionsWith, eagerPytorch } from './pytorchDdp.ts';

/** Of eager PyTorch's options, those that Megatron-LM decides itself. */
const ownDefaults: Readonly<Record<string, string>> = {
  'optimizer-kernels': 'fused',
  'clip-norm': 'true',
  attention: 'fused',
  'launch-us': '65',
};

/**
 * Its modules, autograd functions in Python and checks take the host longer than PyTorch's own: 3.4 to 3.8 ms for a layer of GPT and a
 * micro-batch on DGX A100, whatever its width and degrees. Middle: fitted to half of 720 measured steps (`measured/steps-vtrain.csv`);
 * low and high are assumptions for other releases and hosts.
 */
const megatronLaunch: Estimate<Seconds> = {
  middle: microseconds(65),
  low: microseconds(20),
  high: microseconds(80),
};

/**
 * Before 2024, `get_batch` of each micro-batch broadcast the sizes of its tensors to the GPUs that share the model, and read them back
 * from the GPU (`sizes_cuda.cpu()` of megatron/mpu/data.py): nothing was launched ahead of it. Middle: fitted with the time of a
 * launch to the same half of those steps. The other half is predicted with 12.2 % of error without it, and 8.0 % with it. Low and
 * high are assumptions for hosts up to twice as fast and as slow.
 */
const batchWait: Estimate<Seconds> = {
  middle: microseconds(4000),
  low: microseconds(2000),
  high: microseconds(8000),
};
const decided: readonly string[] = [
  'cross-entropy',
  'gradients',
  'weights',
  'reentrant',
  'in-place',
  'memory-format',
];

const autoOrNumber = (text: string): string | undefined =>
  text === 'auto' || positiveNumber(text) === undefined ? undefined : 'auto or a positive number';

export const megatron: FrameworkEntry = {
  name: 'megatron',
  documentation:
    'Megatron-LM: fp32 sums of gradients, all-reduced after backward; distributed optimizer and overlap as options',
  trainsIn: 'half',
  // `ColumnParallelLinear` and `RowParallelLinear` (megatron/core/tensor_parallel/layers.py), or Transformer Engine's.
  ownLinearLayers: true,
  optimizers: { takes: ['sgd', 'momentum', 'adam', 'adamw', 'none'] },
  layout: {
    defaults: { gathered: 'again', contextExchange: 'ring', stages: 'uniform' },
    schedules: ['1f1b', 'interleaved-1f1b'],
    wholeRounds: true,
    sharesHeads: true,
    refuses: refusedLayout,
    overlap: (options, { sequence, crossesNodes }) =>
      options.get('tp-comm-overlap') === 'true' && sequence && !crossesNodes ? userBuffers : asyncBackward,
    overlapOption: 'tp-comm-overlap',
    rowsOnce: { option: 'moe-token-dispatcher', value: 'flex' },
  },
  overlaps:
    'input: read, decoded and copied ahead; gradients: after backward, with `overlap-grad-reduce` in buckets during it; parameters of the distributed optimizer: after the update, with `overlap-param-gather` ahead of their use; collectives of tensor parallelism: some of backward beside products; update: after all',
  sources: [
    'NVIDIA/Megatron-LM 00119989, megatron/core/distributed/distributed_data_parallel.py and param_and_grad_buffer.py, megatron/training/arguments.py, docs/user-guide/features/dist_optimizer.md',
    'Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters", SC 2021',
  ],
  options: [
    {
      name: 'distributed-optimizer',
      default: 'false',
      documentation:
        'true: copies of the model share the update and its state (use_distributed_optimizer); false, as by default in Megatron-LM: each updates all',
      expects: oneOf('true', 'false'),
    },
    {
      name: 'overlap-grad-reduce',
      default: 'false',
      documentation: 'true: gradients are sent in buckets during backward (overlap_grad_reduce)',
      expects: oneOf('true', 'false'),
    },
    {
      name: 'overlap-param-gather',
      default: 'false',
      documentation:
        'true: weights are gathered bucket by bucket ahead of the next forward (overlap_param_gather)',
      expects: oneOf('true', 'false'),
    },
    {
      name: 'gradient-dtype',
      default: 'auto',
      documentation:
        'sums of gradients, and what is sent of them: fp32 (accumulate_allreduce_grads_in_fp32), or half, the precision of the weights (grad_reduce_in_bf16); auto, as Megatron-LM: half with fp16, else fp32',
      expects: oneOf('auto', 'fp32', 'half'),
    },
    {
      name: 'gradient-accumulation-fusion',
      default: 'true',
      documentation:
        'products of backward add to the sums of gradients; false: a kernel for each weight does (no_gradient_accumulation_fusion)',
      expects: oneOf('true', 'false'),
    },
    {
      name: 'bucket-size',
      default: 'auto',
      documentation:
        'with overlap-grad-reduce, elements of a bucket (ddp_bucket_size); auto: the larger of 40 million, and 1 million for each copy',
      expects: autoOrNumber,
    },
    {
      name: 'tp-comm-overlap',
      default: 'false',
      documentation:
        'true: with sp, collectives of tensor parallelism run in pieces beside products, within a node (tp_comm_overlap, by Transformer Engine)',
      expects: oneOf('true', 'false'),
    },
    {
      name: 'moe-token-dispatcher',
      default: 'alltoall',
      documentation:
        'how rows go to experts of other GPUs: alltoall, a row for each expert; flex, by DeepEP or HybridEP, a row once to each node and GPU (moe_token_dispatcher_type)',
      expects: oneOf('alltoall', 'flex'),
    },
    {
      name: 'batch-us',
      default: '0',
      documentation:
        'host time before each pass forward in microseconds, for which the GPU waits: its batch is read and broadcast (get_batch); 4000 with releases of PyTorch before 2.1',
      expects: fromZero,
    },
    ...eagerOptionsWith(ownDefaults, decided),
  ],
  contradiction: (options) => {
    if (options.get('overlap-param-gather') !== 'true') return undefined;
    const missing = ['distributed-optimizer', 'overlap-grad-reduce'].filter(
      (name) => options.get(name) !== 'true',
    );
    return missing.length === 0
      ? undefined
      : `\`overlap-param-gather\` needs ${missing.map((name) => `\`${name}\``).join(' and ')}, as in Megatron-LM; set ${missing.length === 1 ? 'it' : 'them'} to true`;
  },
  create: (options) => {
    const asked = options.get('gradient-dtype');
    /** megatron/training/arguments.py: bf16 sets `accumulate_allreduce_grads_in_fp32`. */
    const isWide = (precision: Precision): boolean =>
      asked === 'fp32' || (asked !== 'half' && precision !== 'fp16');
    const eagerWith = (gradients: 'fp32-sums' | 'new') =>
      eagerPytorch(
        new Map([
          ...options,
          ['weights', 'half-with-copy'],
          ['gradients', gradients],
          // `CheckpointFunction` of megatron/core/tensor_parallel/random.py runs all that it was given again.
          ['reentrant', 'true'],
        ]),
        false,
        megatronLaunch,
        { fusedByHand: true },
      );
    const [eager, narrow] = [eagerWith('fp32-sums'), eagerWith('new')];
    const sumBytes = (precision: Precision): number =>
      isWide(precision) ? 4 : eager.weightBytesPerElement(precision);
    return {
      ...eager,
      name: 'megatron',
      ...passWaitOf(Number(options.get('batch-us'))),
      addsGradients: true,
      gradientSumBytesPerElement: sumBytes,
      update: (optimizer, precision, sizes) =>
        (isWide(precision) ? eager : narrow).update(optimizer, precision, sizes),
      handleGradients: ({ gpus }, { sends }, precision) => {
        const computed = eager.weightBytesPerElement(precision);
        const sum = sumBytes(precision);
        const isFused = options.get('gradient-accumulation-fusion') === 'true';
        // A product reads the sum and writes it in the place of a gradient; else a kernel reads both.
        const added = isFused ? 2 * sum - computed : 2 * sum + computed;
        return {
          bytesPerElement: added + (sends && gpus > 1 ? 2 * sum : 0),
          launches: isFused ? 0 : 1,
        };
      },
      exchange: (gradients, group) =>
        group.gpus === 1
          ? noExchange
          : exchangeOf(gradients, group, options, {
              weight: eager.weightBytesPerElement(group.precision),
              sum: sumBytes(group.precision),
            }),
      notes: [
        `Megatron-LM, ${options.get('distributed-optimizer') === 'true' ? 'distributed optimizer' : 'a whole update on each GPU'}, gradients ${options.get('overlap-grad-reduce') === 'true' ? 'in buckets during' : 'after'} backward`,
      ],
    };
  },
};

function passWaitOf(time: number): Pick<FrameworkBehaviour, 'passWait'> {
  if (time === 0) return {};
  const own = microseconds(time);
  return { passWait: own === batchWait.middle ? batchWait : estimateOf(() => own) };
}

/** Bytes per element. */
interface Widths {
  readonly weight: number;
  readonly sum: number;
}

function exchangeOf(
  gradients: readonly Gradient[],
  group: WorkerGroup,
  options: ReadonlyMap<string, string>,
  { weight, sum }: Widths,
): Exchange {
  const overlaps = options.get('overlap-grad-reduce') === 'true';
  const size = options.get('bucket-size');
  const elements = size === undefined || size === 'auto' ? usualBucket(group) : Number(size);
  const buckets = packBuckets(gradients, [overlaps ? elements * sum : Number.POSITIVE_INFINITY], sum);
  const isDistributed = options.get('distributed-optimizer') === 'true';
  const end = backwardEnd(group);
  const sent = buckets.map((bucket) =>
    messageOf(
      bucket,
      isDistributed ? 'reduce-scatter' : 'all-reduce',
      sum,
      overlaps ? { pass: 'backward', position: bucket.readyAfter } : end,
      theUpdate,
    ),
  );
  if (!isDistributed) return { ...noExchange, messages: sent };
  const ahead = options.get('overlap-param-gather') === 'true';
  // The last bucket has what forward uses first.
  const gathered = buckets.toReversed().map((bucket) => {
    const first = Math.min(...bucket.gradients.map(({ usedFrom }) => usedFrom));
    return messageOf(bucket, 'all-gather', weight, theUpdate, forwardAt(ahead ? first : 0));
  });
  return {
    ...noExchange,
    messages: [...sent, ...gathered],
    shards: { parameters: 1, gradients: 1, optimizerState: group.gpus },
  };
}

/** distributed_data_parallel.py: larger buckets for more copies keep messages long enough for the bandwidth. */
const usualBucket = ({ gpus }: WorkerGroup): number => Math.max(40e6, 1e6 * gpus);

function messageOf(
  { gradients }: Bucket,
  collective: 'all-reduce' | 'reduce-scatter' | 'all-gather',
  bytesPerElement: number,
  after: SyncPoint,
  before: SyncPoint,
): Message {
  const size = bytes(totalElements(gradients) * bytesPerElement);
  return {
    gradients,
    bytes: size,
    after,
    before,
    stages: [
      { channel: ncclStream, operation: { kind: 'collective', collective, bytes: size, over: 'all' } },
    ],
  };
}

/**
 * NVIDIA/TransformerEngine fecb10bd, transformer_engine/pytorch/module/base.py, `initialize_ub`: a ring of copies ahead of products,
 * four pieces behind them, and whole collectives beside the two products of backward; multiprocessors are its defaults.
 */
const userBuffers: TensorOverlap = {
  gathered: { multiprocessors: 1 },
  scattered: { pieces: 4, multiprocessors: 16 },
  bulk: 16,
};

/**
 * Without them, NCCL gathers what a column-parallel product read again beside the gradient of its input, and adds up or scatters that
 * gradient beside the gradient of its weight (megatron/core/tensor_parallel/layers.py, `LinearWithGradAccumulationAndAsyncCommunication`;
 * Korthikanti et al., arXiv:2205.05198, section 4.2.2). What row-parallel products need in backward waits, as all does in forward.
 */
const asyncBackward: TensorOverlap = { bulk: 'nccl' };

/**
 * megatron/training/arguments.py, `validate_args`; megatron/core/transformer/transformer_config.py, `__post_init__`. Releases before
 * the end of 2025 also refuse fewer heads of keys and values than `tp`. Exchanged heads and windows:
 * Transformer Engine, pytorch/attention/dot_product_attention/context_parallel.py, `attn_forward_func_with_cp`.
 */
function refusedLayout(asked: AskedLayout): string | undefined {
  const { parallel, blocks, heads, keyHeads, options } = asked;
  const { tensor, context, contextExchange, pipeline, chunks, sequence, expert, stages } = parallel;
  if (options.get('tp-comm-overlap') === 'true' && tensor > 1 && !sequence)
    return 'Megatron-LM needs sequence parallelism for `tp-comm-overlap`; add `sp`';
  const odd = heads.find((each) => each % tensor !== 0);
  if (odd !== undefined)
    return `Megatron-LM divides heads evenly: ${odd} heads do not divide by \`tp=${tensor}\`; use a \`tp\` that divides them`;
  const uneven = keyHeads.find((each) => each % tensor !== 0 && tensor % each !== 0);
  if (uneven !== undefined)
    return `Megatron-LM needs heads of keys and values that are a multiple or a divisor of \`tp\`, and ${uneven} are neither for \`tp=${tensor}\`; use another \`tp\``;
  if (context > 1 && contextExchange === 'ring' && asked.hasWindow())
    return 'Transformer Engine has no ring for attention with a sliding window; use `cp-comm=all-gather` or `all-to-all`';
  const exchanged = keyHeads.map((each) => Math.max(1, each / tensor)).find((each) => each % context !== 0);
  if (contextExchange === 'all-to-all' && exchanged !== undefined)
    return `Transformer Engine exchanges whole heads: ${exchanged} heads of keys and values on a GPU do not divide by \`cp=${context}\`; use \`cp-comm=ring\` or \`all-gather\`, or a smaller \`cp\``;
  if (expert > 1 && tensor > 1 && !sequence)
    return 'Megatron-LM needs sequence parallelism where tensor and expert parallelism meet; add `sp`';
  if (pipeline > 1 && stages === 'uniform' && blocks % (pipeline * chunks) !== 0)
    return `Megatron-LM gives every stage as many layers: ${blocks} layers do not divide by ${pipeline * chunks} stages; use other \`pp\` and \`vp\`, or \`stages=balanced\`, which stands for \`pipeline_model_parallel_layout\``;
  return undefined;
}
