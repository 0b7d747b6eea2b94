/**
 * Whether a compiled model puts images into channels-last memory by itself.
 *
 * Source: PyTorch 2.13, torch/_inductor/graph.py `decide_layout_opt`. Never where convolutions are few. In training not where
 * one is grouped (but for depthwise ones), all are narrow, or one gives out less than half of what it takes in. In
 * inference where the FLOPs of convolutions, each kind times what the layout made of its time in PyTorch's own
 * measurements, are no more than without.
 */

import type { TrainingGraph } from '../../../analysis/modelAnalysis.ts';
import type { Operator } from '../../../model/graph.ts';
import type { Mode } from '../../../model/scenario.ts';

export function prefersChannelsLast(training: TrainingGraph, mode: Mode): boolean {
  const { operators } = training.analysis.graph;
  const filters = operators.flatMap((operator) => filterOf(training, operator) ?? []);
  // Of the 300 nodes per convolution that Inductor asks for, an operator is about ten.
  if (filters.length === 0 || operators.length >= 30 * filters.length) return false;
  if (mode === 'inference') {
    const gained = filters.reduce((sum, filter) => sum + filter.flops * (1 - timesBy[kindOf(filter)]), 0);
    return gained >= 0;
  }
  if (filters.some(isGrouped) || filters.some(givesLess)) return false;
  return !filters.every(isNarrow);
}

/** Time in channels-last memory over time in channels-first, as PyTorch has them. */
const timesBy = { grouped: 1.358, narrow: 0.783, 'gives less': 0.725, other: 0.823 } as const;

const kindOf = (filter: Filter): keyof typeof timesBy => {
  if (isGrouped(filter)) return 'grouped';
  if (isNarrow(filter)) return 'narrow';
  return givesLess(filter) ? 'gives less' : 'other';
};

const isGrouped = ({ groups, taken }: Filter): boolean => groups > 1 && taken > 1;
const isNarrow = ({ given, taken }: Filter): boolean => given <= 64 && taken <= 64;
const givesLess = ({ given, taken, height }: Filter): boolean => given * 2 <= taken && height > 1;

interface Filter {
  readonly groups: number;
  readonly given: number;
  /** By one group. */
  readonly taken: number;
  readonly height: number;
  readonly flops: number;
}

function filterOf(training: TrainingGraph, operator: Operator): Filter | undefined {
  if (operator.type !== 'Conv') return undefined;
  const dimensions = training.tensors.get(operator.inputs[1] ?? '')?.dimensions;
  const channels = training.tensors.get(operator.inputs[0] ?? '')?.dimensions[1];
  if (dimensions === undefined || channels === undefined) return undefined;
  const [given = 0, taken = 0, height = 1] = dimensions;
  const cost = training.costs[operator.index];
  const flops = cost?.kind === 'known' ? cost.forward.flops : 0;
  return { groups: channels / Math.max(1, taken), given, taken, height, flops };
}
