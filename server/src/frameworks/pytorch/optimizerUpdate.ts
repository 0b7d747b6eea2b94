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

import type { KernelWork } from '../../hardware/kernelWork.ts';
import type { Optimizer, Precision } from '../../model/scenario.ts';
import { type Bytes, bytes, flops } from '../../model/units.ts';
import type { Update, UpdateSizes } from '../behaviour.ts';
import { launchesPerParameter } from './eagerLaunch.ts';

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
}

export function optimizerUpdate(
  optimizer: Optimizer,
  kernels: OptimizerKernels,
  precision: Precision,
  { elements, tensors }: UpdateSizes,
  { bytesPerElement, copied, clipped, wideGradients = false }: HeldWeights = fullWeights,
): Update {
  if (optimizer === 'none') return { kernels: [], stateBytes: bytes(0), temporaryBytes: bytes(0) };
  const pass = optimizer === 'sgd' || kernels === 'fused' ? onePass[optimizer] : foreachPasses[optimizer];
  const hasCopy = copied && bytesPerElement < 4;
  const updated = hasCopy ? 4 : bytesPerElement;
  const own = (passes: readonly number[]): readonly number[] => passes.map((size) => (size * updated) / 4);
  const isCast = hasCopy && !wideGradients;
  const scaling = isCast ? [bytesPerElement + 4] : precision === 'fp16' ? own(gradScaler) : [];
  const passes = [
    ...scaling,
    ...(clipped ? own(clipping) : []),
    ...own(pass),
    ...(hasCopy ? [4 + bytesPerElement] : []),
  ];
  const hasTemporary = kernels === 'foreach' && (optimizer === 'adam' || optimizer === 'adamw');
  return {
    kernels: passes.map((bytesPerElement) => ({
      class: 'elementwise' as const,
      dtype: 'fp32' as const,
      flops: flops(0),
      operations: elements * 2,
      bytes: bytes(elements * bytesPerElement),
      launches: kernels === 'loop' ? tensors : launchesOf(tensors, elements),
    })),
    // Codes that keep a copy (Megatron-LM, DeepSpeed) update it as a few long tensors.
    hostWork: hasCopy ? 0 : tensors * launchesPerParameter[kernels],
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
  { elements, tensors }: UpdateSizes,
  bytesPerElement = 4,
): readonly KernelWork[] =>
  [1, 3].map((operands) => ({
    class: 'elementwise' as const,
    dtype: 'fp32' as const,
    flops: flops(0),
    operations: elements,
    bytes: bytes(operands * elements * bytesPerElement),
    launches: tensors,
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

/** Read parameter, gradient and state; write parameter and state. */
const onePass = { sgd: [12], momentum: [20], adam: [28], adamw: [28] } as const;

const foreachPasses = {
  // m = µ·m (8), m += g (12), p −= lr·m (12)
  momentum: [8, 12, 12],
  // lerp of m (12), v·β₂ (8), v += g² (12), √v (8), ÷ bias (8), + ε (8), p += step·m/… (16)
  adam: [12, 8, 12, 8, 8, 8, 16],
  // the decay p·(1 − lr·λ) (8) before them
  adamw: [8, 12, 8, 12, 8, 8, 8, 16],
} as const;

/**
 * GradScaler unscales every gradient and checks for infinities: torch/amp/grad_scaler.py, one pass of read and write. `step` reads on
 * the host whether there were any, before it calls an optimizer that cannot look itself: `_maybe_opt_step`, `.item()`.
 */
const gradScaler = [8] as const;

/** The norm reads every gradient, clipping reads and writes it: torch/nn/utils/clip_grad.py, `clip_grad_norm_`. */
const clipping = [4, 8] as const;

/**
 * A multi-tensor kernel takes at most 110 tensors with one list, fewer with more, and 320 chunks of 65,536
 * elements. Source: PyTorch 2.x aten/src/ATen/native/cuda/MultiTensorApply.cuh.
 */
const launchesOf = (tensors: number, elements: number): number =>
  Math.max(1, Math.ceil(tensors / 48), Math.ceil(elements / 65536 / 320));
