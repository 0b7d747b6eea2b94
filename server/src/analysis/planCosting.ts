/** What costing needs of a graph whatever the scenario, worked out once. */

import type { Graph, Operator } from '../model/graph.ts';
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

/**
 * The plan of a graph with a loss behind one of its outputs, which the loss differentiates. All before it stays as it was:
 * the same values lead to an output, and the same receive gradients.
 */
export function planWithLoss(plan: CostingPlan, loss: Operator, output: string, result: string): CostingPlan {
  const { auxiliary, gradients, groups } = plan;
  const flows = gradients.requires.has(output);
  const ofOutput = !flows ? 'none' : gradients.isStored(output) ? 'weight' : 'data';
  return {
    auxiliary: {
      shapeArithmetic: [...auxiliary.shapeArithmetic, false],
      storedLayout: [...auxiliary.storedLayout, false],
    },
    gradients: {
      requires: flows ? new Set([...gradients.requires, result]) : gradients.requires,
      isReached: (name) => name === result || gradients.isReached(name),
      isStored: gradients.isStored,
      gradientOf: (operator, index) =>
        operator.index !== loss.index
          ? gradients.gradientOf(operator, index)
          : operator.inputs[index] === output
            ? ofOutput
            : 'none',
    },
    groups: [...groups, undefined],
  };
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
    const { index, kind, inputs, isPromotion } = operator;
    if (kind === undefined) return undefined;
    let key = `${kind} ${shapeArithmetic[index] ? 's' : storedLayout[index] ? 'l' : isPromotion ? 'p' : ''} `;
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
