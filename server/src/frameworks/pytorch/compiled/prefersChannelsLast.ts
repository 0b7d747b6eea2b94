/**
 * Whether compiled training puts images into channels-last memory by itself.
 *
 * Source: PyTorch 2.13, torch/_inductor/graph.py `decide_layout_opt`, the rules for training: not where convolutions
 * are few, grouped (but for depthwise ones), narrow throughout, or give out less than half of what they take in.
 */

import type { TrainingGraph } from '../../../analysis/modelAnalysis.ts';
import type { Operator } from '../../../model/graph.ts';

export function prefersChannelsLast(training: TrainingGraph): boolean {
  const { operators } = training.analysis.graph;
  const filters = operators.flatMap((operator) => filterOf(training, operator) ?? []);
  // Of the 300 nodes per convolution that Inductor asks for, an operator is about ten.
  if (filters.length === 0 || operators.length >= 30 * filters.length) return false;
  if (filters.some(({ groups, taken }) => groups > 1 && taken > 1)) return false;
  if (filters.some(({ given, taken, height }) => given * 2 <= taken && height > 1)) return false;
  return filters.some(({ given, taken }) => given > 64 || taken > 64);
}

interface Filter {
  readonly groups: number;
  readonly given: number;
  /** By one group. */
  readonly taken: number;
  readonly height: number;
}

function filterOf(training: TrainingGraph, operator: Operator): Filter | undefined {
  if (operator.type !== 'Conv') return undefined;
  const dimensions = training.tensors.get(operator.inputs[1] ?? '')?.dimensions;
  const channels = training.tensors.get(operator.inputs[0] ?? '')?.dimensions[1];
  if (dimensions === undefined || channels === undefined) return undefined;
  const [given = 0, taken = 0, height = 1] = dimensions;
  return { groups: channels / Math.max(1, taken), given, taken, height };
}
