/** The training graph: an analysis with its dimensions bound and every operator costed. Knows no hardware. */

import { type Bindings, boundOf, type Dimension, evaluateDimension, isUnknown } from '../model/dimension.ts';
import { foundEntries } from '../model/foundEntries.ts';
import { type Graph, isKnownShape, type Operator, type Value, type ValueType } from '../model/graph.ts';
import { memoizeRecent } from '../model/memoizeRecent.ts';
import { isSameContent } from '../model/sameContent.ts';
import type { Mode } from '../model/scenario.ts';
import { makeCostContext } from '../operators/context.ts';
import {
  type BoundTensor,
  type KnownCost,
  noWork,
  type OperatorCost,
  type UnknownCost,
} from '../operators/definition.ts';
import { findOperator } from '../operators/registry.ts';
import { whyUndefined } from '../operators/unknownOperators.ts';
import type { ModelAnalysis, TrainingGraph } from './modelAnalysis.ts';
import { opsetOf } from './opsetOf.ts';
import { type CostingPlan, planCosting, withoutGradients } from './planCosting.ts';
import { isSettled, unfoldList } from './repetition/foldGraph.ts';
import { sumOfCosts } from './sumOfCosts.ts';

/**
 * Binds the symbols of an analysis and costs every operator.
 *
 * A symbol without a value leaves the tensors that depend on it out, and the operators that need them unknown.
 * The batch is the value of the batch symbol, what the model fixes, or 1. In inference nothing receives a
 * gradient. The same is given for the same again, so that what is found of it can be kept with it.
 */
export const bindTrainingGraph = (
  analysis: ModelAnalysis,
  bindings: ReadonlyMap<string, number>,
  mode: Mode,
): TrainingGraph => boundRecently(analysis, { bindings, mode });

const boundRecently = memoizeRecent(
  (analysis: ModelAnalysis, { bindings, mode }: Binding) => bindAnalysis(analysis, bindings, mode),
  isSameContent,
  // Micro-batches of one to thirty-two samples, which a search for layouts comes back to.
  6,
);

interface Binding {
  readonly bindings: ReadonlyMap<string, number>;
  readonly mode: Mode;
}

/** The same, not kept: for a try at other bindings, which is not to push out what is asked for again. */
export function bindAnalysis(
  analysis: ModelAnalysis,
  bindings: ReadonlyMap<string, number>,
  mode: Mode,
): TrainingGraph {
  const { folded } = analysis;
  if (folded !== undefined) {
    const training = bindAnalysis(folded.analysis, bindings, mode);
    const whole = unfoldTraining(analysis, training, bindings, mode);
    if (whole !== undefined) return whole;
  }
  const plan = mode === 'training' ? analysis.costing : withoutGradients(analysis.costing);
  const bound = bindGraph(analysis.graph, plan, {
    bindings,
    mode,
    tensor: () => undefined,
    requires: () => false,
    depth: 0,
  });
  const { batchSymbol, fixedBatch } = analysis;
  const batch = (batchSymbol === undefined ? undefined : bindings.get(batchSymbol)) ?? fixedBatch ?? 1;
  return {
    analysis,
    batch,
    costs: bound.costs,
    tensors: bindTensors(analysis.graph, bindings),
    requiresGradient: plan.gradients.requires,
  };
}

/**
 * The training graph of a whole analysis from that of the folded one. `undefined` where costs tell neighbouring
 * blocks apart, as the reason of an unknown one does that names a value of its very block.
 */
function unfoldTraining(
  analysis: ModelAnalysis,
  folded: TrainingGraph,
  bindings: ReadonlyMap<string, number>,
  mode: Mode,
): TrainingGraph | undefined {
  const layout = analysis.folded?.layout;
  if (layout === undefined) return undefined;
  const { costs } = folded;
  const areSame = (index: number, other: number): boolean => {
    const [left, right] = [costs[index], costs[other]];
    return left !== undefined && right !== undefined && (left === right || isSameCost(left, right));
  };
  if (!isSettled(layout, areSame)) return undefined;
  const gradients = () =>
    (mode === 'training' ? analysis.costing : withoutGradients(analysis.costing)).gradients;
  return {
    analysis,
    batch: folded.batch,
    costs: unfoldList(layout, costs),
    tensors: bindTensors(analysis.graph, bindings),
    get requiresGradient() {
      return gradients().requires;
    },
    folded,
  };
}

const isSameCost = (left: OperatorCost, right: OperatorCost): boolean =>
  JSON.stringify(left) === JSON.stringify(right);

interface BindingSurroundings {
  readonly bindings: Bindings;
  readonly mode: Mode;
  /** A tensor of the graph around a subgraph. */
  readonly tensor: (name: string) => BoundTensor | undefined;
  /** Whether a value of the graph around a subgraph receives a gradient. */
  readonly requires: (name: string) => boolean;
  readonly depth: number;
}

interface BoundGraph {
  readonly costs: readonly OperatorCost[];
  readonly tensorOf: (name: string) => BoundTensor | undefined;
}

function bindGraph(graph: Graph, plan: CostingPlan, surroundings: BindingSurroundings): BoundGraph {
  const { bindings, mode } = surroundings;
  const { gradients, groups } = plan;
  const { shapeArithmetic, storedLayout } = plan.auxiliary;
  const ofType = tensorsByType(bindings);
  const contents = boundContents(graph, bindings);
  const tensorOf = (name: string): BoundTensor | undefined => {
    if (name === '') return undefined;
    const value = graph.values.get(name);
    return (value && ofType(value.type)) ?? surroundings.tensor(name);
  };
  const requires = (name: string): boolean =>
    gradients.requires.has(name) || (!graph.values.has(name) && surroundings.requires(name));

  const subgraphCost = (operator: Operator, attributeName: string): KnownCost | undefined => {
    const attribute = operator.attributes.get(attributeName);
    if (attribute?.kind !== 'graph' || surroundings.depth >= deepestNesting) return undefined;
    if (attribute.value.unread) return undefined;
    const trained = planCosting(attribute.value, undefined, {
      requires,
      stored: gradients.isStored,
      inputsRequire: operator.inputs.some(requires),
    });
    const inner = bindGraph(attribute.value, mode === 'training' ? trained : withoutGradients(trained), {
      bindings,
      mode,
      tensor: tensorOf,
      requires,
      depth: surroundings.depth + 1,
    });
    return sumOfCosts(attribute.value, inner.costs, inner.tensorOf);
  };

  const costOf = (operator: Operator): OperatorCost => {
    if (shapeArithmetic[operator.index]) return shapeCost;
    if (storedLayout[operator.index] || operator.isPromotion) return viewCost;
    if (operator.contradiction !== undefined) return { kind: 'unknown', reason: operator.contradiction };
    const opset = operator.opset ?? opsetOf(graph.operatorSets, operator.domain);
    const definition = findOperator(operator.domain, operator.type, opset);
    if (definition === undefined) {
      return { kind: 'unknown', reason: whyUndefined(operator.domain, operator.type) };
    }
    if (operator.inputs.length > mostInputs) {
      return {
        kind: 'unknown',
        reason: `it takes ${operator.inputs.length} inputs, more than ${mostInputs}`,
      };
    }
    const costWith = (sizeOf: (name: string) => BoundTensor | undefined): OperatorCost =>
      definition.cost(
        makeCostContext({
          opset,
          inputs: operator.inputs.map(sizeOf),
          hasInput: (index) => (operator.inputs[index] ?? '') !== '',
          outputs: operator.outputs.map(sizeOf),
          contents: operator.inputs.map(contents),
          gradients: operator.inputs.map((_, index) => gradients.gradientOf(operator, index)),
          attributes: operator.attributes,
          training: mode === 'training',
          subgraphCost: (attributeName) => subgraphCost(operator, attributeName),
        }),
      );
    const cost = costWith(tensorOf);
    if (cost.kind === 'known' && !isCountable(cost)) {
      return { kind: 'unknown', reason: pastCounting };
    }
    if (cost.kind === 'known' && !leavesInputsOut(cost, operator, graph, tensorOf)) return cost;
    const unknown = unknownTensor(operator, graph, tensorOf, bindings);
    if (unknown === undefined) return cost;
    const most = (name: string): BoundTensor | undefined =>
      tensorOf(name) ?? largestTensor(graph.values.get(name), bindings);
    const atMost = costWith(most);
    const isBounded =
      atMost.kind === 'known' &&
      isCountable(atMost) &&
      [...operator.inputs, ...operator.outputs].every((name) => name === '' || most(name) !== undefined);
    return isBounded ? { ...unknown, atMost } : unknown;
  };

  const costOfGroup = new Map<number, KnownCost>();
  const costs = graph.operators.map((operator): OperatorCost => {
    const group = groups[operator.index];
    const before = group === undefined ? undefined : costOfGroup.get(group);
    if (before !== undefined) return before;
    const cost = costOf(operator);
    // The reason of an unknown cost may name values of this very operator.
    if (group !== undefined && cost.kind === 'known') costOfGroup.set(group, cost);
    return cost;
  });
  return { costs, tensorOf };
}

/** Cost rules hand inputs on as arguments of a call, which the stack holds only so many of. */
const mostInputs = 10_000;

/** Products of absurd sizes leave the range of numbers. */
const isCountable = ({ forward, backwardData, backwardWeight }: KnownCost): boolean =>
  [forward, backwardData, backwardWeight].every(
    ({ flops, operations, traffic }) =>
      Math.max(flops, operations, traffic.float32Elements, traffic.fixedBytes) <= greatestCount,
  );

/** Sums over a whole model, and over a cluster, still stay finite. */
const greatestCount = 1e100;

/** Subgraphs nested deeper than this are not costed; no exporter makes them, and costing recurses. */
const deepestNesting = 32;

/** Folded at export, or run on the host. */
const shapeCost: KnownCost = {
  kind: 'known',
  class: 'shape',
  forward: noWork,
  backwardData: noWork,
  backwardWeight: noWork,
  saved: [],
};

/** A weight seen in another layout, or a tensor in another type: the kernel is told, and nothing is launched. */
const viewCost: KnownCost = { ...shapeCost, class: 'view' };

/** Tensors by name. The values of a whole graph are made only where somebody asks for one. */
function bindTensors(graph: Graph, bindings: Bindings): ReadonlyMap<string, BoundTensor> {
  const ofType = tensorsByType(bindings);
  return foundEntries(
    (name) => {
      const value = graph.values.get(name);
      return value && ofType(value.type);
    },
    () => graph.values.keys(),
  );
}

/** Values that share their type share their tensor. */
function tensorsByType(bindings: Bindings): (type: ValueType) => BoundTensor | undefined {
  const byType = new Map<ValueType, BoundTensor | undefined>();
  return (type) => {
    let tensor = byType.get(type);
    if (tensor === undefined && !byType.has(type)) {
      tensor = bindTensor(type, bindings);
      byType.set(type, tensor);
    }
    return tensor;
  };
}

/** A tensor at the largest sizes that the data can give it. */
const largestTensor = (value: Value | undefined, bindings: Bindings): BoundTensor | undefined =>
  value && bindTensor(value.type, bindings, boundOf);

function bindTensor(
  type: ValueType,
  bindings: Bindings,
  sizeOf: (dimension: Dimension) => Dimension | undefined = (dimension) => dimension,
): BoundTensor | undefined {
  if (type.kind !== 'tensor' || !isKnownShape(type.shape)) return undefined;
  const dimensions: number[] = [];
  let elements = 1;
  for (const dimension of type.shape) {
    const size = sizeOf(dimension);
    const length = size === undefined || typeof size === 'number' ? size : evaluateDimension(size, bindings);
    if (typeof length !== 'number' || !(length >= 0)) return undefined;
    dimensions.push(length);
    elements *= length;
  }
  // Hundreds of thousands of dimensions multiply to what no number holds.
  if (!Number.isFinite(elements)) return undefined;
  return { elementType: type.elementType, dimensions, elements };
}

/** Contents of small values as numbers, each evaluated once. */
export function boundContents(
  graph: Graph,
  bindings: Bindings,
): (name: string) => readonly number[] | undefined {
  const known = new Map<string, readonly number[] | undefined>();
  return (name) => {
    const content = graph.values.get(name)?.content;
    if (content === undefined) return undefined;
    if (known.has(name)) return known.get(name);
    const numbers: number[] = [];
    for (const element of content.elements) {
      const number = typeof element === 'number' ? element : evaluateDimension(element, bindings);
      if (typeof number === 'number') numbers.push(number);
    }
    const complete = numbers.length === content.elements.length ? numbers : undefined;
    known.set(name, complete);
    return complete;
  };
}

/** Whether a cost that moves data was counted without a tensor that the operator reads, as its size is unknown. */
function leavesInputsOut(
  cost: KnownCost,
  operator: Operator,
  graph: Graph,
  tensorOf: (name: string) => BoundTensor | undefined,
): boolean {
  if (cost.forward.kernels === 0) return false;
  return operator.inputs.some(
    (name) => name !== '' && tensorOf(name) === undefined && graph.values.get(name)?.type.kind === 'tensor',
  );
}

/** The reason why a tensor of the operator could not be bound: more telling than that its rule had no shape. */
function unknownTensor(
  operator: Operator,
  graph: Graph,
  tensorOf: (name: string) => BoundTensor | undefined,
  bindings: Bindings,
): UnknownCost | undefined {
  for (const name of [...operator.inputs, ...operator.outputs]) {
    if (name === '' || tensorOf(name) !== undefined) continue;
    const reason = reasonOf(graph.values.get(name), bindings);
    if (reason !== undefined) return { kind: 'unknown', reason };
  }
  return undefined;
}

const pastCounting = 'its sizes are past what can be counted';

function reasonOf(value: Value | undefined, bindings: Bindings): string | undefined {
  if (value?.type.kind === 'unknown') return value.type.reason;
  if (value?.type.kind !== 'tensor') return undefined;
  if (!isKnownShape(value.type.shape)) return value.type.shape.reason;
  for (const dimension of value.type.shape) {
    const length = evaluateDimension(dimension, bindings);
    if (typeof length !== 'number' && isUnknown(length)) return length.reason;
    if (typeof length === 'number' && length < 0) return `a dimension of \`${value.name}\` is ${length}`;
  }
  return bindTensor(value.type, bindings) === undefined ? pastCounting : undefined;
}
