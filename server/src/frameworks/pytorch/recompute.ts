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
  const recomputedAt = new Float64Array(operators.length);
  for (const group of groups) {
    const size = recomputeGroup(training, group, changed, stored);
    for (const index of group.operators) recomputedAt[index] = size;
    most = Math.max(most, size);
  }
  return { operators: changed, recomputedBytes: bytes(most), recomputedAt };
}

/** Changes the operators of one group; gives the bytes that backward makes again before it uses them. */
function recomputeGroup(
  training: TrainingGraph,
  { operators: group, keepsProducts }: CheckpointedGroup,
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
    const keepsResults = keepsProducts && isProduct(training, index) && lowered.inside !== true;
    if (keepsResults) {
      for (const tensor of resultsOf(training, index, lowered, stored)) {
        if (kept.has(tensor.key)) continue;
        kept.add(tensor.key);
        saved.push(tensor);
      }
    }
    for (const tensor of lowered.saved) if (!tensor.weightCopy) again.set(tensor.key, tensor.bytes);
    const repeated = keepsResults ? [] : lowered.forward;
    operators[index] = { ...lowered, backwardData: [...repeated, ...lowered.backwardData], saved };
  }
  let total = 0;
  for (const [key, size] of again) if (!kept.has(key)) total += size;
  return total;
}

/**
 * What a product gives, and what it keeps beside its inputs, as the logarithms of attention's sums. Source: PyTorch 2.x
 * torch/utils/checkpoint.py, `create_selective_checkpoint_contexts`: results of the operators that a policy names.
 */
function resultsOf(
  { analysis }: TrainingGraph,
  index: number,
  lowered: LoweredOperator,
  stored: (name: string) => readonly KeptTensor[],
): readonly KeptTensor[] {
  const outputs = analysis.graph.operators[index]?.outputs ?? [];
  const own = lowered.saved.filter(({ key }) => key.startsWith(`${index}/`));
  return [...outputs.flatMap((name) => (name === '' ? [] : stored(name))), ...own];
}

function isProduct({ costs }: TrainingGraph, index: number): boolean {
  const cost = costs[index];
  return cost?.kind === 'known' && cost.forward.flops > 0;
}

/** Operators computed again together. */
interface CheckpointedGroup {
  readonly operators: readonly number[];
  readonly keepsProducts: boolean;
}

/** Where backward passes them at all. */
function recomputedGroups(training: TrainingGraph): readonly CheckpointedGroup[] {
  const { graph } = training.analysis;
  const marks = operatorMarks(training.analysis);
  if (marks === undefined) return [];
  const groups = new Map<number, { readonly operators: number[]; readonly keepsProducts: boolean }>();
  for (const { index } of graph.operators) {
    const { recomputed: number, keepsProducts = false } = marks[index] ?? {};
    if (number === undefined) continue;
    const group = groups.get(number);
    if (group === undefined) groups.set(number, { operators: [index], keepsProducts });
    else group.operators.push(index);
  }
  return [...groups.values()].filter(({ operators }) =>
    operators.some((index) =>
      graph.operators[index]?.outputs.some((name) => training.requiresGradient.has(name)),
    ),
  );
}
