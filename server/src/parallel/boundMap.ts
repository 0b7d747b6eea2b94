/** The dimension map of an operator of a training graph, in numbers. */

import { boundContents } from '../analysis/bindTrainingGraph.ts';
import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import { opsetOf } from '../analysis/opsetOf.ts';
import type { Bindings } from '../model/dimension.ts';
import { evaluateDimension } from '../model/dimension.ts';
import type { Operator, TensorContent, ValueType } from '../model/graph.ts';
import { memoizeRecent } from '../model/memoizeRecent.ts';
import { isSameContent } from '../model/sameContent.ts';
import { makeInferenceContext } from '../operators/context.ts';
import { isMixture } from '../operators/contrib/mixtureOfExperts.ts';
import type { OperatorDefinition } from '../operators/definition.ts';
import type { Factor, PartialOutputs, Place, StatedSize } from '../operators/dimensionMap.ts';
import { hasTrait } from '../operators/operatorFacts.ts';
import { findOperator } from '../operators/registry.ts';

export interface BoundFactor {
  readonly size: number;
  readonly inputs: readonly BoundPlace[];
  readonly outputs: readonly BoundPlace[];
  readonly partial?: PartialOutputs;
  readonly sizes?: readonly BoundSize[];
  readonly coupled?: string;
  /** The classes of a loss: workers exchange three numbers of each row (`vocabularyLoss`). */
  readonly classes?: true;
  /** Positions of a sequence: divided by workers that know which ones they have, and add up a mean over all. */
  readonly positions?: true;
  /** Experts of a mixture: each worker has the weights of some, and rows come from all. */
  readonly experts?: true;
}

export type BoundSize = StatedSize & Pick<BoundPlace, 'shared'>;

export interface BoundPlace {
  readonly tensor: number;
  readonly axis: number;
  readonly outer: number;
  /** How many neighbours have the same block; left out, each has its own. */
  readonly shared?: number;
}

/** What following a division through a graph reads of it. */
export interface DividedGraph {
  readonly training: TrainingGraph;
  readonly contents: (name: string) => readonly number[] | undefined;
  /** Factors of an operator; none where nothing of it can be divided, or its map is unknown. */
  readonly factorsOf: (index: number) => readonly BoundFactor[];
}

/** `bindings` are those the graph was bound with. Factors are found once for all numbers of workers. */
export const dividedGraph = memoizeRecent(
  (training: TrainingGraph, bindings: Bindings): DividedGraph => boundGraph(training, bindings),
  isSameContent,
);

function boundGraph(training: TrainingGraph, bindings: Bindings): DividedGraph {
  const { graph } = training.analysis;
  const contents = boundContents(graph, bindings);
  const known = new Map<number, readonly BoundFactor[]>();
  return {
    training,
    contents,
    factorsOf: (index) => {
      const found = known.get(index);
      if (found !== undefined) return found;
      const operator = graph.operators[index];
      const factors = operator === undefined ? [] : factorsOfOperator(operator, training, bindings, contents);
      known.set(index, factors);
      return factors;
    },
  };
}

/** The definition of an operator of a graph. */
export function definitionOf(
  operator: Operator,
  { analysis }: TrainingGraph,
): OperatorDefinition | undefined {
  const opset = operator.opset ?? opsetOf(analysis.graph.operatorSets, operator.domain);
  return findOperator(operator.domain, operator.type, opset);
}

function factorsOfOperator(
  operator: Operator,
  training: TrainingGraph,
  bindings: Bindings,
  contents: DividedGraph['contents'],
): readonly BoundFactor[] {
  const { graph } = training.analysis;
  const definition = definitionOf(operator, training);
  if (definition === undefined) return [];
  const typeOf = (name: string): ValueType | undefined => {
    const tensor = training.tensors.get(name);
    return tensor === undefined
      ? graph.values.get(name)?.type
      : { kind: 'tensor', elementType: tensor.elementType, shape: tensor.dimensions };
  };
  const contentOf = (name: string): TensorContent | undefined => {
    const elements = contents(name);
    const content = graph.values.get(name)?.content;
    return elements === undefined || content === undefined ? content : { shape: content.shape, elements };
  };
  const map = definition.dimensions(
    makeInferenceContext({
      opset: operator.opset ?? opsetOf(graph.operatorSets, operator.domain),
      inputs: operator.inputs.map((name) => (name === '' ? undefined : typeOf(name))),
      contents: operator.inputs.map(contentOf),
      outputCount: operator.outputs.length,
      attributes: operator.attributes,
    }),
  );
  const own = map.kind === 'unknown' ? [] : map.factors.flatMap((factor) => bindFactor(factor, bindings));
  return [...own, ...besides(operator, training)];
}

function bindFactor(factor: Factor, bindings: Bindings): readonly BoundFactor[] {
  const size = evaluateDimension(factor.size, bindings);
  const inputs = bindPlaces(factor.inputs, bindings);
  const outputs = bindPlaces(factor.outputs, bindings);
  if (typeof size !== 'number' || inputs === undefined || outputs === undefined) return [];
  return [{ ...factor, size, inputs, outputs }];
}

function bindPlaces(places: readonly Place[], bindings: Bindings): readonly BoundPlace[] | undefined {
  const bound = places.flatMap(({ tensor, axis, outer = 1 }) => {
    const number = evaluateDimension(outer, bindings);
    return typeof number === 'number' ? [{ tensor, axis, outer: number }] : [];
  });
  return bound.length === places.length ? bound : undefined;
}

/**
 * What workers that exchange something can divide beside what a dimension map says. Rows of a table: each looks up those it
 * has, and gives zeros for the others. Classes of a cross entropy: each has the scores of some. Source: Shoeybi et al.,
 * arXiv:1909.08053, section 3; NVIDIA/Megatron-LM, megatron/core/tensor_parallel/layers.py and cross_entropy.py. Positions of
 * attention with a causal mask, of a rotation and of a loss: each knows which it has. Source: PyTorch 2.13,
 * torch/distributed/tensor/experimental/_context_parallel/_attention.py.
 */
function besides(operator: Operator, { tensors }: TrainingGraph): readonly BoundFactor[] {
  const [first = ''] = operator.inputs;
  const dimensions = tensors.get(first)?.dimensions;
  if (dimensions === undefined) return [];
  if (hasTrait(operator, 'looks-up') && dimensions.length === 2 && attributeOf(operator, 'axis') === 0) {
    const inputs = [{ tensor: 0, axis: 0, outer: 1 }];
    return [{ size: dimensions[0] ?? 1, inputs, outputs: [], partial: { outputs: [0], by: 'sum' } }];
  }
  if (hasTrait(operator, 'loss-of-scores') && dimensions.length > 1) {
    const axis = axisOfClasses(dimensions, tensors.get(operator.inputs[1] ?? '')?.dimensions);
    // The logarithms of the scores, where they are asked for, are divided with them.
    const outputs = operator.outputs.length > 1 ? [{ tensor: 1, axis, outer: 1 }] : [];
    const inputs = [{ tensor: 0, axis, outer: 1 }];
    return [
      { size: dimensions[axis] ?? 1, inputs, outputs, classes: true },
      ...rowsOfLoss(operator, dimensions, axis),
    ];
  }
  if (isMixture(operator)) return expertsOf(operator, tensors);
  if (operator.type === 'Attention' || operator.type === 'RotaryEmbedding')
    return positionsOf(operator, tensors, dimensions);
  return [];
}

/** Weights and biases of each layer, one behind another by expert. */
function expertsOf({ inputs }: Operator, tensors: TrainingGraph['tensors']): readonly BoundFactor[] {
  const size = tensors.get(inputs[2] ?? '')?.dimensions[0];
  if (size === undefined) return [];
  const places = inputs.flatMap((name, tensor) =>
    tensor > 1 && tensors.get(name)?.dimensions[0] === size ? [{ tensor, axis: 0, outer: 1 }] : [],
  );
  return [{ size, inputs: places, outputs: [], experts: true }];
}

/** Rows of scores, each with a label. */
function rowsOfLoss(operator: Operator, scores: readonly number[], classes: number): readonly BoundFactor[] {
  return scores.flatMap((size, axis): readonly BoundFactor[] => {
    if (axis === classes) return [];
    const label = axis < classes ? axis : axis - 1;
    const inputs = [
      { tensor: 0, axis, outer: 1 },
      { tensor: 1, axis: label, outer: 1 },
    ];
    const outputs = operator.outputs.length > 1 ? [{ tensor: 1, axis, outer: 1 }] : [];
    return [{ size, inputs, outputs, partial: { outputs: [0], by: 'mean' }, positions: true }];
  });
}

/** [batch, positions, features] or [batch, heads, positions, features]; a mask has rows for them, tables of angles too. */
function positionsOf(
  operator: Operator,
  tensors: TrainingGraph['tensors'],
  queries: readonly number[],
): readonly BoundFactor[] {
  const size = queries.at(-2) ?? 1;
  const beside = operator.type === 'Attention' ? [3] : [1, 2];
  const inputs = [
    { tensor: 0, axis: queries.length - 2, outer: 1 },
    ...beside.flatMap((tensor) => {
      const dimensions = tensors.get(operator.inputs[tensor] ?? '')?.dimensions;
      return dimensions?.at(-2) === size ? [{ tensor, axis: dimensions.length - 2, outer: 1 }] : [];
    }),
  ];
  return [{ size, inputs, outputs: [{ tensor: 0, axis: queries.length - 2, outer: 1 }], positions: true }];
}

/** The axis of scores that labels do not have: that behind the samples, or the last where it was added behind tokens. */
function axisOfClasses(scores: readonly number[], labels: readonly number[] | undefined): number {
  const last = scores.length - 1;
  const isLast = labels?.length === last && labels.every((size, axis) => size === scores[axis]);
  return isLast ? last : 1;
}

function attributeOf(operator: Operator, name: string): number {
  const attribute = operator.attributes.get(name);
  return attribute?.kind === 'int' ? attribute.value : 0;
}
