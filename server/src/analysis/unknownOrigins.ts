/** Where what is unknown begins: one faulty operator makes all that follows from it unknown. */

import { findOperator } from '../operators/registry.ts';
import type { TrainingGraph } from './modelAnalysis.ts';
import { caffeDomain, unloweredDomain } from './providedStructure.ts';

/** A folded graph is looked at as a whole up to this size: unfolding a larger one takes as long as costing it. */
const mostUnfolded = 20_000;

/**
 * For operators of unknown cost: the operator whose output was unknown first on their way, both by index. Those that are
 * unknown for a reason of their own are left out.
 */
export function unknownOrigins(training: TrainingGraph): ReadonlyMap<number, number> {
  const { costs, analysis, tensors } = training;
  const origins = new Map<number, number>();
  if (!costs.some(({ kind }) => kind === 'unknown')) return origins;
  if (training.folded !== undefined && costs.length > mostUnfolded) return origins;
  const { operators, operatorSets } = analysis.graph;
  const ofValue = new Map<string, number>();
  for (const { index, domain, type, inputs, outputs } of operators) {
    const isLowered = domain !== unloweredDomain && domain !== caffeDomain;
    const isStrange = isLowered && findOperator(domain, type, operatorSets.get(domain) ?? 0) === undefined;
    const input = isStrange ? undefined : inputs.find((name) => ofValue.has(name));
    const origin = input === undefined ? undefined : ofValue.get(input);
    if (costs[index]?.kind === 'unknown' && origin !== undefined) origins.set(index, origin);
    for (const output of outputs) {
      if (output !== '' && !tensors.has(output)) ofValue.set(output, origin ?? index);
    }
  }
  return origins;
}
