/**
 * Tensor parallelism of any graph: pairs of products are found in its structure.
 *
 * Each product with a weight is tried as column parallel, in the order of the graph: its weight is split along what comes out,
 * and the split is followed until a product contracts it. Attention with fused or separate projections, MLPs with and
 * without a gate, cross-attention, pairs of convolutions, tables of words and heads over them are all found so. What cannot be
 * split stays whole on each worker, and is listed with the reason.
 * Source: Shoeybi et al., arXiv:1909.08053, section 3.
 */

import { isWeight, type Operator } from '../model/graph.ts';
import { hasTrait } from '../operators/operatorFacts.ts';
import type { BoundFactor, DividedGraph } from './boundMap.ts';
import type { SplitRules } from './divideOperator.ts';
import type { DividedFactor, Division, Regrouped, Split } from './division.ts';
import { followSplit } from './followSplit.ts';
import { areParts } from './matchFactor.ts';
import { partsTakenBy } from './sideBySide.ts';

export interface TensorParallel {
  readonly division: Division;
  /** Products with weights that each worker computes whole. */
  readonly whole: readonly WholeProduct[];
}

export interface WholeProduct {
  readonly operator: number;
  readonly reason: string;
  /** The operator that `reason` names, where it names one. */
  readonly barrier?: number;
}

export function divideTensors(divided: DividedGraph, rules: SplitRules): TensorParallel {
  const { ways } = rules;
  const { graph } = divided.training.analysis;
  const values = new Map<string, Split>();
  const operators = new Map<number, DividedFactor>();
  const regrouped = new Map<string, Regrouped>();
  const division: Division = { values, operators, regrouped };
  const reasons = new Map<number, Omit<WholeProduct, 'operator'>>();
  const tryColumns = (operator: Operator): void => {
    const { index } = operator;
    if (division.operators.has(index)) return;
    const factor = columnsOf(operator, divided);
    if (factor === undefined) return;
    const tried: Omit<DividedFactor, 'factor'>[] = fusedProducts
      .filter((within) => factor.size % (within * ways) === 0)
      .map((within) => ({ within }));
    for (let each = tried.shift(); each !== undefined; each = tried.shift()) {
      const followed = followSplit(divided, rules, { operator: index, factor, ...each }, division);
      if (followed.kind === 'divided') {
        for (const [name, split] of followed.division.values) values.set(name, split);
        for (const [other, own] of followed.division.operators) operators.set(other, own);
        for (const [name, own] of followed.division.regrouped ?? []) regrouped.set(name, own);
        break;
      }
      const barrier = graph.operators[followed.operator];
      const parts = each.parts === undefined && barrier ? partsTakenBy(divided, barrier) : undefined;
      if (parts !== undefined && areParts(parts, factor, ways)) tried.push({ within: 1, parts });
      if (!reasons.has(index))
        reasons.set(index, {
          reason: `${nameOf(barrier)}: ${followed.reason}`,
          barrier: followed.operator,
        });
    }
    if (factor.size % ways !== 0) reasons.set(index, { reason: `${factor.size} does not divide by ${ways}` });
  };
  graph.operators.forEach(tryColumns);
  // A projection of keys that stands before that of queries divides where their attention does.
  if (regrouped.size > 0) graph.operators.forEach(tryColumns);
  // What is kept is what a worker took of what was gathered.
  for (const [name, { shared }] of regrouped) {
    const split = values.get(name);
    if (split !== undefined) values.set(name, { ...split, shared });
  }
  const whole = [...reasons].flatMap(([operator, reason]) =>
    division.operators.has(operator) ? [] : [{ operator, ...reason }],
  );
  return { division, whole };
}

/**
 * A weight may hold one matrix, or several side by side: gate and up, or queries, keys and values. Each worker then has a block
 * of each. Those of several sizes are tried where the graph takes them apart.
 */
const fusedProducts = [1, 2, 3];

/** As reasons name operators. */
export const nameOf = (operator: Operator | undefined): string =>
  operator === undefined ? '' : `${operator.type} \`${operator.name || (operator.outputs[0] ?? '')}\``;

/** The factor that a weight alone gives to the result; of a table that tokens are looked up in, its rows. */
function columnsOf(operator: Operator, { training, factorsOf }: DividedGraph): BoundFactor | undefined {
  const { graph, costing } = training.analysis;
  const { index, inputs } = operator;
  if (costing.auxiliary.shapeArithmetic[index] === true || costing.auxiliary.storedLayout[index] === true)
    return undefined;
  const roleOf = (name: string | undefined) => graph.values.get(name ?? '')?.role;
  const isOfWeight = (tensor: number): boolean =>
    isWeight(roleOf(inputs[tensor])) || costing.gradients.isStored(inputs[tensor] ?? '');
  const cost = training.costs[index];
  if (cost?.kind !== 'known' || !inputs.some((_, tensor) => isOfWeight(tensor))) return undefined;
  if (hasTrait(operator, 'looks-up') && readsTokens(operator, training))
    return factorsOf(index).find(({ outputs }) => outputs.length === 0);
  if (cost.class !== 'matmul' && cost.class !== 'convolution') return undefined;
  return factorsOf(index).find(
    (factor) =>
      factor.outputs.length > 0 &&
      factor.inputs.length > 0 &&
      factor.inputs.every(({ tensor }) => isOfWeight(tensor)),
  );
}

/** Whether what is looked up are tokens that the model is given; positions are the same in each step. */
function readsTokens(operator: Operator, { analysis }: DividedGraph['training']): boolean {
  const { values, operators } = analysis.graph;
  let name: string | undefined = operator.inputs[1];
  for (let steps = 0; name !== undefined && steps < mostSteps; steps += 1) {
    const value = values.get(name);
    if (value === undefined || value.role === 'input') return value !== undefined;
    name = value.producer === undefined ? undefined : operators[value.producer]?.inputs[0];
  }
  return false;
}

/** Casts, clips and reshapes between the tokens and the table. */
const mostSteps = 8;
