/**
 * Element-wise operators whose kernels take elements one at a time: operands of different types, or one that is repeated along axes
 * (PyTorch 2.x aten/src/ATen/native/cuda/CUDALoops.cuh, `gpu_kernel_impl`: vectors of 16 bytes are loaded where all operands are
 * contiguous and none is cast).
 */

import type { SingleElements } from '../../hardware/kernelWork.ts';
import { isFloatingPoint } from '../../model/elementType.ts';
import { type EagerStep, storedBytesPerElement, type TypedOperator } from './eagerStep.ts';

export function singleElementsOf(
  step: EagerStep,
  { operator, cost, type }: TypedOperator,
): SingleElements | undefined {
  if (cost.class !== 'elementwise' || operator.inputs.length < 2) return undefined;
  const { tensors } = step.training;
  const output = tensors.get(operator.outputs[0] ?? '');
  if (output === undefined) return undefined;
  const operands = operator.inputs.flatMap((name) => {
    const tensor = tensors.get(name);
    // Numbers are arguments of the kernel.
    return tensor === undefined || tensor.elements <= 1 || !isFloatingPoint(tensor.elementType)
      ? []
      : [{ name, elements: tensor.elements }];
  });
  if (operands.length < 2) return undefined;
  const { elements } = output;
  const widths = new Set(operands.map(({ name }) => storedBytesPerElement(step, name)));
  if (type.readsAsStored === true && widths.size > 1) return { elements, because: 'mixed' };
  const isRepeated = operands.some((operand) => operand.elements < elements);
  return isRepeated ? { elements, because: 'strided' } : undefined;
}
