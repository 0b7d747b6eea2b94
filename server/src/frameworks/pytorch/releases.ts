/**
 * The option `torch` of PyTorch's frameworks: what a release does by default, where it differs from the newest.
 *
 * A line is a default that changed: what it was, the release that changed it, and the source that says so. An option that a person sets wins over it.
 */

import { type FrameworkOption, oneOf } from '../options.ts';
import type { KernelArguments } from './multiTensorLaunches.ts';

/** Oldest first. */
const releases = [
  '1.12',
  '1.13',
  '2.0',
  '2.1',
  '2.2',
  '2.3',
  '2.4',
  '2.5',
  '2.6',
  '2.7',
  '2.8',
  '2.9',
  '2.10',
  '2.11',
  '2.12',
  '2.13',
  '2.14',
] as const;
type Release = (typeof releases)[number];

export interface ChangedDefault {
  readonly option: string;
  /** Of the newest release. A framework with another default set it itself, and a release changes nothing of it. */
  readonly now: string;
  /** The value in releases before `until`. Of several lines of an option the oldest that still holds counts. */
  readonly was: string;
  readonly until: Release;
}

const changedDefaults: readonly ChangedDefault[] = [
  {
    // pytorch/pytorch, pull request 92306: optimizers take foreach on CUDA where nobody says.
    option: 'optimizer-kernels',
    now: 'foreach',
    was: 'loop',
    until: '2.0',
  },
  {
    // pytorch/pytorch, pull request 92731: zero_grad sets gradients to None by default.
    option: 'gradients',
    now: 'new',
    was: 'added',
    until: '2.0',
  },
  {
    // PyTorch 2.0, torch.nn.functional.scaled_dot_product_attention is new.
    option: 'attention',
    now: 'as-exported',
    was: 'eager',
    until: '2.0',
  },
  {
    // PyTorch 2.2, scaled_dot_product_attention takes FlashAttention-2 (pull request 105602).
    option: 'attention-kernel',
    now: 'newest',
    was: 'flash-attention-1',
    until: '2.2',
  },
  {
    // PyTorch, aten/src/ATen/native/transformers/cuda/sdp_utils.cpp: cuDNN goes before FlashAttention on Hopper and Blackwell
    // of data centers in builds with a cuDNN of CUDA 13.
    option: 'attention-kernel',
    now: 'newest',
    was: 'flash-attention-2',
    until: '2.10',
  },
  {
    // PyTorch 2.1, torch/utils/checkpoint.py: early stop; before, a block was recomputed to its end in either way.
    option: 'reentrant',
    now: 'false',
    was: 'true',
    until: '2.1',
  },
  {
    // torch/distributed/fsdp/fully_sharded_data_parallel.py: backward_prefetch is None in 1.13 and BACKWARD_PRE in 2.0.
    option: 'backward-prefetch',
    now: 'pre',
    was: 'none',
    until: '2.0',
  },
  {
    // NVIDIA/Megatron-LM of these releases, megatron/mpu/data.py, `broadcast_data`; `get_batch_on_this_tp_rank` of core_r0.5.0
    // sends no sizes.
    option: 'batch-us',
    now: '0',
    was: '4000',
    until: '2.1',
  },
  {
    // microsoft/DeepSpeed, runtime/zero/stage_1_and_2.py: pieces where torch.distributed has no all_gather_into_tensor.
    option: 'allgather-bucket-size',
    now: 'all',
    was: '5e8',
    until: '1.13',
  },
];

/** What came later than a release, and has no value there but the default. */
const newOptions: readonly { readonly option: string; readonly since: Release; readonly what: string }[] = [
  { option: 'compile', since: '2.0', what: 'torch.compile' },
];

const newest: Release = '2.14';

const isBefore = (release: Release, other: Release): boolean =>
  releases.indexOf(release) < releases.indexOf(other);

const releaseOf = (torch: string | undefined): Release => releases.find((each) => each === torch) ?? newest;

/** Of a framework whose own defaults changed with the releases of PyTorch that it ran on. */
export const releaseOptionWith = (own: readonly ChangedDefault[]): FrameworkOption => ({
  name: 'torch',
  default: newest,
  documentation:
    'release of PyTorch, 1.12 to 2.14: it sets what its defaults were (optimizer-kernels, gradients, attention, attention-kernel, reentrant and others), but for options that are given; before 2.7 matmuls on Hopper take longer',
  expects: oneOf(...releases),
  sets: (text) => {
    const release = releaseOf(text);
    // Later lines of an option are of later releases: the first that holds is the default of this one.
    const held = [...changedDefaults, ...own].filter(({ until }) => isBefore(release, until));
    return new Map(held.toReversed().map(({ option, now, was }) => [option, { now, was }]));
  },
  refuses: (text, option) => {
    const release = releaseOf(text);
    const missing = newOptions.find((each) => each.option === option && isBefore(release, each.since));
    return missing && `${missing.what} came with PyTorch ${missing.since}, and \`torch\` is ${release}`;
  },
});

export const releaseOption: FrameworkOption = releaseOptionWith([]);

const isFrom = (torch: string | undefined, since: Release): boolean => !isBefore(releaseOf(torch), since);

/** Gradients of layer normalization: pull request 148605, which 150773 brought back. */
export const sharesRows = (torch: string | undefined): boolean => isFrom(torch, '2.8');

/** Packages of PyTorch 2.7 bring cuBLAS of CUDA 12.6 and 12.8; those of 2.6 that of 12.4 (pytorch.org, previous versions). */
export const hasOlderMatmuls = (torch: string | undefined): boolean => !isFrom(torch, '2.7');

/** torch/_inductor/config.py, `shape_padding`: off by default in 2.0 (pull request 88709), on in 2.1. */
export const padsMatmuls = (torch: string | undefined): boolean => isFrom(torch, '2.1');

/** Builds for CUDA 13 have 32 KiB, and are what `pip` installs from 2.11 on. */
export const kernelArgumentsOf = (torch: string | undefined): KernelArguments =>
  isFrom(torch, '2.11') ? '32 KiB' : '4 KiB';
