/** Activations that a program writes over their input, by the call that is recorded: `aten.leaky_relu_.default`, as against `leaky_relu`. */

import type { OperatorOrigin } from '../composites/composite.ts';
import type { Graph, Operator } from '../model/graph.ts';
import { hasTrait } from '../operators/operatorFacts.ts';

/**
 * The graph with those operators marked whose result is kept in the place of their input. `callOf`: the call that an operator is a part
 * of, where one is recorded. Programs without any may have been rewritten to have none: of them nothing is marked.
 */
export function withInPlaceCalls(
  graph: Graph,
  callOf: (operator: Operator) => OperatorOrigin['call'],
): Graph {
  const isKnown = (operator: Operator): boolean =>
    hasTrait(operator, 'keeps-result-in-place') && callOf(operator) !== undefined;
  if (!graph.operators.some(isKnown) || !graph.operators.some((each) => isInPlace(callOf(each))))
    return graph;
  return {
    ...graph,
    operators: graph.operators.map((operator) =>
      isKnown(operator) ? { ...operator, isInPlace: isInPlace(callOf(operator)) } : operator,
    ),
  };
}

const isInPlace = (call: OperatorOrigin['call']): boolean =>
  /^aten\.\w*[a-z0-9]_\./.test(call?.function ?? '');
