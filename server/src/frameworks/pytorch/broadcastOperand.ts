/** Operands of a matmul that PyTorch writes out over the batch axes they are broadcast along. */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { Operator } from '../../model/graph.ts';
import { inPyTorch } from '../../operators/operatorFacts.ts';

/**
 * Elements of the copy of an operand, `undefined` where it is read as it lies. A matmul of more than two axes on both
 * sides is one of a stack of matrices: both operands are expanded to its batch axes and reshaped to a single one, which is
 * a view unless axes that are broadcast stand beside axes that are not (PyTorch 2.x aten/src/ATen/native/LinearAlgebra.cpp,
 * `_matmul_impl`). With a matrix on one side the stack is folded into rows, and nothing is expanded.
 */
export function broadcastOperand(
  { tensors }: TrainingGraph,
  operator: Operator,
  name: string,
): number | undefined {
  if (inPyTorch(operator)?.operands !== 'matrices') return undefined;
  const { inputs, outputs } = operator;
  const operand = tensors.get(name)?.dimensions;
  const output = tensors.get(outputs[0] ?? '')?.dimensions;
  // A file may leave an operand out.
  if (operand === undefined || output === undefined) return undefined;
  const isStacked = (input: string): boolean => {
    const sizes = tensors.get(input)?.dimensions;
    return sizes !== undefined && sizes.length > 2;
  };
  if (!inputs.every(isStacked)) return undefined;
  const stack = output.slice(0, -2);
  const own = operand.slice(0, -2);
  let broadcast = 1;
  let kept = 1;
  for (const [axis, size] of stack.entries()) {
    const of = own[axis - stack.length + own.length] ?? 1;
    if (of === size) kept *= size;
    else broadcast *= size;
  }
  if (broadcast === 1 || kept === 1) return undefined;
  const [rows = 1, columns = 1] = operand.slice(-2);
  return broadcast * kept * rows * columns;
}
