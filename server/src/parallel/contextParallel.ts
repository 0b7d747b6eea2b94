/**
 * Context parallelism of any graph: every tensor is split along the sequence, every operator computes the positions it has.
 *
 * The split starts at the tokens and goes through the graph in its order. Of a product of two split tensors the first is
 * divided along its positions, as queries are; the other is read whole, as keys and values are. All-to-all divides the
 * operators of attention by heads instead. What computes over all positions stays whole on each worker, and is listed.
 * Sources: Liu et al., arXiv:2310.01889, section 3; Jacobs et al., arXiv:2309.14509, section 3.1.
 */

import type { ModelAnalysis } from '../analysis/modelAnalysis.ts';
import { isKnownShape, isWeight, type Operator } from '../model/graph.ts';
import type { ContextExchange } from '../model/scenario.ts';
import { hasTrait, inputOf } from '../operators/operatorFacts.ts';
import { coresOf } from './attentionCores.ts';
import type { DividedGraph } from './boundMap.ts';
import { divideHeads, isReadOutside } from './divideHeads.ts';
import type { AxisDivision, Split } from './division.ts';
import { PositionSplit } from './positionSplit.ts';
import type { WholeProduct } from './tensorParallel.ts';

/** Operators that together are one attention, and how it meets other positions: by heads where heads divide. */
export interface AttentionCore {
  readonly operators: readonly number[];
  readonly exchange: ContextExchange;
}

export interface ContextParallel {
  readonly division: AxisDivision;
  readonly cores: readonly AttentionCore[];
  /** Work that each worker does for the whole sequence. */
  readonly whole: readonly WholeProduct[];
}

/** `tensor`: what is divided over another axis already, whose workers divide heads and positions, too. */
export function divideContext(
  divided: DividedGraph,
  { ways, exchange }: { readonly ways: number; readonly exchange: ContextExchange },
  tensor: AxisDivision,
): ContextParallel {
  const { training } = divided;
  const { graph } = training.analysis;
  const split = new PositionSplit(divided, ways, tensor);
  for (const name of sequencesOf(training.analysis)) {
    const size = training.tensors.get(name)?.dimensions[1] ?? 1;
    if (size % ways === 0) split.values.set(name, { axis: 1, outer: 1 });
  }
  const whole = graph.operators.flatMap((operator): readonly WholeProduct[] => {
    const read = splitReads(operator, split);
    if (read.length === 0 || divideAlong(read, operator, split) || !computes(divided, operator.index))
      return [];
    return [{ operator: operator.index, reason: whyWhole(operator, read, divided, ways) }];
  });
  const cores = coresOf(training.analysis).flatMap((core): readonly AttentionCore[] => {
    if (!core.some((index) => split.operators.has(index))) return [];
    const meets = exchange === 'all-to-all' && !exchangeHeads(core, divided, split) ? 'all-gather' : exchange;
    return [{ operators: core, exchange: meets }];
  });
  const { values, operators } = split;
  return { division: { axis: 'context', ways, division: { values, operators } }, cores, whole };
}

/** The split tensors that an operator reads, by their places; none where it is divided already or stays as it is. */
const splitReads = (operator: Operator, split: PositionSplit): readonly (readonly [number, Split])[] =>
  split.isAsFile(operator.index) || split.operators.has(operator.index)
    ? []
    : operator.inputs.flatMap((name, tensor): readonly (readonly [number, Split])[] => {
        const place = inputOf(operator, tensor)?.role === 'shape' ? undefined : split.values.get(name);
        return place === undefined ? [] : [[tensor, place]];
      });

/** Divides an operator along the first of its split tensors that it can be divided along; whether there is one. */
function divideAlong(
  read: readonly (readonly [number, Split])[],
  operator: Operator,
  split: PositionSplit,
): boolean {
  for (const [tensor, place] of read) {
    const match = split.matchOf(operator, { side: 'inputs', tensor }, place);
    if (match === undefined) continue;
    split.divide(operator, match);
    return true;
  }
  return false;
}

/** Divides attention by heads in the place of positions; false where its heads do not divide. */
function exchangeHeads(core: readonly number[], divided: DividedGraph, split: PositionSplit): boolean {
  const byHeads = divideHeads(divided, core, split.waysOf);
  if (byHeads === undefined) return false;
  const { graph } = divided.training.analysis;
  for (const index of core) {
    split.operators.delete(index);
    for (const name of graph.operators[index]?.outputs ?? [])
      if (!isReadOutside(graph, name, core)) split.values.delete(name);
  }
  for (const [index, factor] of byHeads.operators) split.operators.set(index, factor);
  for (const [name, place] of byHeads.values) split.values.set(name, place);
  return true;
}

/** Inputs [batch, sequence] that pick rows of a table, or [batch, sequence, features]. */
export function sequencesOf({ graph, costing }: ModelAnalysis): readonly string[] {
  const isWeightValue = (name: string): boolean =>
    isWeight(graph.values.get(name)?.role) || costing.gradients.isStored(name);
  const picking = new Set<string>();
  for (const operator of graph.operators) {
    const [table = '', indices] = operator.inputs;
    if (!hasTrait(operator, 'looks-up') || !isWeightValue(table)) continue;
    let name = indices;
    for (let steps = 0; name !== undefined && steps < mostSteps; steps += 1) {
      const value = graph.values.get(name);
      if (value?.role === 'input') picking.add(name);
      name = value?.producer === undefined ? undefined : graph.operators[value.producer]?.inputs[0];
    }
  }
  return graph.inputs.filter((name) => {
    const type = graph.values.get(name)?.type;
    if (type?.kind !== 'tensor' || !isKnownShape(type.shape)) return false;
    const rank = type.shape.length;
    return (picking.has(name) && rank === 2) || (rank === 3 && type.elementType.includes('float'));
  });
}

/** Casts, clips and reshapes between the tokens and the table. */
const mostSteps = 8;

const computes = ({ training }: DividedGraph, index: number): boolean => {
  const cost = training.costs[index];
  return cost?.kind === 'known' && cost.forward.flops > 0;
};

/** Why an operator reads the whole of what is split. */
function whyWhole(
  operator: Operator,
  read: readonly (readonly [number, Split])[],
  { factorsOf }: DividedGraph,
  ways: number,
): string {
  for (const [tensor, { axis }] of read) {
    const factor = factorsOf(operator.index).find(({ inputs }) =>
      inputs.some((place) => place.tensor === tensor && place.axis === axis),
    );
    if (factor?.coupled !== undefined) return factor.coupled;
    if (factor?.outputs.length === 0) return `it needs all ${factor.size} positions for each result`;
    if (factor !== undefined) return `its ${factor.size} of axis ${axis} do not divide by ${ways}`;
  }
  return 'it computes over all positions';
}
