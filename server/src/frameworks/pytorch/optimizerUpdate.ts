/**
 * Kernels of PyTorch's optimizers: passes over lists of tensors (`foreach`, the default on GPUs), one pass (`fused`), or
 * passes over one tensor after another (`loop`, the default before PyTorch 2.0), state kept as wide as the weights that are
 * updated. Weights in half precision are updated themselves, or by way of an fp32 copy that the optimizer keeps: their
 * gradients are unscaled into fp32 ones before, and the copy is written back to them after.
 *
 * Sources: PyTorch 2.x torch/optim/{sgd,adam,adamw}.py, `_multi_tensor_*`; NVIDIA apex 22.04 apex/amp/_process_optimizer.py,
 * `post_backward_with_master_weights` and `_master_params_to_model_params`. Every pass below reads and writes whole
 * tensors; bytes per element are counted operand by operand.
 */

import type { KernelWork, ListKernel, ListLaunch } from '../../hardware/kernelWork.ts';
import { distinct } from '../../model/distinct.ts';
import type { Optimizer, Precision } from '../../model/scenario.ts';
import { type Bytes, bytes, flops } from '../../model/units.ts';
import type { Update, UpdateSizes } from '../behaviour.ts';
import { launchesPerParameter } from './eagerLaunch.ts';
import { type KernelArguments, multiTensorLaunches } from './multiTensorLaunches.ts';

export type OptimizerKernels = 'foreach' | 'fused' | 'loop';

/** How the weights lie in memory, and what is updated. */
export interface HeldWeights {
  /** Bytes per element of the weights and their gradients. */
  readonly bytesPerElement: number;
  /** The optimizer updates an fp32 copy of weights in half precision. */
  readonly copied: boolean;
  /** Their gradients are fp32 sums, which the optimizer takes as they are. */
  readonly wideGradients?: boolean;
  /** Gradients are clipped by their norm, all of them together. */
  readonly clipped: boolean;
  /** What a kernel over lists of tensors has for their addresses. */
  readonly kernelArguments?: KernelArguments;
}

export function optimizerUpdate(
  optimizer: Optimizer,
  kernels: OptimizerKernels,
  precision: Precision,
  { elements, lengths }: UpdateSizes,
  {
    bytesPerElement,
    copied,
    clipped,
    wideGradients = false,
    kernelArguments = '32 KiB',
  }: HeldWeights = fullWeights,
): Update {
  if (optimizer === 'none') return { kernels: [], stateBytes: bytes(0), temporaryBytes: bytes(0) };
  const isOnePass = optimizer === 'sgd' || kernels === 'fused';
  const pass = isOnePass ? onePass[optimizer] : foreachPasses[optimizer];
  const hasCopy = copied && bytesPerElement < 4;
  const updated = hasCopy ? 4 : bytesPerElement;
  const own = (passes: readonly Pass[]): readonly Pass[] =>
    passes.map((each) => ({ ...each, size: (each.size * updated) / 4 }));
  const isCast = hasCopy && !wideGradients;
  const scaling = isCast
    ? [{ size: bytesPerElement + 4, lists: 2 }]
    : precision === 'fp16'
      ? own(gradScaler)
      : [];
  const passes = [
    ...scaling,
    ...(clipped ? own(clipping) : []),
    ...own(pass),
    ...(hasCopy ? [{ size: 4 + bytesPerElement, lists: 2 }] : []),
  ];
  // Codes that keep a copy (Megatron-LM, DeepSpeed) update it as a few long tensors.
  // In which order a program made the others no graph tells, so the longest go first.
  const updatedLengths = hasCopy ? [elements] : lengths.toSorted((a, b) => b - a);
  const launchesOf = (lists: number): readonly ListLaunch[] =>
    multiTensorLaunches(updatedLengths, lists, kernelArguments);
  const launchesByLists = new Map(distinct(passes.map(({ lists }) => lists)).map((n) => [n, launchesOf(n)]));
  const listsOf = ({ kind = 'pass', lists }: Pass): Pick<KernelWork, 'lists' | 'launches'> => {
    if (kernels === 'loop') return { launches: lengths.length };
    const launches = launchesByLists.get(lists) ?? [];
    const count = launches.reduce((total, launch) => total + launch.count, 0);
    return { launches: Math.max(1, count), lists: { kind, launches } };
  };
  const hasTemporary = kernels === 'foreach' && (optimizer === 'adam' || optimizer === 'adamw');
  return {
    kernels: passes.map((each) => ({
      class: 'elementwise' as const,
      dtype: 'fp32' as const,
      flops: flops(0),
      operations: elements * 2,
      bytes: bytes(elements * each.size),
      ...listsOf(each),
    })),
    hostWork: hasCopy ? 0 : lengths.length * launchesPerParameter[kernels],
    hostWaits: precision === 'fp16' && !hasCopy && kernels !== 'fused',
    stateBytes: bytes(
      (optimizerStateBytes(optimizer, elements) * updated) / 4 + (hasCopy ? 4 * elements : 0),
    ),
    temporaryBytes: bytes(elements * ((hasTemporary ? updated : 0) + (isCast ? 4 : 0))),
  };
}

const fullWeights: HeldWeights = { bytesPerElement: 4, copied: false, clipped: false };

/**
 * Where a step's gradients are added to those kept from the step before, which were filled with zeros: two passes, tensor
 * after tensor (PyTorch 1.x torch/nn/modules/module.py, `zero_grad`; torch/csrc/autograd/functions/accumulate_grad.h).
 */
export const addedGradientKernels = (
  { elements, lengths }: UpdateSizes,
  bytesPerElement = 4,
): readonly KernelWork[] =>
  [1, 3].map((operands) => ({
    class: 'elementwise' as const,
    dtype: 'fp32' as const,
    flops: flops(0),
    operations: elements,
    bytes: bytes(operands * elements * bytesPerElement),
    launches: lengths.length,
  }));

/** fp32 sums of gradients are set to zero after the update, as one buffer. */
export const zeroFill = ({ elements }: UpdateSizes): KernelWork => ({
  class: 'elementwise',
  dtype: 'fp32',
  flops: flops(0),
  operations: 0,
  bytes: bytes(4 * elements),
  launches: 1,
});

/** Momentum keeps one fp32 value per element, Adam two. */
function optimizerStateBytes(optimizer: Optimizer, elements: number): Bytes {
  return bytes(elements * stateBytesPerElement[optimizer]);
}

const stateBytesPerElement: Readonly<Record<Optimizer, number>> = {
  sgd: 0,
  momentum: 4,
  adam: 8,
  adamw: 8,
  none: 0,
};

/** Bytes that a kernel moves for each element of four bytes, and how many tensors of each parameter it takes. */
interface Pass {
  readonly size: number;
  readonly lists: number;
  readonly kind?: ListKernel['kind'];
}

/** Read parameter, gradient and state; write parameter and state. */
const onePass: Readonly<Record<'sgd' | 'momentum' | 'adam' | 'adamw', readonly Pass[]>> = {
  sgd: [{ size: 12, lists: 2 }],
  momentum: [{ size: 20, lists: 3, kind: 'fused' }],
  adam: [{ size: 28, lists: 4, kind: 'fused' }],
  adamw: [{ size: 28, lists: 4, kind: 'fused' }],
};

const scaled: Pass = { size: 8, lists: 1 };
const added: Pass = { size: 12, lists: 2 };

/** lerp of m, v·β₂, v += g², √v, ÷ bias, + ε, p += step·m/… */
const adamPasses: readonly Pass[] = [
  added,
  scaled,
  { size: 12, lists: 3 },
  { size: 8, lists: 2 },
  scaled,
  scaled,
  { size: 16, lists: 3 },
];

const foreachPasses: Readonly<Record<'momentum' | 'adam' | 'adamw', readonly Pass[]>> = {
  // m = µ·m, m += g, p −= lr·m
  momentum: [scaled, added, added],
  adam: adamPasses,
  // the decay p·(1 − lr·λ) before them
  adamw: [scaled, ...adamPasses],
};

/**
 * GradScaler unscales every gradient and checks for infinities: torch/amp/grad_scaler.py, one pass of read and write. `step` reads on
 * the host whether there were any, before it calls an optimizer that cannot look itself: `_maybe_opt_step`, `.item()`.
 */
const gradScaler: readonly Pass[] = [scaled];

/** The norm reads every gradient, clipping reads and writes it: torch/nn/utils/clip_grad.py, `clip_grad_norm_`. */
const clipping: readonly Pass[] = [{ size: 4, lists: 1 }, scaled];
