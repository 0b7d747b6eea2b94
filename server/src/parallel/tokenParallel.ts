/**
 * Sequence parallelism: between the pairs of tensor parallelism, tensors are split along the sequence over the same workers.
 *
 * Partial sums are scattered along the sequence instead of added up on each worker, and what a pair reads whole is gathered
 * before it. Source: Korthikanti et al., arXiv:2205.05198, section 4.2.2.
 */

import type { DividedGraph } from './boundMap.ts';
import type { DividedFactor, Division, Split } from './division.ts';
import { agreesWith, blocksOf, matchOf } from './matchFactor.ts';

/** `division` is that of tensor parallelism; what is given has both. */
export function divideTokens(divided: DividedGraph, ways: number, division: Division): Division {
  const { training } = divided;
  const { graph, costing } = training.analysis;
  const values = new Map(division.values);
  const operators = new Map(division.operators);
  const waiting: string[] = [];
  const split = (name: string, place: Split): void => {
    if (name === '' || values.has(name)) return;
    values.set(name, place);
    waiting.push(name);
  };

  /** Divides an operator along what is split of one of its tensors; without a match it reads that tensor whole. */
  const divide = (index: number, name: string, place: Split): void => {
    const operator = graph.operators[index];
    if (operator === undefined || operators.has(index)) return;
    if (costing.auxiliary.shapeArithmetic[index] === true) return;
    const side = operator.inputs.includes(name) ? 'inputs' : 'outputs';
    const tensor = operator[side].indexOf(name);
    const match = matchOf(divided.factorsOf(index), { side, tensor }, place, ways);
    // What is split along another dimension is not split along the sequence, too.
    if (match === undefined || !keepsRows(match) || !agreesWith(values, operator, match)) return;
    operators.set(index, match);
    for (const [own, block] of blocksOf(operator, 'outputs', match)) split(own, block);
    for (const [own, block] of blocksOf(operator, 'inputs', match))
      if (graph.values.get(own)?.producer !== undefined) split(own, block);
  };

  for (const [index, { factor }] of division.operators) {
    const operator = graph.operators[index];
    if (operator === undefined || factor.outputs.length > 0 || factor.classes === true) continue;
    for (const output of factor.partial?.outputs ?? []) {
      const name = operator.outputs[output] ?? '';
      const place = sequenceOf(training.tensors.get(name)?.dimensions, ways);
      if (place !== undefined) split(name, place);
    }
  }
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const value = graph.values.get(name);
    const place = values.get(name);
    if (value === undefined || place === undefined) continue;
    for (const index of value.consumers) divide(index, name, place);
    if (value.producer !== undefined && !operators.has(value.producer)) divide(value.producer, name, place);
  }
  return {
    values: splitAtLast(divided, values, operators),
    operators,
    ...(division.regrouped === undefined ? {} : { regrouped: division.regrouped }),
  };
}

/** Rows that come out as they went in: nothing is contracted, no statistics are shared. */
const keepsRows = ({ factor }: DividedFactor): boolean =>
  factor.coupled === undefined &&
  factor.positions !== true &&
  factor.outputs.length > 0 &&
  factor.classes !== true;

/** The positions of [batch, sequence, …, features]. */
function sequenceOf(dimensions: readonly number[] | undefined, ways: number): Split | undefined {
  if (dimensions === undefined || dimensions.length !== 3) return undefined;
  return (dimensions[1] ?? 1) % ways === 0 ? { axis: 1, outer: 1 } : undefined;
}

/** A value that an undivided operator gives is whole on each worker, whatever reads a block of it. */
function splitAtLast(
  { training }: DividedGraph,
  values: ReadonlyMap<string, Split>,
  operators: ReadonlyMap<number, DividedFactor>,
): ReadonlyMap<string, Split> {
  const { graph } = training.analysis;
  return new Map(
    [...values].filter(([name]) => {
      const producer = graph.values.get(name)?.producer;
      return producer === undefined || operators.has(producer);
    }),
  );
}
