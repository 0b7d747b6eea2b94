/** Operators that stand where a program turns autocast off, as `torch.autocast("cuda", enabled=False)` around sums that need range. */

import type { OperatorOrigin } from '../composites/composite.ts';
import type { Graph, Operator } from '../model/graph.ts';

/** The graph with them marked. `callOf`: the call that an operator is a part of, where one is recorded. */
export function withOutsideAutocast(
  graph: Graph,
  callOf: (operator: Operator) => OperatorOrigin['call'],
): Graph {
  const isOutside = (operator: Operator): boolean => callOf(operator)?.isOutsideAutocast === true;
  if (!graph.operators.some(isOutside)) return graph;
  return {
    ...graph,
    operators: graph.operators.map((operator) =>
      isOutside(operator) ? { ...operator, isOutsideAutocast: true } : operator,
    ),
  };
}
