/** Linear interpolation by a tensor of weights, as the TorchScript exporter writes it. */

import type { CompositePattern } from './composite.ts';
import { matchOf, otherOperand, producerOf, rankOf, scalarOf, soleReader } from './flow.ts';

/** A + w·(b − a) where w < ½, else b − (b − a)·(1 − w): PyTorch `aten::lerp.Tensor`, which keeps what it takes. */
export const interpolation: CompositePattern = {
  kind: 'taken-apart',
  name: 'Lerp',
  anchors: ['Less'],
  keeps: 'inputs',
  match: (graph, less) => {
    const [weight = ''] = less.inputs;
    const choice = soleReader(graph, less.outputs[0]);
    // By a number it keeps nothing.
    if (rankOf(graph, weight) === 0) return undefined;
    if (scalarOf(graph, less.inputs[1]) !== 0.5 || choice?.type !== 'Where') return undefined;
    if (choice.inputs[0] !== less.outputs[0]) return undefined;
    const [sum, rest] = [producerOf(graph, choice.inputs[1]), producerOf(graph, choice.inputs[2])];
    if (sum?.type !== 'Add' || rest?.type !== 'Sub') return undefined;
    const near = sum.inputs.map((name) => producerOf(graph, name)).find((of) => of?.type === 'Mul');
    const far = producerOf(graph, rest.inputs[1]);
    const difference = producerOf(graph, near && otherOperand(near, weight));
    if (near === undefined || far?.type !== 'Mul' || difference?.type !== 'Sub') return undefined;
    const complement = producerOf(graph, otherOperand(far, difference.outputs[0] ?? ''));
    if (complement?.type !== 'Sub' || complement.inputs[1] !== weight) return undefined;
    if (difference.inputs[0] !== rest.inputs[0] || !sum.inputs.includes(difference.inputs[1] ?? ''))
      return undefined;
    const operators = [less, difference, near, sum, complement, far, rest, choice];
    return matchOf(operators, {}, 'one');
  },
};
