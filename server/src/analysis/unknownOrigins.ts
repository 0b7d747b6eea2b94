/** Where what is unknown begins: one faulty operator makes all that follows from it unknown. */

import { caffeDomain, unloweredDomain } from '../lowering/providedStructure.ts';
import { findOperator } from '../operators/registry.ts';
import type { TrainingGraph } from './modelAnalysis.ts';
import { type FoldLayout, isSettledAround } from './repetition/foldGraph.ts';

/**
 * For operators of unknown cost: the operator whose output was unknown first on their way, both by index. Those that are
 * unknown for a reason of their own are left out.
 */
export function unknownOrigins(training: TrainingGraph): ReadonlyMap<number, number> {
  const layout = training.analysis.folded?.layout;
  if (training.folded !== undefined && layout !== undefined) {
    const whole = unfoldOrigins(layout, originsIn(training.folded));
    if (whole !== undefined) return whole;
  }
  return originsIn(training);
}

function originsIn(training: TrainingGraph): ReadonlyMap<number, number> {
  const { costs, analysis } = training;
  const origins = new Map<number, number>();
  if (!costs.some(({ kind }) => kind === 'unknown')) return origins;
  const { tensors } = training;
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

/**
 * Origins in the whole graph from those in the folded one. Those of a block lie in the block itself, and so in each of
 * its copies, or before all blocks; `undefined` where the blocks around the cut do not agree on that.
 */
function unfoldOrigins(
  layout: FoldLayout,
  folded: ReadonlyMap<number, number>,
): ReadonlyMap<number, number> | undefined {
  if (folded.size === 0) return folded;
  const { cut, period, copies, count, inner } = layout;
  const origins = inner === undefined ? folded : unfoldOrigins(inner, folded);
  if (origins === undefined) return undefined;
  const inBlock = (index: number, origin: number): boolean =>
    Math.floor((index - cut) / period) === Math.floor((origin - cut) / period);
  const areSame = (index: number, other: number): boolean => {
    const [left, right] = [origins.get(index), origins.get(other)];
    if (left === undefined || right === undefined) return left === right;
    if (inBlock(index, left)) return left - index === right - other;
    return left === right && left < cut - 2 * period;
  };
  if (!isSettledAround(layout, areSame)) return undefined;
  const whole = new Map<number, number>();
  const shift = copies * period;
  for (let index = 0; index < count; index += 1) {
    const copy = index < cut ? 0 : Math.min(Math.floor((index - cut) / period) + 1, copies);
    const isCopy = index < cut + shift;
    const shown = isCopy ? index - copy * period : index - shift;
    const origin = origins.get(shown);
    if (origin === undefined) continue;
    // Behind the copies, the last block before the cut stands for the last of them.
    const moved = origin >= cut - period ? origin + (isCopy ? copy * period : shift) : origin;
    whole.set(index, moved);
  }
  return whole;
}
