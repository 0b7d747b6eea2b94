/** The training graph of one worker: operators of the shapes it computes, tensors as it holds them. */

import type { Parameter, TrainingGraph } from '../analysis/modelAnalysis.ts';
import { opsetOf } from '../analysis/opsetOf.ts';
import { entryAt } from '../model/at.ts';
import type { Attribute } from '../model/attribute.ts';
import { foundEntries } from '../model/foundEntries.ts';
import type { Graph, Operator } from '../model/graph.ts';
import { makeCostContext } from '../operators/context.ts';
import type { BoundTensor, OperatorCost, SavedTensor } from '../operators/definition.ts';
import { type BoundFactor, type BoundPlace, type DividedGraph, definitionOf } from './boundMap.ts';
import { type AxisDivision, type DividedFactor, shareOf } from './division.ts';

/** `gathered`: split values that are kept as operators read them whole over an axis, with the first that reads each. */
export interface GatheredValues {
  readonly axis: AxisDivision['axis'];
  readonly first: ReadonlyMap<string, number>;
}

export function workerTraining(
  divided: DividedGraph,
  axes: readonly AxisDivision[],
  gathered: GatheredValues,
  imbalances: Imbalances = new Map(),
): TrainingGraph {
  const { training } = divided;
  const { folded: _, ...analysis } = training.analysis;
  const { shapeArithmetic, storedLayout } = analysis.costing.auxiliary;
  const others = axes.filter(({ axis }) => axis !== gathered.axis);
  const gathers = new Set(gathered.first.values());
  const known = new Map<string, OperatorCost>();
  const costs = training.costs.map((whole, index) => {
    const operator = analysis.graph.operators[index];
    const parts = partsOf(axes, index);
    if (operator === undefined || parts.length === 0 || whole.kind === 'unknown') return whole;
    // What launches nothing launches nothing for a block either.
    if (shapeArithmetic[index] === true || storedLayout[index] === true) return whole;
    // Operators that cost the same whole and are divided alike cost the same: kernels are found once for each cost.
    const group = analysis.costing.groups[index];
    const key =
      group === undefined ? undefined : `${group} ${gathers.has(index)} ${JSON.stringify(sharesOf(parts))}`;
    const before = key === undefined ? undefined : known.get(key);
    if (before !== undefined) return before;
    const elementsOf = (name: string): number => elementsOver(divided, others, name);
    const block = keptAsRead(costOfBlock(operator, parts, divided), operator, elementsOf, gathered.first);
    const cost = ofBusiest(block, imbalances.get(index));
    if (key !== undefined && cost.kind !== 'unknown') known.set(key, cost);
    return cost;
  });
  const { tensors } = training;
  const blocks = foundEntries(
    (name) =>
      axes.reduce((tensor, own) => {
        const split = own.division.values.get(name);
        return tensor === undefined || split === undefined
          ? tensor
          : blockOf(tensor, split.axis, own, split.shared);
      }, tensors.get(name)),
    () => tensors.keys(),
  );
  const held = (parameter: Parameter): Parameter => {
    const ways = axes.reduce((product, own) => {
      const split = own.division.values.get(parameter.name);
      return split === undefined ? product : (product * own.ways) / (split.shared ?? 1);
    }, 1);
    const experts = axes.find((own) => own.axis === 'expert' && own.division.values.has(parameter.name));
    return ways === 1
      ? parameter
      : {
          ...parameter,
          elements: parameter.elements / ways,
          ...(experts === undefined ? {} : { expertWays: experts.overCopies ?? experts.ways }),
        };
  };
  return {
    analysis: {
      ...analysis,
      parameters: analysis.parameters.map(held),
      frozen: analysis.frozen.map(held),
    },
    batch: training.batch,
    costs,
    tensors: blocks,
    requiresGradient: training.requiresGradient,
  };
}

/** Elements that a worker has of a value, where only these axes divide it. */
export function elementsOver(
  { training }: DividedGraph,
  axes: readonly AxisDivision[],
  name: string,
): number {
  const { elements } = entryAt(training.tensors, name);
  return axes.reduce((left, own) => {
    const split = own.division.values.get(name);
    return split === undefined ? left : shareOf(left, own, split.shared);
  }, elements);
}

/** A factor of an operator, and over how many workers it is divided. */
interface DividedPart extends Pick<AxisDivision, 'ways' | 'joins'> {
  readonly factor: BoundFactor;
  readonly within: number;
  readonly shared?: DividedFactor['shared'];
}

const partsOf = (axes: readonly AxisDivision[], index: number): readonly DividedPart[] =>
  axes.flatMap(({ ways, joins, division }) => {
    const own = division.operators.get(index);
    return own === undefined ? [] : [{ ...own, ways, ...(joins === undefined ? {} : { joins }) }];
  });

type Share = Pick<AxisDivision, 'ways' | 'joins'>;

const blockOf = (tensor: BoundTensor, axis: number, share: Share, shared?: number): BoundTensor => ({
  elementType: tensor.elementType,
  dimensions: tensor.dimensions.map((size, each) => (each === axis ? shareOf(size, share, shared) : size)),
  elements: shareOf(tensor.elements, share, shared),
});

/** By operator that is a mixture of experts: rows of the busiest worker over the mean. */
export type Imbalances = ReadonlyMap<number, number>;

/**
 * A worker keeps rows of its experts as one GPU keeps those of all: as many, from other tokens, where experts are chosen equally
 * often. The busiest has more.
 */
function ofBusiest(cost: OperatorCost, imbalance: number | undefined): OperatorCost {
  if (cost.kind === 'unknown' || imbalance === undefined) return cost;
  return {
    ...cost,
    saved: cost.saved.map(
      (kept): SavedTensor =>
        kept.kind === 'extra'
          ? {
              ...kept,
              traffic: {
                float32Elements: kept.traffic.float32Elements * imbalance,
                fixedBytes: kept.traffic.fixedBytes * imbalance,
              },
            }
          : kept,
    ),
  };
}

/** The first that reads a gathered tensor keeps it for all that do. */
function keptAsRead(
  cost: OperatorCost,
  { index, inputs }: Operator,
  elementsOf: (name: string) => number,
  gathered: ReadonlyMap<string, number>,
): OperatorCost {
  if (cost.kind === 'unknown' || !inputs.some((name) => gathered.has(name))) return cost;
  const saved = cost.saved.flatMap((kept): readonly SavedTensor[] => {
    const name = kept.kind === 'input' ? inputs[kept.index] : undefined;
    const first = name === undefined ? undefined : gathered.get(name);
    if (name === undefined || first === undefined) return [kept];
    if (first !== index) return [];
    const traffic = { float32Elements: elementsOf(name), fixedBytes: 0 };
    return [{ kind: 'extra', name: 'gathered', traffic }];
  });
  return { ...cost, saved };
}

const sharesOf = (parts: readonly DividedPart[]) =>
  parts.map(({ factor, within, ways, joins, shared }) => [
    within,
    ways,
    joins,
    shared,
    factor.inputs,
    factor.outputs,
    factor.classes,
  ]);

/** The cost of an operator on blocks of its tensors. */
function costOfBlock(
  operator: Operator,
  parts: readonly DividedPart[],
  { training, contents }: DividedGraph,
): OperatorCost {
  const definition = definitionOf(operator, training);
  if (definition === undefined) return { kind: 'unknown', reason: 'it has no definition' };
  const { tensors, analysis } = training;
  const blocks = (names: readonly string[], placesOf: (factor: BoundFactor) => readonly BoundPlace[]) =>
    names.map((name, tensor) => {
      let block = tensors.get(name);
      for (const part of parts) {
        const place = placesOf(part.factor).find((each) => each.tensor === tensor);
        if (block !== undefined && place !== undefined)
          block = blockOf(block, place.axis, part, place.shared ?? part.shared);
      }
      return block;
    });
  const { gradientOf } = analysis.costing.gradients;
  const cost = definition.cost(
    makeCostContext({
      opset: operator.opset ?? opsetOf(analysis.graph.operatorSets, operator.domain),
      inputs: blocks(operator.inputs, (factor) => factor.inputs),
      hasInput: (index) => (operator.inputs[index] ?? '') !== '',
      outputs: blocks(operator.outputs, (factor) => factor.outputs),
      contents: operator.inputs.map((name, input) =>
        contents(name)?.map((size, element) =>
          parts.reduce((left, part) => {
            const stated = part.factor.sizes?.find(
              (each) => each.kind === 'content' && each.input === input && each.element === element,
            );
            return stated === undefined ? left : shareOf(left, part, stated.shared ?? part.shared);
          }, size),
        ),
      ),
      gradients: operator.inputs.map((_, index) =>
        training.requiresGradient.size === 0 ? 'none' : gradientOf(operator, index),
      ),
      attributes: parts.reduce(
        (attributes, part) => dividedAttributes(attributes, part.factor, part),
        operator.attributes,
      ),
      training: training.requiresGradient.size > 0,
    }),
  );
  return cost.kind === 'known' && parts.some(({ factor }) => factor.classes === true)
    ? { ...cost, dividesClasses: true }
    : cost;
}

function dividedAttributes(
  before: Operator['attributes'],
  { sizes = [] }: BoundFactor,
  share: DividedPart,
): Operator['attributes'] {
  const stated = sizes.flatMap((size) => (size.kind === 'attribute' ? [size] : []));
  if (stated.length === 0) return before;
  const attributes = new Map(before);
  for (const { name, element, shared = share.shared } of stated) {
    const attribute = attributes.get(name);
    const divided = attribute && dividedAttribute(attribute, element, (size) => shareOf(size, share, shared));
    if (divided !== undefined) attributes.set(name, divided);
  }
  return attributes;
}

function dividedAttribute(
  attribute: Attribute<Graph>,
  element: number | undefined,
  part: (size: number) => number,
): Attribute<Graph> {
  if (attribute.kind === 'int') return { ...attribute, value: part(attribute.value) };
  if (attribute.kind !== 'ints' || element === undefined) return attribute;
  return {
    ...attribute,
    value: attribute.value.map((size, each) => (each === element ? part(size) : size)),
  };
}
