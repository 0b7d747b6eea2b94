/**
 * Activation checkpointing: what a group of operators keeps for backward, and what backward computes again.
 *
 * Sources, PyTorch 2.x: torch/utils/checkpoint.py, `checkpoint`: forward keeps the inputs of the function alone;
 * backward first runs the function forward again, with all it saves, and then backward. `SelectiveCheckpointContext`
 * of the same file keeps what chosen operators give and does not run them again. torchtitan's activation_checkpoint.py
 * (2024-12) chooses matmuls and attention, but of the matmuls of a block only the first, third and so on.
 *
 * From PyTorch 2.1 the second forward stops when the last tensor that backward needs has been saved (`set_checkpoint_early_stop`),
 * unless `use_reentrant=True`: what a block ends with, such as the last matmul of a transformer's block, whose input it
 * saves before it runs, is not computed again.
 *
 * Casts of weights are not kept: autocast holds them until its context ends with forward, and casts again.
 */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { Keeping, RecomputedGroups } from '../../analysis/recomputedGroups.ts';
import type { KernelWork } from '../../hardware/kernelWork.ts';
import { intAt } from '../../model/at.ts';
import { isMatmulClass } from '../../operators/definition.ts';
import type { KeptTensor, LoweredOperator } from '../behaviour.ts';

/**
 * The operators with those of the groups recomputed in backward. `stored` gives the memory of a value as it lies
 * there, without a cast.
 */
export function recompute(
  training: TrainingGraph,
  operators: readonly (LoweredOperator | undefined)[],
  { groupOf, keeping }: RecomputedGroups,
  stored: (name: string) => readonly KeptTensor[],
  reentrant: boolean,
): readonly (LoweredOperator | undefined)[] {
  const members: number[][] = keeping.map(() => []);
  for (let index = 0; index < groupOf.length; index += 1) members[intAt(groupOf, index)]?.push(index);
  const changed = [...operators];
  for (const [number, group] of members.entries()) {
    if (!isPassedByBackward(training, group)) continue;
    recomputeGroup(
      training,
      { number, group, keeping: keeping[number] ?? 'nothing', reentrant },
      changed,
      stored,
    );
  }
  return changed;
}

interface Group {
  readonly number: number;
  readonly group: readonly number[];
  readonly keeping: Keeping;
  readonly reentrant: boolean;
}

/** Changes the operators of one group. */
function recomputeGroup(
  training: TrainingGraph,
  { number, group, keeping, reentrant }: Group,
  operators: (LoweredOperator | undefined)[],
  stored: (name: string) => readonly KeptTensor[],
): void {
  const { graph } = training.analysis;
  const inside = new Set(group);
  const kept = new Set<string>();
  const lastSave = group.findLast((index) => (operators[index]?.saved.length ?? 0) > 0) ?? -1;
  const runAgain = (index: number, { forward, saved }: LoweredOperator): readonly KernelWork[] => {
    if (reentrant || index < lastSave) return forward;
    if (index > lastSave) return [];
    const results = new Set(
      resultsOf(training, operators, index).flatMap((name) => stored(name).map(({ key }) => key)),
    );
    return saved.some(({ key }) => isOwn(key) || results.has(key)) ? forward : castsBefore(forward);
  };
  let matmuls = 0;
  for (const index of group) {
    const lowered = operators[index];
    if (lowered === undefined) continue;
    const saved: KeptTensor[] = [];
    const keep = (tensors: readonly KeptTensor[]): void => {
      for (const tensor of tensors) {
        if (kept.has(tensor.key)) continue;
        kept.add(tensor.key);
        saved.push(tensor);
      }
    };
    for (const name of graph.operators[index]?.inputs ?? []) {
      const value = graph.values.get(name);
      const given = value?.role === 'activation' || value?.role === 'input';
      if (value !== undefined && given && !inside.has(value.producer ?? -1)) keep(stored(name));
    }
    const matmul = lowered.forward.find((kernel) => isMatmulClass(kernel.class));
    if (matmul !== undefined && matmul.class !== 'attention') matmuls += 1;
    const isSecond = keeping === 'alternate matmuls' && matmul?.class !== 'attention' && matmuls % 2 === 0;
    const isKept = matmul !== undefined && keeping !== 'nothing' && !isSecond;
    if (isKept) {
      for (const name of resultsOf(training, operators, index)) keep(stored(name));
      keep(lowered.saved.filter(({ key }) => isOwn(key)));
    }
    const again = runAgain(index, lowered);
    operators[index] = {
      ...lowered,
      backwardData: [
        ...(isKept ? again.filter((kernel) => kernel !== matmul) : again),
        ...lowered.backwardData,
      ],
      saved,
      recomputed: { group: number, tensors: lowered.saved },
    };
  }
}

/** Inputs are cast or copied before they are saved, and saved before the kernel runs. */
const castsBefore = (forward: readonly KernelWork[]): readonly KernelWork[] =>
  forward.slice(
    0,
    Math.max(
      0,
      forward.findIndex(
        ({ class: kernelClass, operations }) => kernelClass !== 'elementwise' || operations > 0,
      ),
    ),
  );

/** What operators make beside their outputs, such as the log-sum-exp of attention. */
const isOwn = (key: string): boolean => /^\d+\//.test(key);

/** What the call gives: where a bias was folded into a matmul, its addition. */
function resultsOf(
  { analysis }: TrainingGraph,
  operators: readonly (LoweredOperator | undefined)[],
  index: number,
): readonly string[] {
  const { graph } = analysis;
  const outputs = graph.operators[index]?.outputs ?? [];
  const consumers = graph.values.get(outputs[0] ?? '')?.consumers ?? [];
  const [consumer = -1] = consumers;
  const next = graph.operators[consumer];
  const isBias = next?.type === 'Add' && operators[consumer]?.forward.length === 0;
  return isBias && consumers.length === 1 && operators[consumer]?.view === false ? next.outputs : outputs;
}

const isPassedByBackward = (
  { analysis, requiresGradient }: TrainingGraph,
  group: readonly number[],
): boolean =>
  group.some((index) => analysis.graph.operators[index]?.outputs.some((name) => requiresGradient.has(name)));
