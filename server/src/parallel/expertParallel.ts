/**
 * Expert parallelism: the experts of a mixture are divided over workers that each have tokens of their own.
 *
 * A worker has all rows of its experts, those of the other workers among them: experts are divided, rows are joined, and FLOPs stay.
 * Experts are found in the structure: one operator that is a mixture (`MoE`), or products of rows that a router chose
 * (TopK) with weights [experts, from, to] that lie side by side, and what is computed between them.
 * Sources: Lepikhin et al., arXiv:2006.16668, section 3.1; NVIDIA/Megatron-LM, megatron/core/transformer/moe/README.md.
 */

import type { ModelAnalysis } from '../analysis/modelAnalysis.ts';
import { isKnownShape, isWeight, type Operator } from '../model/graph.ts';
import { memoizeOfObject } from '../model/memoize.ts';
import { isMixture } from '../operators/contrib/mixtureOfExperts.ts';
import type { BoundFactor, DividedGraph } from './boundMap.ts';
import type { AxisDivision, DividedFactor, Split } from './division.ts';

export interface ExpertParallel {
  /** Experts over workers, and the rows of each joined. */
  readonly divisions: readonly AxisDivision[];
  /** Operators that each are a mixture of experts: the router says how many rows a worker gets. */
  readonly mixtures: readonly number[];
  /** Rows that go to the workers of their experts, with the first operator that reads them there. */
  readonly dispatched: ReadonlyMap<string, number>;
  /** Rows that come back, with the operator that gives them. */
  readonly combined: ReadonlyMap<string, number>;
}

/** How many experts each mixture of a model has, where their weights lie side by side. */
export const expertCounts = (analysis: ModelAnalysis): readonly number[] => [
  ...new Set(startsOfExperts(analysis).values()),
];

/** Experts of the operator that rows are dispatched to, by its index. */
const startsOfExperts = memoizeOfObject((analysis: ModelAnalysis): ReadonlyMap<number, number> => {
  const found = new Map<number, number>();
  for (const operator of analysis.graph.operators) {
    const experts = isMixture(operator)
      ? leadingSize(analysis, operator.inputs[2])
      : expertsOfProduct(analysis, operator);
    if (experts !== undefined && experts > 1) found.set(operator.index, experts);
  }
  return found;
});

/** Of a product of chosen rows with the weights of experts. */
function expertsOfProduct(analysis: ModelAnalysis, { type, inputs }: Operator): number | undefined {
  const [rows = '', weights = ''] = inputs;
  if (type !== 'MatMul' || !isStored(analysis, weights) || isStored(analysis, rows)) return undefined;
  return isChosen(analysis, rows) ? leadingSize(analysis, weights) : undefined;
}

/** Of [experts, from, to]. */
function leadingSize({ graph }: ModelAnalysis, name = ''): number | undefined {
  const type = graph.values.get(name)?.type;
  if (type?.kind !== 'tensor' || !isKnownShape(type.shape) || type.shape.length !== 3) return undefined;
  const [experts] = type.shape;
  return typeof experts === 'number' ? experts : undefined;
}

/** Whether rows were picked by what a router chose, before any weight was applied to them. */
function isChosen(analysis: ModelAnalysis, rows: string): boolean {
  const { values, operators } = analysis.graph;
  const waiting = [rows];
  const passed = new Set<string>();
  for (let name = waiting.pop(); name !== undefined && passed.size < mostPassed; name = waiting.pop()) {
    if (passed.has(name)) continue;
    passed.add(name);
    const operator = operators[values.get(name)?.producer ?? -1];
    if (operator === undefined) continue;
    if (operator.type === 'TopK' || operator.type === 'ArgMax') return true;
    if (!operator.inputs.some((own) => isStored(analysis, own))) waiting.push(...operator.inputs);
  }
  return false;
}

/** Between a router and its experts stand a few operators. */
const mostPassed = 64;

const isStored = ({ graph, costing }: ModelAnalysis, name: string): boolean =>
  isWeight(graph.values.get(name)?.role) || costing.gradients.isStored(name);

/** `overCopies`: how many of the `ways` workers add up gradients of other weights with each other. */
export function divideExperts(divided: DividedGraph, ways: number, overCopies = ways): ExpertParallel {
  const { analysis } = divided.training;
  const { graph } = analysis;
  const starts = startsOfExperts(analysis);
  const [experts, rows] = [emptyDivision(), emptyDivision()];
  const mixtures: number[] = [];
  const dispatched = new Map<string, number>();
  const combined = new Map<string, number>();

  const splitWeight = (name: string, place: Split): void => {
    if (experts.values.has(name)) return;
    experts.values.set(name, place);
    const producer = graph.operators[graph.values.get(name)?.producer ?? -1];
    if (producer === undefined) return;
    // What the weight is a layout of is divided with it.
    for (const factor of divided.factorsOf(producer.index)) {
      const isOfPlace = factor.outputs.some(
        ({ axis, outer }) => axis === place.axis && outer === place.outer,
      );
      if (!isOfPlace) continue;
      for (const { tensor, axis, outer } of factor.inputs)
        splitWeight(producer.inputs[tensor] ?? '', { axis, outer });
    }
  };
  const isOfExperts = (name: string, { axis, outer }: Split): boolean => {
    const known = experts.values.get(name);
    return known !== undefined && known.axis === axis && known.outer === outer;
  };

  for (const operator of graph.operators) {
    const { index, inputs, outputs } = operator;
    const factor = isMixture(operator)
      ? divided.factorsOf(index).find((own) => own.experts === true)
      : divided
          .factorsOf(index)
          .find((own) => isFactorOfExperts(operator, own, starts.get(index), isOfExperts, analysis));
    if (factor === undefined || factor.size % ways !== 0) continue;
    const ofRows = isMixture(operator) ? undefined : rowsOf(divided, operator, factor);
    if (!isMixture(operator) && ofRows === undefined) continue;
    experts.operators.set(index, { factor, within: 1 });
    for (const { tensor, axis, outer } of factor.inputs) {
      const name = inputs[tensor] ?? '';
      if (isStored(analysis, name)) splitWeight(name, { axis, outer });
      else if (!experts.values.has(name) && !dispatched.has(name)) dispatched.set(name, index);
    }
    if (ofRows === undefined) {
      mixtures.push(index);
      continue;
    }
    rows.operators.set(index, { factor: ofRows, within: 1 });
    for (const [own, place] of [
      [experts, factor],
      [rows, ofRows],
    ] as const) {
      for (const { tensor, axis, outer } of place.outputs)
        own.values.set(outputs[tensor] ?? '', { axis, outer });
    }
  }
  for (const index of rows.operators.keys()) {
    for (const name of graph.operators[index]?.outputs ?? []) {
      const consumers = graph.values.get(name)?.consumers ?? [];
      const isReadOutside = graph.outputs.includes(name) || consumers.some((own) => !rows.operators.has(own));
      if (isReadOutside) combined.set(name, index);
    }
  }
  return {
    divisions: [
      { axis: 'expert', ways, overCopies, division: experts },
      { axis: 'expert', ways, joins: true, division: rows },
    ],
    mixtures,
    dispatched,
    combined,
  };
}

const emptyDivision = () => ({
  values: new Map<string, Split>(),
  operators: new Map<number, DividedFactor>(),
});

/** All that has experts comes from those of the worker, or is a weight; at the start rows are dispatched instead. */
function isFactorOfExperts(
  { inputs }: Operator,
  { size, inputs: places, outputs, coupled }: BoundFactor,
  start: number | undefined,
  isOfExperts: (name: string, place: Split) => boolean,
  analysis: ModelAnalysis,
): boolean {
  if (outputs.length === 0 || coupled !== undefined) return false;
  const names = places.map((place) => ({ name: inputs[place.tensor] ?? '', place }));
  if (start !== undefined)
    return size === start && names.some(({ name, place }) => place.axis === 0 && isStored(analysis, name));
  return (
    names.some(({ name, place }) => !isStored(analysis, name) && isOfExperts(name, place)) &&
    names.every(({ name, place }) => isStored(analysis, name) || isOfExperts(name, place))
  );
}

/** The rows of each expert: the axis behind that of the experts. */
function rowsOf(
  { factorsOf }: DividedGraph,
  { index }: Operator,
  { outputs: [first] }: BoundFactor,
): BoundFactor | undefined {
  if (first === undefined) return undefined;
  return factorsOf(index).find(
    ({ coupled, outputs }) =>
      coupled === undefined &&
      outputs.some(
        ({ tensor, axis, outer }) => tensor === first.tensor && axis === first.axis + 1 && outer === 1,
      ),
  );
}
