/** Element-wise operators whose kernels instructions bound. */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { InstructionBound, KernelWork } from '../../hardware/kernelWork.ts';
import { entryAt } from '../../model/at.ts';
import { isFloatingPoint } from '../../model/elementType.ts';
import type { Operator } from '../../model/graph.ts';
import { definitionOf } from '../../operators/registry.ts';
import { type EagerStep, storedBytesPerElement, type TypedOperator } from './eagerStep.ts';
import type { FusedGroup } from './fusedGroups.ts';
import { knownLayout } from './strides.ts';

/** Those of an operator that draws or computes much for each element, or takes elements one at a time. */
export function instructionsOf(
  step: EagerStep,
  typed: TypedOperator,
  pass: 'forward' | 'backward',
): InstructionBound | undefined {
  const { operator, type } = typed;
  const much = definitionOf(operator)?.pytorch.instructions;
  const elements = step.training.tensors.get(operator.outputs[0] ?? '')?.elements;
  if (elements === undefined) return undefined;
  if (much === undefined) {
    const single = singleElementsOf(step, typed);
    if (pass === 'forward' || single === undefined) return single;
    // The gradient of a factor is multiplied by the other one, in its own type, which is repeated again.
    return typed.cost.saved.length > 0 && single.isRepeated ? { elements, kernel: 'strided' } : undefined;
  }
  if (much !== 'dropout') return { elements, kernel: `${activationOf(much, operator)}-${pass}` };
  if (pass === 'backward') return undefined;
  return { elements, kernel: type.bytesPerElement < 4 ? 'dropout' : 'dropout-wide' };
}

/** As `instructionsOf`, where one kernel computes the operators of a composite. */
export function instructionsOfGroup(
  { analysis, tensors }: TrainingGraph,
  { composite, operators, outputs }: FusedGroup,
  pass: 'forward' | 'backward',
): InstructionBound | undefined {
  const elements = tensors.get(outputs[0] ?? '')?.elements;
  const kind = composite?.kind;
  if (elements === undefined || (kind !== 'gelu' && kind !== 'silu')) return undefined;
  const isTanh = operators.some((index) => analysis.graph.operators[index]?.type === 'Tanh');
  return { elements, kernel: `${kind === 'gelu' && isTanh ? 'gelu-tanh' : kind}-${pass}` };
}

const activationOf = (kind: 'gelu' | 'silu', { attributes }: Operator): 'gelu' | 'gelu-tanh' | 'silu' => {
  const approximate = attributes.get('approximate');
  return kind === 'gelu' && approximate?.kind === 'string' && approximate.value === 'tanh'
    ? 'gelu-tanh'
    : kind;
};

/**
 * Operands of different types, or one that is repeated along axes (PyTorch 2.x aten/src/ATen/native/cuda/CUDALoops.cuh,
 * `gpu_kernel_impl`: vectors of 16 bytes are loaded where all operands are contiguous and none is cast).
 */
function singleElementsOf(
  step: EagerStep,
  { operator, cost, type }: TypedOperator,
): (InstructionBound & { readonly isRepeated: boolean }) | undefined {
  if (cost.class !== 'elementwise' || operator.inputs.length < 2) return undefined;
  const { tensors } = step.training;
  const operands = operator.inputs.flatMap((name) => {
    const tensor = tensors.get(name);
    // Numbers are arguments of the kernel.
    return tensor === undefined || tensor.elements <= 1 || !isFloatingPoint(tensor.elementType)
      ? []
      : [{ name, elements: tensor.elements }];
  });
  if (operands.length < 2) return undefined;
  const { elements } = entryAt(tensors, operator.outputs[0] ?? '');
  const widths = new Set(operands.map(({ name }) => storedBytesPerElement(step, name)));
  const isRepeated = operands.some((operand) => operand.elements < elements);
  const isMixedOrder = operands.some(({ name }) => !liesAs(step, name, operator.outputs[0] ?? ''));
  if (type.readsAsStored === true && widths.size > 1) return { elements, kernel: 'mixed', isRepeated };
  return isRepeated || isMixedOrder ? { elements, kernel: 'strided', isRepeated } : undefined;
}

/** Whether two tensors of as many elements lie in the same order. */
function liesAs(step: EagerStep, name: string, other: string): boolean {
  const [one, two] = [knownLayout(step, name), knownLayout(step, other)];
  if (one.sizes.length !== two.sizes.length) return true;
  return one.strides.every((stride, axis) => one.sizes[axis] === 1 || stride === two.strides[axis]);
}

/** What several launches have to do is not told apart. */
export const withInstructions = (
  kernels: readonly KernelWork[],
  instructions: InstructionBound | undefined,
): readonly KernelWork[] =>
  instructions === undefined
    ? kernels
    : kernels.map((kernel) => (kernel.launches > 1 ? kernel : { ...kernel, instructions }));
