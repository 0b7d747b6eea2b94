/** Weight normalization, which every step computes a weight by. */

import type { Graph } from '../model/graph.ts';
import type { CompositePattern } from './composite.ts';
import { isStored, otherOperand, soleReader } from './flow.ts';

/** G · v / ‖v‖ of a stored v: Salimans & Kingma, arXiv 1602.07868; PyTorch `aten::_weight_norm`, whose one kernel keeps the norms. */
export const weightNorm: CompositePattern = {
  kind: 'weight-norm',
  name: 'WeightNorm',
  anchors: ['ReduceL2'],
  match: (graph, norm) => {
    const [direction = ''] = norm.inputs;
    const quotient = soleReader(graph, norm.outputs[0]);
    if (quotient?.type !== 'Div' || quotient.inputs[0] !== direction || !isTrained(graph, direction))
      return undefined;
    const product = soleReader(graph, quotient.outputs[0]);
    const size = product === undefined ? undefined : otherOperand(product, quotient.outputs[0] ?? '');
    if (product?.type !== 'Mul' || size === undefined || !isStored(graph, size)) return undefined;
    return {
      operators: [norm, quotient, product].map(({ index }) => index),
      roles: { input: direction, scale: size },
      launchedAs: 'assumed-one',
    };
  },
};

const isTrained = ({ values }: Graph, name: string): boolean => values.get(name)?.role === 'parameter';
