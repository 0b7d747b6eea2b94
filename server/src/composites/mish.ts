/** Mish, which is an operator of its own from operator set 18. */

import type { CompositePattern } from './composite.ts';
import { otherOperand, producerOf, soleReader } from './flow.ts';

/** x · tanh(softplus(x)): Misra, arXiv 1908.08681; PyTorch `aten::mish`. */
export const mish: CompositePattern = {
  kind: 'mish',
  name: 'Mish',
  anchors: ['Tanh'],
  modules: ['Mish'],
  match: (graph, tanh) => {
    const softplus = producerOf(graph, tanh.inputs[0]);
    const product = soleReader(graph, tanh.outputs[0]);
    if (softplus?.type !== 'Softplus' || product?.type !== 'Mul') return undefined;
    const [input = ''] = softplus.inputs;
    if (otherOperand(product, tanh.outputs[0] ?? '') !== input) return undefined;
    if (soleReader(graph, softplus.outputs[0]) !== tanh) return undefined;
    return {
      operators: [softplus.index, tanh.index, product.index],
      roles: { input },
      // PyTorch's TorchScript exporter writes it out at every operator set (torch/onnx, symbolic_opset9.py).
      launchedAs: 'assumed-one',
    };
  },
};
