/**
 * Kernels that PyTorch launches around masks: those that fill two numbers which `where` chooses between, and, in
 * `scaled_dot_product_attention`, the `where` that makes numbers of a mask of booleans (PyTorch 2.13
 * aten/src/ATen/native/TensorCompare.cpp, `where` of scalars; transformers/attention.cpp, `convert_boolean_attn_mask`).
 */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { KernelWork } from '../../hardware/kernelWork.ts';
import { bytes } from '../../model/units.ts';
import { type EagerStep, noKernels, storedBytesPerElement, type TypedOperator } from './eagerStep.ts';
import { elementwiseKernel } from './elementwiseKernel.ts';

export function kernelsOfMask(step: EagerStep, typed: TypedOperator): readonly KernelWork[] {
  const { operator, cost, environment } = typed;
  // What a file computes of constants is no work of a step.
  if (step.training.analysis.costing.auxiliary.shapeArithmetic[operator.index]) return noKernels;
  const fills: KernelWork = { ...elementwiseKernel(0, 0, environment), bytes: bytes(8), launches: 2 };
  if (operator.type === 'Where') {
    const isFilled = operator.inputs.slice(1).every((name) => isNumber(step.training, name));
    return isFilled ? [fills] : noKernels;
  }
  const mask =
    operator.type === 'Attention' && cost.forward.attention?.mask !== undefined
      ? step.training.tensors.get(operator.inputs[3] ?? '')
      : undefined;
  if (mask?.elementType !== 'bool') return noKernels;
  const written = storedBytesPerElement(step, operator.outputs[0] ?? '');
  return [fills, elementwiseKernel(mask.elements * (1 + written), 0, environment)];
}

/** Whether a value is one number that the file holds. */
function isNumber({ analysis, tensors }: TrainingGraph, name: string): boolean {
  return analysis.graph.values.get(name)?.role === 'constant' && tensors.get(name)?.elements === 1;
}
