/**
 * The softmax of `scaled_dot_product_attention` with a mask where it computes step by step: one kernel that gives rows of zeros
 * where a mask leaves nothing, and keeps its result (PyTorch 2.x aten/src/ATen/native/SoftMax.cpp, `_safe_softmax`;
 * tools/autograd/derivatives.yaml). Exporters write it as three operators.
 */

import type { Composite } from '../../composites/composite.ts';
import { producerOf } from '../../composites/flow.ts';
import type { Graph } from '../../model/graph.ts';

/** `Where(IsNaN(Softmax(x)), 0, Softmax(x))`, each by its operators. */
export function safeSoftmaxes(graph: Graph): readonly Composite[] {
  const { operators, values } = graph;
  return operators.flatMap(({ type, index, inputs: [tested = ''], outputs: [isEmpty = ''] }) => {
    if (type !== 'IsNaN') return [];
    const softmax = producerOf(graph, tested);
    const [reader, ...others] = values.get(isEmpty)?.consumers ?? [];
    const choice = operators[reader ?? -1];
    if (softmax?.type !== 'Softmax' || choice?.type !== 'Where' || others.length > 0) return [];
    if (choice.inputs[0] !== isEmpty || choice.inputs[2] !== tested) return [];
    if (values.get(tested)?.consumers.length !== 2) return [];
    return [
      {
        kind: 'recorded-call' as const,
        name: 'SafeSoftmax',
        operators: [softmax.index, index, choice.index],
        inputs: softmax.inputs,
        outputs: choice.outputs,
        roles: {},
        launchedAs: 'one' as const,
        keeps: 'result' as const,
      },
    ];
  });
}
