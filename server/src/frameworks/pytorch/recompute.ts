/**
 * Activation checkpointing: what a group of operators keeps for backward, and what backward computes again.
 *
 * Sources, PyTorch 2.x: torch/utils/checkpoint.py, `checkpoint`: forward keeps the inputs of the function alone;
 * backward first runs the function forward again, with all it saves, and then backward. `SelectiveCheckpointContext`
 * of the same file keeps what chosen operators give and does not run them again. torchtitan's activation_checkpoint.py
 * (2024-12) chooses products and attention, but of the products of a block only the first, third and so on. The small
 * part that `use_reentrant=False` leaves out at the end of the second forward, behind the last saved tensor, is counted.
 *
 * Casts of weights are not kept: autocast holds them until its context ends with forward, and casts again.
 */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { Keeping, RecomputedGroups } from '../../analysis/recomputedGroups.ts';
import type { KernelClass } from '../../operators/definition.ts';
import type { KeptTensor, LoweredOperator } from '../behaviour.ts';

/**
 * The operators with those of the groups computed again in backward. `stored` gives the memory of a value as it lies
 * there, without a cast.
 */
export function recompute(
  training: TrainingGraph,
  operators: readonly (LoweredOperator | undefined)[],
  { groupOf, keeping }: RecomputedGroups,
  stored: (name: string) => readonly KeptTensor[],
): readonly (LoweredOperator | undefined)[] {
  const members: number[][] = keeping.map(() => []);
  for (let index = 0; index < groupOf.length; index += 1) members[groupOf[index] ?? -1]?.push(index);
  const changed = [...operators];
  for (const [number, group] of members.entries()) {
    if (!isPassedByBackward(training, group)) continue;
    recomputeGroup(training, { number, group, keeping: keeping[number] ?? 'nothing' }, changed, stored);
  }
  return changed;
}

interface Group {
  readonly number: number;
  readonly group: readonly number[];
  readonly keeping: Keeping;
}

/** Changes the operators of one group. */
function recomputeGroup(
  training: TrainingGraph,
  { number, group, keeping }: Group,
  operators: (LoweredOperator | undefined)[],
  stored: (name: string) => readonly KeptTensor[],
): void {
  const { graph } = training.analysis;
  const inside = new Set(group);
  const kept = new Set<string>();
  let products = 0;
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
    const product = lowered.forward.find((kernel) => productClasses.has(kernel.class));
    if (product !== undefined && product.class !== 'attention') products += 1;
    const isSecond = keeping === 'alternate products' && product?.class !== 'attention' && products % 2 === 0;
    const isKept = product !== undefined && keeping !== 'nothing' && !isSecond;
    if (isKept) {
      for (const name of resultsOf(training, operators, index)) keep(stored(name));
      keep(lowered.saved.filter(({ key }) => isOwn(key)));
    }
    operators[index] = {
      ...lowered,
      backwardData: [
        ...(isKept ? lowered.forward.filter((kernel) => kernel !== product) : lowered.forward),
        ...lowered.backwardData,
      ],
      saved,
      again: { group: number, tensors: lowered.saved },
    };
  }
}

const productClasses: ReadonlySet<KernelClass> = new Set([
  'matmul',
  'convolution',
  'depthwise-convolution',
  'attention',
  'recurrent',
]);

/** What operators make beside their outputs, such as the log-sum-exp of attention. */
const isOwn = (key: string): boolean => /^\d+\//.test(key);

/** What the call gives: where a bias was folded into a product, its addition. */
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
