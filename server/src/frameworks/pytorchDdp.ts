/**
 * PyTorch with DistributedDataParallel: eager kernels, autocast, gradients all-reduced in buckets during backward.
 *
 * Rules, PyTorch 2.x: buckets in the order gradients become ready (torch/csrc/distributed/c10d/reducer.cpp
 * rebuilds them so after the first step), the first of 1 MiB and the others of `bucket_cap_mb` = 25
 * (torch/nn/parallel/distributed.py); one all-reduce per full bucket, in order, on a stream of its own;
 * gradients have the type of their parameters, fp32 under autocast, and a compression hook narrows the message.
 */

import { attentionKernels } from '../hardware/kernelEnvironment.ts';
import type { Estimate } from '../model/estimate.ts';
import type { Precision } from '../model/scenario.ts';
import { bytes, type Seconds, seconds, sum } from '../model/units.ts';
import type { FrameworkBehaviour } from './behaviour.ts';
import {
  denseGradients,
  differentRows,
  embeddingHandling,
  embeddingsOption,
  gatheredRows,
  isSharded,
  receivedRows,
  shardedTables,
} from './embeddingTables.ts';
import { type Channel, type Message, noExchange, prefetchedInput } from './exchange.ts';
import type { FrameworkEntry } from './frameworkEntry.ts';
import { freeLayout } from './layoutRules.ts';
import { type FrameworkOption, fromZero, oneOf, positiveNumber } from './options.ts';
import { allReduceEach, type Bucket, packBuckets } from './packBuckets.ts';
import {
  compiledLaunch,
  compileLossOption,
  compileMode,
  compileOption,
} from './pytorch/compiled/compileOption.ts';
import { eagerLaunch, launchOf } from './pytorch/eagerLaunch.ts';
import { addGradients, both, copyIntoBuckets } from './pytorch/gradientHandling.ts';
import type { OptimizerKernels } from './pytorch/listPasses.ts';
import { pytorchLowering } from './pytorch/lowerPytorch.ts';
import { addedGradientKernels, optimizerUpdate, zeroFill } from './pytorch/optimizerUpdate.ts';
import {
  hasOlderMatmuls,
  kernelArgumentsOf,
  padsMatmuls,
  releaseOption,
  sharesRows,
} from './pytorch/releases.ts';
import { crossEntropyOption, scorePartsOf } from './pytorch/scoresInParts.ts';
import { updateInBackward } from './pytorch/updateInBackward.ts';
import { wireBytes, wireOption } from './wireType.ts';

/** Options of PyTorch, whatever sends its gradients. */
export const eagerOptions: readonly FrameworkOption[] = [
  releaseOption,
  compileOption,
  compileLossOption,
  crossEntropyOption,
  {
    name: 'optimizer-kernels',
    default: 'foreach',
    documentation:
      'foreach (several passes over lists of tensors, the default), fused (one pass) or loop (tensor after tensor, as before PyTorch 2.0)',
    expects: oneOf('foreach', 'fused', 'loop'),
  },
  {
    name: 'gradients',
    default: 'new',
    documentation:
      'new: allocated in each step (zero_grad frees the old ones, the default since PyTorch 2.0); added: to zeroed gradients that stay allocated (the default before); fp32-sums: half-precision gradients of each pass are added to fp32 ones that stay allocated',
    expects: oneOf('new', 'added', 'fp32-sums'),
  },
  {
    name: 'weights',
    default: 'fp32',
    documentation:
      'in fp16 and bf16: fp32 (autocast casts fp32 weights), half (weights, gradients and optimizer state in half precision) or half-with-copy (half, plus an fp32 copy that the optimizer updates, as O2 of apex)',
    expects: oneOf('fp32', 'half', 'half-with-copy'),
  },
  {
    name: 'reentrant',
    default: 'false',
    documentation:
      'with checkpointing: true recomputes a block to its end (use_reentrant=True, and PyTorch before 2.1); false stops when backward has what it needs',
    expects: oneOf('true', 'false'),
  },
  {
    name: 'clip-norm',
    default: 'false',
    documentation: 'true: clip gradients by their total norm before the update (clip_grad_norm_)',
    expects: oneOf('true', 'false'),
  },
  {
    name: 'conv-tf32',
    default: 'true',
    documentation: 'fp32 convolutions use TF32 on GPUs that have it (torch.backends.cudnn.allow_tf32)',
    expects: oneOf('true', 'false'),
  },
  {
    name: 'fused-calls',
    default: 'true',
    documentation:
      'attention, GELU and similar operations are one call each; false: the model writes them out',
    expects: oneOf('true', 'false'),
  },
  {
    name: 'attention',
    default: 'as-exported',
    documentation:
      'fused (one kernel, as scaled_dot_product_attention since PyTorch 2.0), eager (scores are stored) or as-exported (as the graph shows it, fused where it does not); with fused the kernel makes a mask of positions itself and skips what a window hides; `fused` of a layer in a spec wins over it',
    expects: oneOf('as-exported', 'fused', 'eager'),
  },
  {
    name: 'attention-kernel',
    default: 'newest',
    documentation:
      'kernels of fused attention: newest (PyTorch 2.14 with CUDA 13: cuDNN on Hopper and on Blackwell of data centers, FlashAttention-2 elsewhere), flash-attention-3 (the package for Hopper and Blackwell), flash-attention-2 (PyTorch 2.2 to 2.9), flash-attention-1 (PyTorch 2.0 and 2.1) or triton (FlashAttention in Triton); masks run on the memory-efficient kernel, unless cuDNN takes them',
    expects: oneOf(...attentionKernels),
  },
  {
    name: 'in-place',
    default: 'false',
    documentation:
      'true: LeakyReLU, ELU, SELU and CELU have inplace=True and keep their result for backward, not their input',
    expects: oneOf('true', 'false'),
  },
  {
    name: 'memory-format',
    default: 'channels-first',
    documentation: 'memory format of images: channels-first (NCHW, the default) or channels-last (NHWC)',
    expects: oneOf('channels-first', 'channels-last'),
  },
  {
    name: 'launch-us',
    default: String(eagerLaunch.middle * 1e6),
    documentation:
      'host time of one kernel launch in microseconds; measure it as the time of a step of tiny kernels ÷ their number',
    expects: positiveNumber,
  },
  {
    name: 'launch-blocking',
    default: 'false',
    documentation: 'true: the host waits for each kernel before the next (CUDA_LAUNCH_BLOCKING=1)',
    expects: oneOf('true', 'false'),
  },
  {
    name: 'collective-us',
    default: '0',
    documentation:
      'host time of one call of a collective between GPUs of a copy in microseconds; 0, that of a kernel launch',
    expects: fromZero,
  },
];

/** The same of a framework on top of PyTorch that sets some otherwise, and leaves those it decides to nobody. */
export const eagerOptionsWith = (
  defaults: Readonly<Record<string, string>>,
  decided: readonly string[] = [],
): readonly FrameworkOption[] =>
  eagerOptions
    .filter(({ name }) => !decided.includes(name))
    .map((option) => ({ ...option, default: defaults[option.name] ?? option.default }));

export const pytorchDdp: FrameworkEntry = {
  name: 'pytorch-ddp',
  documentation: 'PyTorch DistributedDataParallel: gradient buckets all-reduced during backward',
  trainsIn: 'half',
  layout: freeLayout,
  overlaps:
    'input: read, decoded and copied ahead; gradients: in buckets, during backward; update: after all',
  sources: [
    'PyTorch 2.x, torch/nn/parallel/distributed.py and torch/csrc/distributed/c10d/reducer.cpp',
    'Li et al., "PyTorch Distributed", VLDB 2020',
  ],
  options: [
    {
      name: 'bucket-mb',
      default: '25',
      documentation: 'size of a gradient bucket in MiB (bucket_cap_mb)',
      expects: positiveNumber,
    },
    {
      name: 'first-bucket-mb',
      default: '1',
      documentation: 'size of the first bucket in MiB',
      expects: positiveNumber,
    },
    wireOption,
    {
      name: 'gradient-as-bucket-view',
      default: 'false',
      documentation: 'true: gradients are views of the buckets, without a copy',
      expects: oneOf('true', 'false'),
    },
    embeddingsOption('as-written', 'dense', 'sparse', 'table-wise', 'row-wise'),
    {
      name: 'optimizer-in-backward',
      default: 'false',
      documentation:
        'true: a parameter is updated when its gradient is complete, and the gradient is freed (register_post_accumulate_grad_hook, optimizer_in_bwd of torchtune); on several GPUs when its bucket has arrived',
      expects: oneOf('true', 'false'),
    },
    ...eagerOptions,
  ],
  contradiction: (options) =>
    inBackward(options) && (options.get('clip-norm') === 'true' || options.get('gradients') !== 'new')
      ? '`optimizer-in-backward` frees gradients before their norm or their sum is known; leave `clip-norm` and `gradients` out'
      : undefined,
  create: createPytorchDdp,
};

const inBackward = (options: ReadonlyMap<string, string>): boolean =>
  options.get('optimizer-in-backward') === 'true';

function createPytorchDdp(options: ReadonlyMap<string, string>): FrameworkBehaviour {
  const bucket = Number(options.get('bucket-mb')) * 2 ** 20;
  const first = Number(options.get('first-bucket-mb')) * 2 ** 20;
  const wire = wireBytes(options);
  const views = options.get('gradient-as-bucket-view') === 'true';
  const embeddings = embeddingHandling(options);
  const eager = eagerPytorch(options);
  return {
    ...eager,
    name: 'pytorch-ddp',
    ...(inBackward(options) && {
      updatesInBackward: true,
      update: (optimizer, precision, sizes) =>
        updateInBackward(sizes, (own) => eager.update(optimizer, precision, own)),
    }),
    embeddings,
    handleGradients: (group, pass, precision) =>
      both(
        eager.handleGradients(group, pass, precision),
        copyIntoBuckets(pass, group, {
          bytesPerElement: eager.weightBytesPerElement(precision),
          views,
          wire,
        }),
      ),
    exchange: (gradients, group) => {
      if (group.gpus === 1) return noExchange;
      const dense = denseGradients(gradients);
      // What a bucket holds is counted before a hook narrows it (reducer.cpp, by `element_size` of the parameters).
      const whole = packBuckets(dense, [Math.min(first, bucket), bucket]);
      const buckets = wire === undefined ? whole : whole.map((each) => narrowed(each, wire));
      const isByGloo = dense.length < gradients.length && !isSharded(embeddings);
      return {
        ...noExchange,
        ...(inBackward(options) ? { update: 'as they arrive' as const } : {}),
        messages: isByGloo
          ? inReadyOrder([
              ...allReduceEach(buckets, { library: 'open-mpi' }, gloo),
              ...gatheredRows(gradients, group, gloo, 'open-mpi', differentRows),
            ])
          : [...shardedTables(gradients, group, embeddings, true), ...allReduceEach(buckets)],
        buffers: bytes(
          (views ? 0 : sum(dense.map(({ bytes: size }) => size))) +
            (isByGloo ? receivedRows(gradients, group, differentRows) : 0),
        ),
      };
    },
    ...(isSharded(embeddings) && {
      exchangeInInference: (parameters, group) => ({
        ...noExchange,
        messages: shardedTables(parameters, group, embeddings, false),
      }),
    }),
    notes: [
      `PyTorch DDP, buckets of ${options.get('bucket-mb')} MiB in ready order, gradients as ${options.get('gradient-dtype')}`,
    ],
  };
}

/** Through host memory; its collectives are costed as those of Open MPI. */
const gloo: Channel = { name: 'gloo', order: 'first come' };

const inReadyOrder = (messages: readonly Message[]): readonly Message[] =>
  [...messages].sort((a, b) => positionOf(a) - positionOf(b));

const positionOf = ({ after }: Message): number => (after.pass === 'backward' ? after.position : -1);

const narrowed = (bucket: Bucket, bytesPerElement: number): Bucket => ({
  ...bucket,
  bytes: sum(bucket.gradients.map(({ elements }) => bytes(elements * bytesPerElement))),
});

/**
 * What every eager PyTorch behaviour shares. `casts` tells whether fp16 and bf16 mean autocast; else all that is computed
 * is in them, even where the weights are kept in fp32. `usualLaunch`: where nobody says how fast the host launches.
 */
export function eagerPytorch(
  options: ReadonlyMap<string, string>,
  casts = options.get('weights') === 'fp32',
  usualLaunch: Estimate<Seconds> = eagerLaunch,
  { fusedByHand = false, castsScores = false }: { fusedByHand?: boolean; castsScores?: boolean } = {},
): Pick<
  FrameworkBehaviour,
  | 'launch'
  | 'launchBlocking'
  | 'collectiveCall'
  | 'lower'
  | 'input'
  | 'update'
  | 'addsGradients'
  | 'gradientSumBytesPerElement'
> &
  Required<Pick<FrameworkBehaviour, 'weightBytesPerElement' | 'handleGradients'>> {
  const weightBytesPerElement = (precision: Precision): number =>
    options.get('weights') !== 'fp32' && isHalf(precision) ? 2 : 4;
  const copied = options.get('weights') === 'half-with-copy';
  const clipped = options.get('clip-norm') === 'true';
  const convolutionTf32 = options.get('conv-tf32') !== 'false';
  const fusedCalls = options.get('fused-calls') !== 'false';
  const attention = options.get('attention');
  const fusedAttention = attention === 'fused' ? true : attention === 'eager' ? false : undefined;
  const attentionKernel = attentionKernels.find((name) => name === options.get('attention-kernel'));
  const channelsLast = options.get('memory-format') === 'channels-last';
  const inPlace = options.get('in-place') === 'true';
  const kernels = kernelsOf(options.get('optimizer-kernels'));
  const fp32Sums = options.get('gradients') === 'fp32-sums';
  const addsGradients = fp32Sums || options.get('gradients') === 'added';
  const reentrant = options.get('reentrant') === 'true';
  const mode = compileMode(options);
  const isInPlace = options.get(crossEntropyOption.name) === 'in-place';
  const lossInPlace = fusedByHand ? 'of scores' : isInPlace ? 'beside scores' : undefined;
  const launch = launchOf(Number(options.get('launch-us')) * 1e-6, usualLaunch);
  const collectiveCall = Number(options.get('collective-us')) * 1e-6;
  return {
    ...(collectiveCall > 0 ? { collectiveCall: seconds(collectiveCall) } : {}),
    ...(options.get('launch-blocking') === 'true' ? { launchBlocking: true as const } : {}),
    launch: launch !== usualLaunch || mode === undefined ? launch : compiledLaunch[mode],
    lower: pytorchLowering({
      convolutionTf32,
      fusedCalls,
      fusedAttention,
      attentionKernel,
      sharesRows: sharesRows(options.get('torch')),
      olderMatmuls: hasOlderMatmuls(options.get('torch')),
      padsMatmuls: mode !== undefined && padsMatmuls(options.get('torch')),
      channelsLast,
      inPlace,
      wholeHalf: !casts,
      widensScores: castsScores || lossInPlace !== undefined,
      ...(lossInPlace === undefined ? {} : { lossInPlace }),
      compiled: mode !== undefined,
      compilesLoss: options.get('compile-loss') === 'true',
      scoreParts: scorePartsOf(options),
      reentrant,
      fusedByHand,
    }),
    input: prefetchedInput,
    weightBytesPerElement,
    addsGradients,
    ...(fp32Sums ? { gradientSumBytesPerElement: () => 4 } : {}),
    handleGradients: (_, pass, precision) => addGradients(pass, weightBytesPerElement(precision), fp32Sums),
    update: (optimizer, precision, sizes) => {
      const bytesPerElement = weightBytesPerElement(precision);
      const update = optimizerUpdate(optimizer, kernels, precision, sizes, {
        bytesPerElement,
        copied,
        clipped,
        wideGradients: fp32Sums,
        kernelArguments: kernelArgumentsOf(options.get('torch')),
      });
      // Gradients that are kept are filled with zeros, and the first pass adds to them; fp32 sums are added to in every pass.
      if (fp32Sums) return { ...update, kernels: [zeroFill(sizes), ...update.kernels] };
      return addsGradients
        ? { ...update, kernels: [...addedGradientKernels(sizes, bytesPerElement), ...update.kernels] }
        : update;
    },
  };
}

const isHalf = (precision: Precision): boolean => precision !== 'fp32' && precision !== 'tf32';

const kernelsOf = (text: string | undefined): OptimizerKernels =>
  text === 'fused' || text === 'loop' ? text : 'foreach';
