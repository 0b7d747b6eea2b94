/** A product of two computed tensors: what it sums over, and which operand an axis of its result comes from. */

import type { Graph, Operator } from '../model/graph.ts';
import { attributeReaders } from '../operators/attributeReaders.ts';
import { shapeOf } from './axis.ts';
import { baseOf } from './walk.ts';

export interface MatrixProduct {
  readonly operator: Operator;
  /** The two operands. */
  readonly left: string;
  readonly right: string;
  /** Of an axis of the result, from the last: the operand it comes from; `undefined` where from both. */
  readonly sourceOf: (axis: number) => 'left' | 'right' | undefined;
  /** Whether it sums over this axis of an operand, from the last. */
  readonly contracts: (operand: 'left' | 'right', axis: number) => boolean;
}

/** `undefined` where `operator` is no product, or one with a stored tensor, which is a linear layer. */
export function matrixProduct(graph: Graph, operator: Operator): MatrixProduct | undefined {
  const [left, right] = operator.inputs;
  if (left === undefined || right === undefined) return undefined;
  if (!isComputed(graph, left) || !isComputed(graph, right)) return undefined;
  switch (operator.type) {
    case 'MatMul':
      return product(operator, [-1], [-2]);
    case 'Gemm':
    case 'FusedMatMul':
      return product(
        operator,
        [attributeReaders(operator.attributes).int('transA') === 1 ? -2 : -1],
        [attributeReaders(operator.attributes).int('transB') === 1 ? -1 : -2],
      );
    case 'Einsum':
      return operator.inputs.length === 2 ? einsumProduct(graph, operator) : undefined;
    default:
      return undefined;
  }
}

const product = (
  operator: Operator,
  leftSummed: readonly number[],
  rightSummed: readonly number[],
): MatrixProduct => ({
  operator,
  left: operator.inputs[0] ?? '',
  right: operator.inputs[1] ?? '',
  sourceOf: (axis) => (axis === -1 ? 'right' : axis === -2 ? 'left' : undefined),
  contracts: (operand, axis) => (operand === 'left' ? leftSummed : rightSummed).includes(axis),
});

/** By the labels of its equation; one with an ellipsis counts from the last, which is all that is read here. */
function einsumProduct(graph: Graph, operator: Operator): MatrixProduct | undefined {
  const equation = operator.attributes.get('equation');
  if (equation?.kind !== 'string') return undefined;
  const [operands = '', result] = equation.value.replaceAll(' ', '').split('->');
  const [first = '', second = ''] = operands.split(',');
  if (result === undefined || operands.split(',').length !== 2) return undefined;
  const sides = { left: first, right: second };
  const label = (labels: string, axis: number): string => labels.replace('...', '').at(axis) ?? '';
  const plain = product(operator, [], []);
  const summed = [...first].some((each) => each !== '.' && second.includes(each) && !result.includes(each));
  if (!summed || shapeOf(graph, operator.outputs[0]) === undefined) return undefined;
  return {
    ...plain,
    sourceOf: (axis) => {
      const wanted = label(result, axis);
      if (wanted === '' || first.includes(wanted) === second.includes(wanted)) return undefined;
      return first.includes(wanted) ? 'left' : 'right';
    },
    contracts: (operand, axis) => {
      const wanted = label(sides[operand], axis);
      const other = operand === 'left' ? second : first;
      return wanted !== '' && other.includes(wanted) && !result.includes(wanted);
    },
  };
}

/** Whether a step computes or is given a tensor, rather than the file storing it, in whatever layout. */
function isComputed(graph: Graph, name: string): boolean {
  const role = graph.values.get(baseOf(graph, name))?.role;
  return role === 'activation' || role === 'input';
}
