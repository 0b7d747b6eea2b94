/** SiLU, also called Swish. */

import type { CompositePattern } from './composite.ts';
import { beforeCasts, otherOperand, soleReader, withCasts } from './flow.ts';

/** x · sigmoid(x): Elfwing et al., arXiv 1702.03118; PyTorch `aten::silu`. */
export const silu: CompositePattern = {
  kind: 'silu',
  name: 'SiLU',
  anchors: ['Sigmoid'],
  modules: ['SiLU'],
  match: (graph, sigmoid) => {
    const [input = ''] = sigmoid.inputs;
    const [gate = ''] = sigmoid.outputs;
    const product = soleReader(graph, gate);
    if (product?.type !== 'Mul') return undefined;
    const other = otherOperand(product, gate);
    if (other === undefined || beforeCasts(graph, other) !== beforeCasts(graph, input)) return undefined;
    const members = [sigmoid.index, product.index];
    return {
      // What both operands read was cast before, by a call of its own.
      operators: other === input ? members : withCasts(graph, members),
      roles: { input },
      launchedAs: 'assumed-one',
    };
  },
};
