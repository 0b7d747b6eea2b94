/**
 * Sequence parallelism: between the pairs of tensor parallelism, tensors are split along the sequence over the same workers.
 *
 * Partial sums are scattered along the sequence instead of added up on each worker, and what a pair reads whole is gathered
 * before it. Source: Korthikanti et al., arXiv:2205.05198, section 4.2.2.
 */

import type { BoundFactor, DividedGraph } from './boundMap.ts';
import type { DividedFactor, Division, Split } from './division.ts';
import { matchOf } from './followSplit.ts';

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
    for (const [names, sideOf] of [
      [operator.inputs, (factor: BoundFactor) => factor.inputs],
      [operator.outputs, (factor: BoundFactor) => factor.outputs],
    ] as const) {
      const tensor = names.indexOf(name);
      if (tensor < 0) continue;
      const match = matchOf(divided.factorsOf(index), sideOf, tensor, place, ways);
      if (match === undefined || !keepsRows(match)) return;
      const { factor, within } = match;
      // What is split along another dimension is not split along the sequence, too.
      const agrees = [
        ...factor.inputs.map((own) => [operator.inputs[own.tensor], own] as const),
        ...factor.outputs.map((own) => [operator.outputs[own.tensor], own] as const),
      ].every(([own, { axis, outer }]) => {
        const known = own === undefined ? undefined : values.get(own);
        return known === undefined || (known.axis === axis && known.outer === outer * within);
      });
      if (!agrees) return;
      operators.set(index, match);
      for (const own of factor.outputs)
        split(operator.outputs[own.tensor] ?? '', { axis: own.axis, outer: own.outer * within });
      for (const own of factor.inputs) {
        const input = operator.inputs[own.tensor] ?? '';
        if (graph.values.get(input)?.producer !== undefined)
          split(input, { axis: own.axis, outer: own.outer * within });
      }
      return;
    }
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
