/** Which factor of an operator's work goes with the split of one of its tensors. */

import type { Operator } from '../model/graph.ts';
import type { BoundFactor, BoundPlace } from './boundMap.ts';
import type { DividedFactor, Split } from './division.ts';

/** A tensor of an operator, by its place. */
export interface Operand {
  readonly side: 'inputs' | 'outputs';
  readonly tensor: number;
}

/** The factor that a split of a tensor divides, where it divides into blocks of one size. */
export function matchOf(
  factors: readonly BoundFactor[],
  { side, tensor }: Operand,
  split: Split,
  ways: number,
): DividedFactor | undefined {
  for (const factor of factors) {
    for (const place of factor[side]) {
      if (place.tensor !== tensor) continue;
      const match = matchAt(factor, place, split, ways);
      if (match !== undefined) return match;
    }
  }
  return undefined;
}

function matchAt(
  factor: BoundFactor,
  place: BoundPlace,
  { axis, outer, parts, shared }: Split,
  ways: number,
): DividedFactor | undefined {
  if (place.axis !== axis || outer % place.outer !== 0) return undefined;
  if (parts !== undefined) return areParts(parts, factor, ways) ? { factor, within: 1, parts } : undefined;
  const within = outer / place.outer;
  // A factor that says which of its tensors workers share is divided over all.
  if (place.shared !== undefined && place.shared !== shared) return undefined;
  const own = place.shared === undefined ? shared : undefined;
  if (factor.size % ((within * ways) / (own ?? 1)) !== 0) return undefined;
  return { factor, within, ...(own === undefined ? {} : { shared: own }) };
}

/** Whether a factor goes over matrices of these sizes, side by side in all of its tensors, which all divide. */
export const areParts = (
  parts: readonly number[],
  { size, inputs, outputs }: BoundFactor,
  ways: number,
): boolean =>
  parts.reduce((sum, part) => sum + part, 0) === size &&
  parts.every((part) => part % ways === 0) &&
  [...inputs, ...outputs].every(({ outer }) => outer === 1);

/** Why no factor matches. */
export function whyNoMatch(
  factors: readonly BoundFactor[],
  { side, tensor }: Operand,
  { axis, outer }: Split,
  ways: number,
): string {
  for (const factor of factors) {
    const place = factor[side].find((each) => each.tensor === tensor && each.axis === axis);
    if (place === undefined) continue;
    // Of several matrices side by side each is split.
    return place.outer === outer
      ? `its ${factor.size} of axis ${axis} do not divide by ${ways}`
      : `its blocks of axis ${axis} do not divide by ${ways}`;
  }
  return `it computes over all of axis ${axis}`;
}

/** By name of a tensor on one side of an operator, the blocks that workers have of it where a factor is divided. */
export const blocksOf = (
  operator: Operator,
  side: Operand['side'],
  { factor, within, parts, shared: ofFactor }: DividedFactor,
): readonly (readonly [string, Split])[] =>
  factor[side].flatMap(({ tensor, axis, outer, shared = ofFactor }) => {
    const name = operator[side][tensor] ?? '';
    const split: Split = {
      axis,
      outer: outer * within,
      ...(parts === undefined ? {} : { parts }),
      ...(shared === undefined ? {} : { shared }),
    };
    return name === '' ? [] : [[name, split] as const];
  });

/** Whether no tensor of an operator is split in another way than where the factor is divided. */
export const agreesWith = (
  values: ReadonlyMap<string, Split>,
  operator: Operator,
  match: DividedFactor,
): boolean =>
  [...blocksOf(operator, 'inputs', match), ...blocksOf(operator, 'outputs', match)].every(
    ([name, { axis, outer }]) => {
      const known = values.get(name);
      return known === undefined || (known.axis === axis && known.outer === outer);
    },
  );
