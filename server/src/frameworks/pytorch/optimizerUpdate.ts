/**
 * Kernels of an update as PyTorch programs run it: passes over lists of tensors (`foreach`, the default on GPUs), one pass
 * (`fused`), or passes over one tensor after another (`loop`, the default before PyTorch 2.0), state kept as wide as the
 * weights that are updated. Some optimizers have kernels of their own for each tensor. Weights in half precision are updated
 * themselves, or by way of an fp32 copy that the optimizer keeps: their gradients are unscaled into fp32 ones before, and the
 * copy is written back to them after.
 *
 * Sources: those of each optimizer (`frameworks/optimizers`); NVIDIA apex 22.04 apex/amp/_process_optimizer.py,
 * `post_backward_with_master_weights` and `_master_params_to_model_params`. Every pass below reads and writes whole
 * tensors; bytes per element are counted operand by operand.
 */

import type { KernelWork } from '../../hardware/kernelWork.ts';
import type { Optimizer, Precision } from '../../model/scenario.ts';
import { bytes, flops } from '../../model/units.ts';
import type { Update, UpdateSizes } from '../behaviour.ts';
import { type Pass, scaled } from '../optimizers/optimizerDefinition.ts';
import { optimizerDefinitions } from '../optimizers/optimizers.ts';
import { inWidth, type ListKernels, listPasses, type OptimizerKernels } from './listPasses.ts';
import type { KernelArguments } from './multiTensorLaunches.ts';
import { ownUpdate } from './ownUpdate.ts';

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
  asked: OptimizerKernels,
  precision: Precision,
  { elements, tensors }: UpdateSizes,
  {
    bytesPerElement,
    copied,
    clipped,
    wideGradients = false,
    kernelArguments = '32 KiB',
  }: HeldWeights = fullWeights,
): Update {
  if (optimizer === 'none') return noUpdate;
  const { update, hasFused } = optimizerDefinitions[optimizer];
  // Where PyTorch has no kernel for all of it, passes over lists are the nearest.
  const kernels = asked === 'fused' && !hasFused ? 'foreach' : asked;
  const hasCopy = copied && bytesPerElement < 4;
  const isCast = hasCopy && !wideGradients;
  const width = hasCopy ? 4 : bytesPerElement;
  const lists: ListKernels = { kernels, width, inOne: hasCopy, kernelArguments };
  const over = listPasses(lists, tensors);
  const own = ownUpdate(update, lists, tensors, over);
  const scaling = isCast
    ? [{ size: bytesPerElement + 4, lists: 2 }]
    : precision === 'fp16'
      ? inWidth(gradScaler, width)
      : [];
  const copyBytes = hasCopy ? 4 : 0;
  const stateBytesOf: Update['stateBytesOf'] = (tensor) =>
    own.stateBytesOf(tensor) + copyBytes * tensor.elements;
  return {
    kernels: [
      ...over([...scaling, ...(clipped ? inWidth(clipping, width) : [])]),
      ...own.kernels,
      ...over(hasCopy ? [{ size: 4 + bytesPerElement, lists: 2 }] : []),
    ],
    hostWork: own.hostWork,
    hostWaits: precision === 'fp16' && !hasCopy && kernels !== 'fused',
    stateBytes: bytes(tensors.reduce((total, tensor) => total + stateBytesOf(tensor), 0)),
    stateBytesOf,
    temporaryBytes: bytes(own.temporaryBytes + (isCast ? 4 * elements : 0)),
  };
}

const noUpdate: Update = {
  kernels: [],
  stateBytes: bytes(0),
  stateBytesOf: () => 0,
  temporaryBytes: bytes(0),
};

const fullWeights: HeldWeights = { bytesPerElement: 4, copied: false, clipped: false };

/**
 * Where a step's gradients are added to those kept from the step before, which were filled with zeros: two passes, tensor
 * after tensor (PyTorch 1.x torch/nn/modules/module.py, `zero_grad`; torch/csrc/autograd/functions/accumulate_grad.h).
 */
export const addedGradientKernels = (
  { elements, tensors }: UpdateSizes,
  bytesPerElement = 4,
): readonly KernelWork[] =>
  [1, 3].map((operands) => ({
    class: 'elementwise' as const,
    dtype: 'fp32' as const,
    flops: flops(0),
    operations: elements,
    bytes: bytes(operands * elements * bytesPerElement),
    launches: tensors.length,
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

/**
 * GradScaler unscales every gradient and checks for infinities: torch/amp/grad_scaler.py, one pass of read and write. `step` reads on
 * the host whether there were any, before it calls an optimizer that cannot look itself: `_maybe_opt_step`, `.item()`.
 */
const gradScaler: readonly Pass[] = [scaled];

/** The norm reads every gradient, clipping reads and writes it: torch/nn/utils/clip_grad.py, `clip_grad_norm_`. */
const clipping: readonly Pass[] = [{ size: 4, lists: 1 }, scaled];
