/** GLU: one half of a tensor gated by the other. */

import type { CompositePattern } from './composite.ts';
import { otherOperand, producerOf, soleReader } from './flow.ts';

/** A · sigmoid(b), the halves of one tensor: Dauphin et al., arXiv 1612.08083; PyTorch `aten::glu`. */
export const glu: CompositePattern = {
  kind: 'glu',
  name: 'GLU',
  anchors: ['Sigmoid'],
  modules: ['GLU'],
  match: (graph, sigmoid) => {
    const [gate = ''] = sigmoid.inputs;
    const [open = ''] = sigmoid.outputs;
    const product = soleReader(graph, open);
    const split = producerOf(graph, gate);
    if (product?.type !== 'Mul' || split?.type !== 'Split' || split.outputs.length !== 2) return undefined;
    const value = otherOperand(product, open) ?? '';
    const isHalves = split.outputs[0] === value && split.outputs[1] === gate;
    if (!isHalves || soleReader(graph, value) !== product || soleReader(graph, gate) !== sigmoid)
      return undefined;
    return {
      operators: [split.index, sigmoid.index, product.index],
      roles: { input: split.inputs[0] ?? '' },
      launchedAs: 'assumed-one',
    };
  },
};
