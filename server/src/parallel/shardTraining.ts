/** The training graph of one worker of tensor parallelism: operators of the shapes it computes, tensors as it holds them. */

import { opsetOf } from '../analysis/inferGraph.ts';
import type { Parameter, TrainingGraph } from '../analysis/modelAnalysis.ts';
import type { Attribute } from '../model/attribute.ts';
import type { Bindings } from '../model/dimension.ts';
import type { Graph, Operator } from '../model/graph.ts';
import { memoizeRecent } from '../model/memoizeRecent.ts';
import { isSameContent } from '../model/sameContent.ts';
import { makeCostContext } from '../operators/context.ts';
import type { BoundTensor, OperatorCost, SavedTensor } from '../operators/definition.ts';
import { type BoundPlace, type DividedGraph, definitionOf, dividedGraph } from './boundMap.ts';
import type { DividedFactor, Division } from './division.ts';
import type { DividedTraining, ShardedTraining } from './shardedTraining.ts';
import { foldedTraining } from './stageTraining.ts';
import { tensorTraffic } from './tensorCollectives.ts';
import { divideTensors } from './tensorParallel.ts';
import { divideTokens } from './tokenParallel.ts';
import { unfoldSharded } from './unfoldSharded.ts';

export interface TensorDegree {
  readonly ways: number;
  /** Split along the sequence between the pairs. */
  readonly sequence: boolean;
  /** What a product reads whole is kept for backward so, and not gathered again. */
  readonly keepsGathered: boolean;
}

/**
 * `bindings` are those the graph was bound with. One way gives the graph as it is. The same is given for the same again, so that
 * what is found of it can be kept with it.
 */
export const shardTraining = (
  training: TrainingGraph,
  bindings: Bindings,
  degree: TensorDegree,
): ShardedTraining => shardedRecently(training, { bindings, degree });

const shardedRecently = memoizeRecent(
  (training: TrainingGraph, { bindings, degree }: ShardingQuestion): ShardedTraining => {
    const whole = foldedTraining(training, 'whole');
    if (degree.ways === 1) return undivided(whole);
    const { folded } = whole;
    const short = folded && divideTraining(folded, bindings, degree);
    return (short && unfoldSharded(whole, short)) ?? divideTraining(training, bindings, degree);
  },
  isSameContent,
  // One, two, four and eight ways.
  4,
);

interface ShardingQuestion {
  readonly bindings: Bindings;
  readonly degree: TensorDegree;
}

const undivided = (training: TrainingGraph): ShardedTraining => ({
  training,
  collectives: [],
  partialGradients: new Set(),
  whole: [],
});

function divideTraining(
  training: TrainingGraph,
  bindings: Bindings,
  { ways, sequence, keepsGathered }: TensorDegree,
): DividedTraining {
  const divided = dividedGraph(training, bindings);
  const { division: pairs, whole } = divideTensors(divided, ways);
  const division = sequence ? divideTokens(divided, ways, pairs) : pairs;
  const { gathered, ...traffic } = tensorTraffic(divided, division, keepsGathered);
  return {
    training: ofOneWorker(divided, division, ways, keepsGathered ? gathered : new Map()),
    ...traffic,
    whole,
    division,
  };
}

/** `gathered`: what is kept as operators read it whole. */
function ofOneWorker(
  divided: DividedGraph,
  { values, operators }: Division,
  ways: number,
  gathered: ReadonlyMap<string, number>,
): TrainingGraph {
  const { training } = divided;
  const { folded: _, ...analysis } = training.analysis;
  const { shapeArithmetic, storedLayout } = analysis.costing.auxiliary;
  const costs = training.costs.map((cost, index) => {
    const operator = analysis.graph.operators[index];
    const own = operators.get(index);
    if (operator === undefined || own === undefined || cost.kind === 'unknown') return cost;
    // What launches nothing launches nothing for a block either.
    if (shapeArithmetic[index] === true || storedLayout[index] === true) return cost;
    return keptAsRead(costOfBlock(operator, own, divided, ways), operator, training.tensors, gathered);
  });
  const tensors = new Map(training.tensors);
  for (const [name, { axis }] of values) {
    const tensor = tensors.get(name);
    if (tensor !== undefined) tensors.set(name, blockOf(tensor, axis, ways));
  }
  const held = (parameter: Parameter): Parameter =>
    values.has(parameter.name) ? { ...parameter, elements: parameter.elements / ways } : parameter;
  return {
    analysis: {
      ...analysis,
      parameters: analysis.parameters.map(held),
      frozen: analysis.frozen.map(held),
    },
    batch: training.batch,
    costs: sharedCosts(costs, divided, operators, gathered),
    tensors,
    requiresGradient: training.requiresGradient,
  };
}

const blockOf = (tensor: BoundTensor, axis: number, ways: number): BoundTensor => ({
  elementType: tensor.elementType,
  dimensions: tensor.dimensions.map((size, each) => (each === axis ? size / ways : size)),
  elements: tensor.elements / ways,
});

/** The first that reads a gathered tensor keeps it for all that do. */
function keptAsRead(
  cost: OperatorCost,
  { index, inputs }: Operator,
  tensors: TrainingGraph['tensors'],
  gathered: ReadonlyMap<string, number>,
): OperatorCost {
  if (cost.kind === 'unknown' || !inputs.some((name) => gathered.has(name))) return cost;
  const saved = cost.saved.flatMap((kept): readonly SavedTensor[] => {
    const name = kept.kind === 'input' ? inputs[kept.index] : undefined;
    const first = name === undefined ? undefined : gathered.get(name);
    if (name === undefined || first === undefined) return [kept];
    const elements = tensors.get(name)?.elements;
    if (first !== index || elements === undefined) return [];
    return [{ kind: 'extra', name: 'gathered', traffic: { float32Elements: elements, fixedBytes: 0 } }];
  });
  return { ...cost, saved };
}

/** Operators that cost the same whole and are divided alike cost the same: kernels are found once for each cost. */
function sharedCosts(
  costs: readonly OperatorCost[],
  { training }: DividedGraph,
  operators: Division['operators'],
  gathered: ReadonlyMap<string, number>,
): readonly OperatorCost[] {
  const gathers = new Set(gathered.values());
  const known = new Map<string, OperatorCost>();
  return costs.map((cost, index) => {
    const group = training.analysis.costing.groups[index];
    const own = operators.get(index);
    if (group === undefined || own === undefined || cost.kind === 'unknown') return cost;
    const key = `${group} ${gathers.has(index)} ${own.within} ${JSON.stringify(own.factor.inputs)} ${JSON.stringify(own.factor.outputs)}`;
    const before = known.get(key) ?? cost;
    known.set(key, before);
    return before;
  });
}

/** The cost of an operator on blocks of its tensors. */
function costOfBlock(
  operator: Operator,
  { factor }: DividedFactor,
  { training, contents }: DividedGraph,
  ways: number,
): OperatorCost {
  const definition = definitionOf(operator, training);
  if (definition === undefined) return { kind: 'unknown', reason: 'it has no definition' };
  const { tensors, analysis } = training;
  const blocks = (names: readonly string[], places: readonly BoundPlace[]) =>
    names.map((name, tensor) => {
      const whole = tensors.get(name);
      const place = places.find((each) => each.tensor === tensor);
      return whole === undefined || place === undefined ? whole : blockOf(whole, place.axis, ways);
    });
  const { gradientOf } = analysis.costing.gradients;
  return definition.cost(
    makeCostContext({
      opset: operator.opset ?? opsetOf(analysis.graph.operatorSets, operator.domain),
      inputs: blocks(operator.inputs, factor.inputs),
      hasInput: (index) => (operator.inputs[index] ?? '') !== '',
      outputs: blocks(operator.outputs, factor.outputs),
      contents: operator.inputs.map((name, input) => {
        const own = contents(name);
        const stated = (factor.sizes ?? []).filter((size) => size.kind === 'content' && size.input === input);
        return own?.map((size, element) =>
          stated.some((each) => each.kind === 'content' && each.element === element) ? size / ways : size,
        );
      }),
      gradients: operator.inputs.map((_, index) =>
        training.requiresGradient.size === 0 ? 'none' : gradientOf(operator, index),
      ),
      attributes: statedAttributes(operator, factor.sizes ?? [], ways),
      training: training.requiresGradient.size > 0,
    }),
  );
}

function statedAttributes(
  operator: Operator,
  sizes: NonNullable<DividedFactor['factor']['sizes']>,
  ways: number,
): Operator['attributes'] {
  const stated = sizes.flatMap((size) => (size.kind === 'attribute' ? [size] : []));
  if (stated.length === 0) return operator.attributes;
  const attributes = new Map(operator.attributes);
  for (const { name, element } of stated) {
    const attribute = attributes.get(name);
    const divided = attribute && dividedAttribute(attribute, element, ways);
    if (divided !== undefined) attributes.set(name, divided);
  }
  return attributes;
}

function dividedAttribute(
  attribute: Attribute<Graph>,
  element: number | undefined,
  ways: number,
): Attribute<Graph> {
  if (attribute.kind === 'int') return { ...attribute, value: attribute.value / ways };
  if (attribute.kind !== 'ints' || element === undefined) return attribute;
  return {
    ...attribute,
    value: attribute.value.map((size, each) => (each === element ? size / ways : size)),
  };
}
