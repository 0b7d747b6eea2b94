/** The matrices that a product makes of its operands before it multiplies, and which of them no strides show. */

import { itemAt } from '../../model/at.ts';
import { countElements } from '../../model/countElements.ts';
import type { Operator } from '../../model/graph.ts';
import { inPyTorch } from '../../operators/operatorFacts.ts';
import type { EagerStep } from './eagerStep.ts';
import { expanded, knownLayout, permuted, stridesOfView } from './strides.ts';

/** How an operand is read: repeated to other sizes, then its axes put into groups, each of which becomes one axis. */
export interface Matrices {
  readonly sizes?: readonly number[];
  readonly axes: readonly (readonly number[])[];
}

/**
 * Two operands of more than two axes are repeated to common batch axes, which become one. One matrix is multiplied with the rows of
 * all others as those of a single matrix; where it stands on the left, these are columns, and only where it is trained
 * (PyTorch 2.13 aten/src/ATen/native/LinearAlgebra.cpp, `_matmul_impl`, `should_fold`). Two matrices are read as they lie.
 */
export function matricesRead(
  { training }: EagerStep,
  operator: Operator,
  name: string,
): Matrices | undefined {
  if (inPyTorch(operator)?.operands !== 'matrices') return undefined;
  const sizesOf = (value = '') => training.tensors.get(value)?.dimensions;
  const [left, right] = [sizesOf(operator.inputs[0]), sizesOf(operator.inputs[1])];
  const [own, result] = [sizesOf(name), sizesOf(operator.outputs[0])];
  // A file may leave an operand out.
  if (left === undefined || right === undefined || own === undefined || result === undefined)
    return undefined;
  const isLeft = operator.inputs[0] === name;
  const rank = own.length;
  if (rank < 3) return undefined;
  if (left.length > 2 && right.length > 2) {
    const batch = result.slice(0, -2);
    const sizes = [...batch, ...own.slice(-2)];
    return { sizes, axes: [range(batch.length), [batch.length], [batch.length + 1]] };
  }
  if (isLeft) return { axes: [range(rank - 1), [rank - 1]] };
  if (!training.requiresGradient.has(operator.inputs[0] ?? ''))
    return { axes: [range(rank - 2), [rank - 2], [rank - 1]] };
  return { axes: [[...range(rank - 2), rank - 1], [rank - 2]] };
}

/** Elements of the copy of an operand; `undefined` where strides show its matrices. */
export function copiedMatrices(step: EagerStep, name: string, { sizes, axes }: Matrices): number | undefined {
  const lies = knownLayout(step, name);
  const ordered = permuted(sizes === undefined ? lies : expanded(lies, sizes), axes.flat());
  const target = axes.map((group) => group.reduce((all, axis) => all * itemAt(sizes ?? lies.sizes, axis), 1));
  if (stridesOfView(ordered, target) !== undefined) return undefined;
  return countElements(target);
}

const range = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => at);
