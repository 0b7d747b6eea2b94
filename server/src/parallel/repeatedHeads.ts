/** Keys that several heads of queries share are repeated for them: what travels is the tensor before the repetition. */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import type { Operator } from '../model/graph.ts';
import type { Split } from './division.ts';

/** The split tensors that a tensor is a repetition of, from itself back to the first one. */
export function repetitionsOf(
  name: string,
  training: TrainingGraph,
  values: ReadonlyMap<string, Split>,
): readonly string[] {
  const { operators, values: all } = training.analysis.graph;
  const found: string[] = [];
  for (let own: string | undefined = name; own !== undefined; ) {
    found.push(own);
    const operator: Operator | undefined = operators[all.get(own)?.producer ?? -1];
    const [only, ...others]: readonly string[] = operator?.inputs.filter((each) => values.has(each)) ?? [];
    own = others.length > 0 || operator === undefined || multiplies(operator, training) ? undefined : only;
  }
  return found;
}

const multiplies = ({ index }: Operator, { costs }: TrainingGraph): boolean => {
  const cost = costs[index];
  return cost?.kind !== 'known' || cost.forward.flops > 0;
};

/** Elements of one head of [batch, heads, positions, features]. */
export function elementsPerHead(name: string, { tensors }: TrainingGraph): number {
  const dimensions = tensors.get(name)?.dimensions ?? [];
  return (dimensions[0] ?? 1) * (dimensions.at(-1) ?? 1) * (dimensions.at(-2) ?? 1);
}
