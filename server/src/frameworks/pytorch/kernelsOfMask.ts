/**
 * Kernels that PyTorch launches around masks: those that fill two numbers which `where` chooses between, and, in
 * `scaled_dot_product_attention`, the `where` that makes numbers of a mask of booleans (PyTorch 2.13
 * aten/src/ATen/native/TensorCompare.cpp, `where` of scalars; transformers/attention.cpp, `convert_boolean_attn_mask`).
 */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { KernelEnvironment } from '../../hardware/kernelEnvironment.ts';
import type { KernelWork } from '../../hardware/kernelWork.ts';
import { bytes } from '../../model/units.ts';
import { type EagerStep, noKernels, storedBytesPerElement, type TypedOperator } from './eagerStep.ts';
import { elementwiseKernel } from './elementwiseKernel.ts';

export function kernelsOfMask(step: EagerStep, typed: TypedOperator): readonly KernelWork[] {
  const { operator, cost, environment } = typed;
  // What a file computes of constants is no work of a step.
  if (step.training.analysis.costing.auxiliary.shapeArithmetic[operator.index]) return noKernels;
  if (operator.type === 'Where') {
    const isFilled = operator.inputs.slice(1).every((name) => isNumber(step.training, name));
    return isFilled ? [fillsOf(environment)] : noKernels;
  }
  if (operator.type !== 'Attention' || cost.forward.attention?.mask === undefined) return noKernels;
  const written = storedBytesPerElement(step, operator.outputs[0] ?? '');
  return numbersOfMask(step.training, operator.inputs[3] ?? '', written, environment);
}

/** What makes numbers of a mask of booleans in `scaled_dot_product_attention`; nothing of a mask of numbers. */
export function numbersOfMask(
  { tensors }: TrainingGraph,
  name: string,
  written: number,
  environment: KernelEnvironment,
): readonly KernelWork[] {
  const mask = tensors.get(name);
  return mask?.elementType === 'bool'
    ? [fillsOf(environment), elementwiseKernel(mask.elements * (1 + written), 0, environment)]
    : noKernels;
}

/** Two numbers are written, each by a kernel. */
const fillsOf = (environment: KernelEnvironment): KernelWork => ({
  ...elementwiseKernel(0, 0, environment),
  bytes: bytes(8),
  launches: 2,
});

/** Whether a value is one number that the file holds. */
function isNumber({ analysis, tensors }: TrainingGraph, name: string): boolean {
  return analysis.graph.values.get(name)?.role === 'constant' && tensors.get(name)?.elements === 1;
}
