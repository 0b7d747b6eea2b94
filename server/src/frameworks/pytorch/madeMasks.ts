/**
 * Attention that is one kernel because a person or a framework says so makes a mask of positions itself: it takes none, and skips what
 * the mask hides. So do Transformer Engine (`window_size`) and FlashAttention, where `scaled_dot_product_attention` is given the mask.
 */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { Operator } from '../../model/graph.ts';
import type { AttentionShape, KnownCost, OperatorCost, Work } from '../../operators/definition.ts';
import { isMadeOfPositions, windowOfMask } from './foldedTriangle.ts';

/** The same graph where no operator of attention has such a mask. */
export function withoutMadeMasks(training: TrainingGraph): TrainingGraph {
  const { operators } = training.analysis.graph;
  const known = new Map<OperatorCost, Map<number | undefined, OperatorCost>>();
  const madeOf = new Map<string, boolean>();
  const costs = training.costs.map((cost, index) => {
    const operator = operators[index];
    const shape = cost.kind === 'known' ? cost.forward.attention : undefined;
    const mask = operator?.type === 'Attention' ? operator.inputs[3] : undefined;
    if (cost.kind !== 'known' || shape?.mask === undefined || mask === undefined || operator === undefined)
      return cost;
    const isMade = madeOf.get(mask) ?? isMadeOfPositions(training, mask, shape.keys);
    madeOf.set(mask, isMade);
    if (!isMade) return cost;
    const window = windowOfMask(training, mask, shape.keys);
    // Operators of one cost have one again: kernels are found once for each.
    const before = known.get(cost)?.get(window);
    if (before !== undefined) return before;
    const after = withoutMask(cost, operator, window);
    known.set(cost, new Map([...(known.get(cost) ?? []), [window, after]]));
    return after;
  });
  return known.size === 0 ? training : { ...training, costs };
}

function withoutMask(cost: KnownCost, operator: Operator, window: number | undefined): KnownCost {
  return {
    ...cost,
    forward: causalWork(cost.forward, window),
    backwardData: causalWork(cost.backwardData, window),
    saved: cost.saved.filter(
      (kept) =>
        !(kept.kind === 'input' && operator.inputs[kept.index] === operator.inputs[3]) &&
        !(kept.kind === 'extra' && kept.name === 'mask as numbers'),
    ),
  };
}

const causalWork = (work: Work, window: number | undefined): Work =>
  work.attention === undefined ? work : { ...work, attention: causalShape(work.attention, window) };

function causalShape({ mask: _, ...shape }: AttentionShape, window: number | undefined): AttentionShape {
  return { ...shape, causal: true, ...(window === undefined ? {} : { window }) };
}
