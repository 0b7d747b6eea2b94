/**
 * A loss of scores over classes that several workers divide, which exchange three numbers of each row between its kernels.
 *
 * DTensor computes it by the decompositions of `log_softmax` and `nll_loss`, one kernel for each step. Sources: PyTorch 2.13,
 * torch/distributed/tensor/parallel/loss.py, `_log_softmax` and `_nll_loss_and_log_softmax_backward`; torchtitan 00a388d9,
 * components/loss.py, `_LossParallelCrossEntropy`, does the same without DTensor.
 */

import type { KernelWork } from '../../hardware/kernelWork.ts';
import { bytes } from '../../model/units.ts';
import type { LoweredOperator } from '../behaviour.ts';
import type { TypedOperator } from './eagerStep.ts';
import { castBetween, elementwiseKernel } from './elementwiseKernel.ts';

export interface DividedLoss extends TypedOperator {
  /** Scores of this worker. */
  readonly elements: number;
  /** Bytes of each as they come in, and as the loss takes them. */
  readonly given: number;
  readonly stored: number;
  readonly learns: boolean;
  /** What one kernel over rows of scores is like. */
  readonly rows: KernelWork;
}

const wide = 4;

export function dividedCrossEntropy(
  { elements, given, stored, learns, rows, type, environment }: DividedLoss,
  saved: LoweredOperator['saved'],
): LoweredOperator {
  const pass = (operands: number, size = wide): KernelWork =>
    elementwiseKernel(operands * size * elements, 0, environment);
  const reduced: KernelWork = { ...rows, bytes: bytes(wide * elements), launches: 1 };
  const cast = (before: number, after: number): readonly KernelWork[] =>
    castBetween(elements, before, after, environment);
  const widened = given === wide ? 0 : 1;
  return {
    dtype: type.dtype,
    bytesPerElement: type.bytesPerElement,
    view: false,
    // The greatest of each row, less it, exponentials, their sum, less its logarithm.
    forward: [...cast(given, wide), reduced, pass(2), pass(2), reduced, pass(2), ...cast(wide, stored)],
    // Zeros with minus ones at the labels, exponentials of the kept logarithms, their sum, times the gradient of the loss.
    backwardData: learns
      ? [pass(1, stored), pass(2, stored), pass(3, stored), pass(2, stored), ...cast(stored, given)]
      : [],
    backwardWeight: [],
    saved,
    // Beside the logarithms that are kept: the scores in fp32, and the scores less the greatest.
    forwardTemporary: bytes((1 + widened) * wide * elements),
    ...(learns
      ? {
          gradientsAsStored: true as const,
          // Zeros, exponentials and their sum are there together, before what is handed on is.
          backwardTemporary: bytes((3 * stored - given) * elements),
        }
      : {}),
  };
}
