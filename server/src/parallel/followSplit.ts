/**
 * Follows a split through a graph: the operators that take part in it, and the tensors that are split with it.
 *
 * Every operator that reads or gives a block of a split tensor divides the same factor of its work, so that its other tensors
 * are split along that factor too. A split ends where a product with a weight contracts it, which gives partial sums (the
 * row-parallel product of arXiv:1909.08053), at a loss over split classes, and at an output. It cannot go where an operator
 * needs the whole dimension, as a normalization does of its axis.
 */

import { type Graph, isWeight, type Operator } from '../model/graph.ts';
import type { BoundFactor, DividedGraph } from './boundMap.ts';
import { divideOperator, type Following, type SplitRules } from './divideOperator.ts';
import type { DividedFactor, Division } from './division.ts';
import { matchOf, type Operand, whyNoMatch } from './matchFactor.ts';
import { headsOverShared } from './sharedHeads.ts';
import { factorOfParts } from './sideBySide.ts';

export type Followed =
  /** What is divided beside what was before. */
  { readonly kind: 'divided'; readonly division: Division } | Barrier;

interface Barrier {
  readonly kind: 'barrier';
  readonly operator: number;
  readonly reason: string;
}

/**
 * From a factor of an operator that is to be divided over workers, with what is divided already. Neither is changed:
 * a split that cannot be leaves nothing behind.
 */
export function followSplit(
  divided: DividedGraph,
  rules: SplitRules,
  { operator: first, ...seed }: DividedFactor & { readonly operator: number },
  before: Division,
): Followed {
  const { graph } = divided.training.analysis;
  const values: Following['values'] = new Map();
  const operators: Following['operators'] = new Map();
  const regrouped = new Map(before.regrouped);
  const waiting: string[] = [];
  const following = { divided, rules, before, values, operators, regrouped, waiting };
  const start = graph.operators[first];
  const refused = start && divideOperator(following, start, seed);
  if (refused !== undefined) return { kind: 'barrier', operator: first, reason: refused };
  const barriers = new Map<string, Barrier>();
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    for (const index of neighboursOf(name, graph)) {
      const reason = passThrough(following, index, name);
      if (reason === undefined) continue;
      const barrier: Barrier = { kind: 'barrier', operator: index, reason };
      if (!rules.sharesHeads) return barrier;
      // An attention that is met later may have it gathered first.
      barriers.set(name, barrier);
    }
  }
  for (const [name, barrier] of barriers)
    if (regrouped.get(name)?.operator !== barrier.operator) return barrier;
  return { kind: 'divided', division: { values, operators, regrouped } };
}

/** The operators that a split of a value reaches. */
function neighboursOf(name: string, graph: Graph): readonly number[] {
  const value = graph.values.get(name);
  if (value === undefined) return [];
  const { producer, consumers, role } = value;
  if (producer !== undefined) return [producer, ...consumers];
  // A block of a constant or of an input is a view of it, whoever else reads it.
  return isWeight(role) ? consumers : [];
}

/** Divides an operator with a split tensor that it reads or gives; the reason why it cannot be. */
function passThrough(following: Following, index: number, name: string): string | undefined {
  const { divided, operators, values, regrouped } = following;
  const { graph, costing } = divided.training.analysis;
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
    return divideOperator(following, operator, { factor: taken, within: 1, parts }, true);
  const factors = factorsOf(following, operator);
  for (const operand of operandsNamed(name, operator)) {
    const match = matchOf(factors, operand, split, following.rules.ways);
    if (match === undefined) return whyNoMatch(factors, operand, split, following.rules.ways);
    const reason = divideOperator(following, operator, match);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

const operandsNamed = (name: string, operator: Operator): readonly Operand[] =>
  (['inputs', 'outputs'] as const).flatMap((side) =>
    operator[side].flatMap((own, tensor) => (own === name ? [{ side, tensor }] : [])),
  );

function factorsOf({ divided, rules }: Following, operator: Operator): readonly BoundFactor[] {
  const known = divided.factorsOf(operator.index);
  const heads = rules.sharesHeads ? headsOverShared(divided, operator, rules.ways) : undefined;
  // What values alone divide leaves each worker with all queries.
  return heads === undefined
    ? known
    : [heads, ...known.filter(({ inputs }) => inputs.some(({ tensor }) => tensor === 0))];
}
