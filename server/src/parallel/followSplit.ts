/**
 * Follows a split through a graph: the operators that take part in it, and the tensors that are split with it.
 *
 * Every operator that reads or gives a block of a split tensor divides the same factor of its work, so that its other tensors
 * are split along that factor too. A split ends where a product with a weight contracts it, which gives partial sums (the
 * row-parallel product of arXiv:1909.08053), at a loss over split classes, and at an output. It cannot go where an operator
 * needs the whole dimension, as a normalization does of its axis.
 */

import { isWeight, type Operator, type Value } from '../model/graph.ts';
import { isSameContent } from '../model/sameContent.ts';
import type { BoundFactor, BoundPlace, DividedGraph } from './boundMap.ts';
import type { DividedFactor, Division, Split } from './division.ts';
import { headsOverShared } from './sharedHeads.ts';
import { factorOfParts, isTakenApart } from './sideBySide.ts';

export type Followed =
  /** What is divided beside what was before. */
  { readonly kind: 'divided'; readonly division: Division } | Barrier;

interface Barrier {
  readonly kind: 'barrier';
  readonly operator: number;
  readonly reason: string;
}

/** How a graph is divided: over how many workers, and whether several may compute with the same head of keys and values. */
export interface SplitRules {
  readonly ways: number;
  readonly sharesHeads: boolean;
}

/**
 * From a factor of an operator that is to be divided over workers, with what is divided already. Neither is changed:
 * a split that cannot be leaves nothing behind.
 */
export function followSplit(
  divided: DividedGraph,
  { ways, sharesHeads }: SplitRules,
  seed: DividedFactor & { readonly operator: number },
  before: Division,
): Followed {
  const { training } = divided;
  const { graph, costing } = training.analysis;
  const values = new Map<string, Split>();
  const operators = new Map<number, DividedFactor>();
  const waiting: string[] = [];
  const regrouped = new Map(before.regrouped);
  const barriers = new Map<string, Barrier>();
  const splitOf = (name: string): Split | undefined => values.get(name) ?? before.values.get(name);

  /** Splits the tensors of a factor; the reason why one cannot be. `takes`: it takes parts of what comes in, each a result. */
  const divide = (
    operator: Operator,
    { factor, within, parts, shared }: DividedFactor,
    takes = false,
  ): string | undefined => {
    const known = operators.get(operator.index) ?? before.operators.get(operator.index);
    if (known !== undefined)
      return isSameFactor(known.factor, factor) &&
        known.within === within &&
        known.shared === shared &&
        isSameContent(known.parts, parts)
        ? undefined
        : 'it is divided along another dimension already';
    if (factor.coupled !== undefined) return factor.coupled;
    if (factor.positions === true) return 'it computes over all positions';
    if (factor.outputs.length === 0 && factor.classes !== true && !isProduct(operator, factor))
      return 'it combines what is split';
    const side = parts === undefined ? {} : { parts };
    operators.set(operator.index, { factor, within, ...side, ...(shared === undefined ? {} : { shared }) });
    for (const [places, names, ofSide] of [
      [factor.inputs, operator.inputs, side],
      [factor.outputs, operator.outputs, takes ? {} : side],
    ] as const) {
      for (const { tensor, axis, outer, shared: ofPlace = shared } of places) {
        const name = names[tensor];
        if (name === undefined || name === '') continue;
        const own = splitOf(name);
        const blocks = { axis, outer: outer * within, ...ofSide };
        if (ofPlace !== undefined && names === operator.inputs && isGivenEvenly(name, blocks)) {
          regrouped.set(name, { operator: operator.index, shared: ofPlace });
          continue;
        }
        const split: Split = { ...blocks, ...(ofPlace === undefined ? {} : { shared: ofPlace }) };
        if (own === undefined) {
          values.set(name, split);
          waiting.push(name);
        } else if (!isSameContent(own, split)) {
          return `\`${name}\` is split along another dimension already`;
        }
      }
    }
    return undefined;
  };

  /** What gives a value whose blocks several workers share gives each of them another one, or whole parts of a projection. */
  const isGivenEvenly = (name: string, { axis, outer }: Split): boolean => {
    const producer = graph.operators[graph.values.get(name)?.producer ?? -1];
    if (producer === undefined) return false;
    const output = producer.outputs.indexOf(name);
    const factors = divided.factorsOf(producer.index);
    if (matchOf(factors, (factor) => factor.outputs, output, { axis, outer }, ways) !== undefined)
      return true;
    const size = divided.training.tensors.get(name)?.dimensions[axis] ?? 1;
    return outer === 1 && size % ways === 0 && isTakenApart(divided, producer, axis);
  };

  /** A product with a weight that contracts it, or a table whose rows are divided. */
  const isProduct = (operator: Operator, factor: BoundFactor): boolean =>
    factor.partial?.by === 'sum' &&
    factor.inputs.some(({ tensor }) => isStoredWeight(graph.values.get(operator.inputs[tensor] ?? '')));

  const isStoredWeight = (value: Value | undefined): boolean =>
    value !== undefined &&
    (isWeight(value.role) || (costing.gradients.isStored(value.name) && value.role === 'activation'));

  const through = (index: number, name: string): string | undefined => {
    const operator = graph.operators[index];
    const split = values.get(name);
    if (operator === undefined || split === undefined) return undefined;
    // The numbers of a shape are those of the file.
    if (costing.auxiliary.shapeArithmetic[index] === true) return undefined;
    const { parts } = split;
    // What an operator takes apart need not go back.
    if (parts === undefined && operators.get(index)?.parts !== undefined) return undefined;
    if (regrouped.get(name)?.operator === index && split.shared === undefined) return undefined;
    const taken = parts && factorOfParts(divided, operator, split);
    if (taken !== undefined && operator.inputs[0] === name)
      return divide(operator, { factor: taken, within: 1, parts }, true);
    for (const [names, sideOf] of [
      [operator.inputs, (factor: BoundFactor) => factor.inputs],
      [operator.outputs, (factor: BoundFactor) => factor.outputs],
    ] as const) {
      for (const [tensor, own] of names.entries()) {
        if (own !== name) continue;
        const factors = factorsOf(operator);
        const match = matchOf(factors, sideOf, tensor, split, ways);
        if (match === undefined) return whyWhole(factors, sideOf, tensor, split, ways);
        const reason = divide(operator, match);
        if (reason !== undefined) return reason;
      }
    }
    return undefined;
  };

  const factorsOf = (operator: Operator): readonly BoundFactor[] => {
    const known = divided.factorsOf(operator.index);
    const heads = sharesHeads ? headsOverShared(divided, operator, ways) : undefined;
    // What values alone divide leaves each worker with all queries.
    return heads === undefined
      ? known
      : [heads, ...known.filter(({ inputs }) => inputs.some(({ tensor }) => tensor === 0))];
  };

  const start = graph.operators[seed.operator];
  const refused = start && divide(start, seed);
  if (refused !== undefined) return { kind: 'barrier', operator: seed.operator, reason: refused };
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const value = graph.values.get(name);
    if (value === undefined) continue;
    // A block of a constant or of an input is a view of it, whoever else reads it.
    const isFree = value.producer === undefined && !isWeight(value.role);
    if (isFree) continue;
    for (const index of [...(value.producer === undefined ? [] : [value.producer]), ...value.consumers]) {
      const reason = through(index, name);
      if (reason === undefined) continue;
      const barrier: Barrier = { kind: 'barrier', operator: index, reason };
      if (!sharesHeads) return barrier;
      // An attention that is met later may have it gathered first.
      barriers.set(name, barrier);
    }
  }
  for (const [name, barrier] of barriers)
    if (regrouped.get(name)?.operator !== barrier.operator) return barrier;
  return {
    kind: 'divided',
    division: { values, operators, regrouped },
  };
}

/** The factor that a split of a tensor divides, where it divides into blocks of one size. */
export function matchOf(
  factors: readonly BoundFactor[],
  sideOf: (factor: BoundFactor) => readonly BoundPlace[],
  tensor: number,
  { axis, outer, parts, shared }: Split,
  ways: number,
): DividedFactor | undefined {
  for (const factor of factors) {
    for (const place of sideOf(factor)) {
      if (place.tensor !== tensor || place.axis !== axis || outer % place.outer !== 0) continue;
      if (parts !== undefined) {
        if (areParts(parts, factor, ways)) return { factor, within: 1, parts };
        continue;
      }
      const within = outer / place.outer;
      // A factor that says which of its tensors workers share is divided over all.
      if (place.shared !== undefined && place.shared !== shared) continue;
      const own = place.shared === undefined ? shared : undefined;
      if (factor.size % ((within * ways) / (own ?? 1)) === 0)
        return { factor, within, ...(own === undefined ? {} : { shared: own }) };
    }
  }
  return undefined;
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
function whyWhole(
  factors: readonly BoundFactor[],
  sideOf: (factor: BoundFactor) => readonly BoundPlace[],
  tensor: number,
  { axis, outer }: Split,
  ways: number,
): string {
  for (const factor of factors) {
    const place = sideOf(factor).find((each) => each.tensor === tensor && each.axis === axis);
    if (place === undefined) continue;
    // Of several matrices side by side each is split.
    return place.outer === outer
      ? `its ${factor.size} of axis ${axis} do not divide by ${ways}`
      : `its blocks of axis ${axis} do not divide by ${ways}`;
  }
  return `it computes over all of axis ${axis}`;
}

const isSameFactor = (left: BoundFactor, right: BoundFactor): boolean =>
  left === right || JSON.stringify(left) === JSON.stringify(right);
