/** A diagonal as the TorchScript exporter writes it: the sum of what is left of a matrix times the unit matrix. */

import type { CompositePattern } from './composite.ts';
import { matchOf, soleReader } from './flow.ts';

/** Σⱼ aᵢⱼ·δᵢⱼ: PyTorch `aten::diagonal`, a view, which keeps nothing. */
export const diagonal: CompositePattern = {
  kind: 'taken-apart',
  name: 'Diagonal',
  anchors: ['EyeLike'],
  keeps: 'nothing',
  match: (graph, unit) => {
    const product = soleReader(graph, unit.outputs[0]);
    const sum = soleReader(graph, product?.outputs[0]);
    if (product?.type !== 'Mul' || sum?.type !== 'ReduceSum') return undefined;
    return matchOf([product, sum], {}, 'one');
  },
};
