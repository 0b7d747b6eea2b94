/** What costing needs of a graph whatever the scenario, worked out once. */

import type { Graph } from '../model/graph.ts';
import { type AuxiliaryOperators, findAuxiliaryOperators } from './auxiliaryOperators.ts';
import { findGradients, type Gradients, type OuterGradients } from './findGradients.ts';

export interface CostingPlan {
  readonly auxiliary: AuxiliaryOperators;
  readonly gradients: Gradients;
  /** By operator: those with the same number cost the same; `undefined` where none is known to. */
  readonly groups: readonly (number | undefined)[];
}

/** The plan of a graph for a training step. */
export function planCosting(
  graph: Graph,
  auxiliary: AuxiliaryOperators = findAuxiliaryOperators(graph),
  outer: OuterGradients = nothingOutside,
): CostingPlan {
  const gradients = findGradients(graph, outer);
  return { auxiliary, gradients, groups: groupsOf(graph, auxiliary, gradients) };
}

/** The plan of a graph for inference: nothing receives a gradient, so what cost the same still does. */
export function withoutGradients(plan: CostingPlan): CostingPlan {
  return { ...plan, gradients: noGradients };
}

const noGradients: Gradients = {
  requires: new Set(),
  isReached: () => false,
  isStored: () => false,
  gradientOf: () => 'none',
};

const nothingOutside: OuterGradients = {
  requires: () => false,
  stored: () => false,
  inputsRequire: false,
};

/** Operators of one kind that do the same work for others, and whose inputs receive the same gradients. */
function groupsOf(
  graph: Graph,
  { shapeArithmetic, storedLayout }: AuxiliaryOperators,
  gradients: Gradients,
): readonly (number | undefined)[] {
  const numbers = new Map<string, number>();
  return graph.operators.map((operator) => {
    const { index, kind, inputs } = operator;
    if (kind === undefined) return undefined;
    let key = `${kind} ${shapeArithmetic[index] ? 's' : storedLayout[index] ? 'l' : ''} `;
    for (let input = 0; input < inputs.length; input += 1) {
      key += gradientLetters[gradients.gradientOf(operator, input)];
    }
    const before = numbers.get(key);
    if (before !== undefined) return before;
    numbers.set(key, numbers.size);
    return numbers.size - 1;
  });
}

const gradientLetters = { none: 'n', data: 'd', weight: 'w' } as const;
