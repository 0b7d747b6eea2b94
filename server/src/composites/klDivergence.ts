/** The Kullback–Leibler divergence of logarithms from a target, as the TorchScript exporter writes it. */

import type { CompositePattern } from './composite.ts';
import { matchOf, otherOperand, producerOf, scalarOf, soleReader } from './flow.ts';

/** T·(log t − x) where t > 0, else 0: PyTorch `aten::kl_div`, which keeps the target (aten/src/ATen/native/Loss.cpp). */
export const klDivergence: CompositePattern = {
  kind: 'taken-apart',
  name: 'KLDivLoss',
  autocast: 'fp32',
  anchors: ['Log'],
  keeps: 'input',
  match: (graph, logarithm) => {
    const [target = ''] = logarithm.inputs;
    const difference = soleReader(graph, logarithm.outputs[0]);
    if (difference?.type !== 'Sub' || difference.inputs[0] !== logarithm.outputs[0]) return undefined;
    const product = soleReader(graph, difference.outputs[0]);
    if (product?.type !== 'Mul' || otherOperand(product, difference.outputs[0] ?? '') !== target)
      return undefined;
    const choice = soleReader(graph, product.outputs[0]);
    const positive = producerOf(graph, choice?.inputs[0]);
    if (choice?.type !== 'Where' || choice.inputs[1] !== product.outputs[0]) return undefined;
    if (positive?.type !== 'Greater' || positive.inputs[0] !== target) return undefined;
    if (scalarOf(graph, positive.inputs[1]) !== 0 || soleReader(graph, positive.outputs[0]) !== choice)
      return undefined;
    return matchOf([logarithm, difference, product, positive, choice], { input: target }, 'one');
  },
};
