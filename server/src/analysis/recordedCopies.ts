/**
 * Copies that a program makes of what is stored: `queue.clone()` lies in memory of its own, and is kept for backward, where a buffer is there
 * all the time (MoCo, arXiv 1911.05722). Files have an `Identity` of the call. Of what is computed, a clone mostly lays it out
 * in order, which how tensors lie shows. Archives keep `contiguous()`, which copies what does not lie in order; exporters of ONNX write
 * a clone for it, and leave it out where they optimize.
 */

import type { OperatorOrigin } from '../composites/composite.ts';
import type { Graph, Operator } from '../model/graph.ts';

/** The graph with its copies marked. `callOf`: the call that an operator is a part of, where one is recorded. */
export function withCopies(graph: Graph, callOf: (operator: Operator) => OperatorOrigin['call']): Graph {
  const isCopy = (operator: Operator): boolean =>
    operator.type === 'Identity' &&
    graph.values.get(operator.inputs[0] ?? '')?.literal !== undefined &&
    callOf(operator)?.function.startsWith('aten.clone.') === true;
  const isLaidOut = (operator: Operator): boolean =>
    operator.type === 'Identity' && callOf(operator)?.function.startsWith('aten.contiguous.') === true;
  if (!graph.operators.some((operator) => isCopy(operator) || isLaidOut(operator))) return graph;
  return {
    ...graph,
    operators: graph.operators.map((operator) => {
      if (isCopy(operator)) return { ...operator, isCopy: true };
      return isLaidOut(operator) ? { ...operator, isLaidOut: true } : operator;
    }),
  };
}
