/**
 * Activation checkpointing: what a marked layer or block keeps for backward, and what backward computes again.
 *
 * Source: PyTorch 2.x torch/utils/checkpoint.py, `checkpoint`. Forward keeps the inputs of the function alone; backward
 * first runs the function forward again, with all it saves, and then backward. The small part that `use_reentrant=False`
 * leaves out at the end of the second forward, behind the last saved tensor, is counted here.
 */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import { operatorMarks } from '../../analysis/operatorMarks.ts';
import { bytes } from '../../model/units.ts';
import type { KeptTensor, LoweredGraph, LoweredOperator } from '../behaviour.ts';

/**
 * The graph with marked operators computed again in backward. `stored` gives the memory of a value as it lies there,
 * without a cast.
 */
export function recomputeMarked(
  training: TrainingGraph,
  operators: readonly (LoweredOperator | undefined)[],
  stored: (name: string) => readonly KeptTensor[],
): LoweredGraph {
  const groups = recomputedGroups(training);
  if (groups.length === 0) return { operators, recomputedBytes: bytes(0) };
  const changed = [...operators];
  let most = 0;
  for (const group of groups) most = Math.max(most, recomputeGroup(training, group, changed, stored));
  return { operators: changed, recomputedBytes: bytes(most) };
}

/** Changes the operators of one group; gives the bytes that backward makes again before it uses them. */
function recomputeGroup(
  training: TrainingGraph,
  group: readonly number[],
  operators: (LoweredOperator | undefined)[],
  stored: (name: string) => readonly KeptTensor[],
): number {
  const { graph } = training.analysis;
  const inside = new Set(group);
  const kept = new Set<string>();
  const again = new Map<string, number>();
  for (const index of group) {
    const lowered = operators[index];
    if (lowered === undefined) continue;
    const saved: KeptTensor[] = lowered.saved.filter((tensor) => tensor.weightCopy);
    for (const name of graph.operators[index]?.inputs ?? []) {
      const value = graph.values.get(name);
      const given = value?.role === 'activation' || value?.role === 'input';
      if (value === undefined || !given || inside.has(value.producer ?? -1)) continue;
      for (const tensor of stored(name)) {
        if (kept.has(tensor.key)) continue;
        kept.add(tensor.key);
        saved.push(tensor);
      }
    }
    for (const tensor of lowered.saved) if (!tensor.weightCopy) again.set(tensor.key, tensor.bytes);
    operators[index] = { ...lowered, backwardData: [...lowered.forward, ...lowered.backwardData], saved };
  }
  let total = 0;
  for (const [key, size] of again) if (!kept.has(key)) total += size;
  return total;
}

/** Operators computed again together, where backward passes them at all. */
function recomputedGroups(training: TrainingGraph): readonly (readonly number[])[] {
  const { graph } = training.analysis;
  const marks = operatorMarks(training.analysis);
  if (marks === undefined) return [];
  const groups = new Map<number, number[]>();
  for (const { index } of graph.operators) {
    const number = marks[index]?.recomputed;
    if (number === undefined) continue;
    const group = groups.get(number);
    if (group === undefined) groups.set(number, [index]);
    else group.push(index);
  }
  return [...groups.values()].filter((group) =>
    group.some((index) =>
      graph.operators[index]?.outputs.some((name) => training.requiresGradient.has(name)),
    ),
  );
}
