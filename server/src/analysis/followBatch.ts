/**
 * Rewrites a graph that was exported for a constant batch so that its batch is a symbol.
 *
 * The batch is followed from the inputs through the dimension maps of the operators, value by value: in which axis it is,
 * and how much lies outside of it there. Where a Reshape or an Expand states it as a constant, and where stored tokens are
 * joined to every sample, the graph is changed. Nothing is assumed of the result: `proveBatch.ts` judges it.
 */

import type { OnnxGraph, OnnxModel, OnnxNode, OnnxValueInfo } from '../formats/onnx/syntax.ts';
import type { Attribute, TensorLiteral } from '../model/attribute.ts';
import {
  type Dimension,
  divideExactly,
  isUnknown,
  multiplyDimensions,
  productOfDimensions,
  symbol,
  symbolsOf,
} from '../model/dimension.ts';
import { type Graph, isKnownShape, type TensorContent, type ValueType } from '../model/graph.ts';
import { makeInferenceContext } from '../operators/context.ts';
import type { DimensionMap } from '../operators/dimensionMap.ts';
import { findOperator } from '../operators/registry.ts';
import type { ModelAnalysis } from './modelAnalysis.ts';
import { opsetOf } from './opsetOf.ts';

export interface FollowedBatch {
  readonly graph: OnnxGraph;
  /** By node of the file, the nodes that stand for it. */
  readonly nodesOf: readonly (readonly number[])[];
}

/**
 * The graph with its batch as the symbol `name`; `analysis` is that of the file as it is. `repeats`: whether what no sample feeds, and is
 * repeated as often as the batch, is taken to be repeated for each sample.
 */
export function followBatch(
  model: OnnxModel,
  analysis: ModelAnalysis,
  batch: number,
  name: string,
  repeats = false,
): FollowedBatch {
  const { graph } = model;
  const data = new Set(analysis.graph.inputs);
  const batchSize = symbol(name);
  const values = new Map<string, FollowedValue>();
  for (const input of graph.inputs) {
    const shape = data.has(input.name) ? shapeOf(analysis, input.name) : undefined;
    const type = analysis.graph.values.get(input.name)?.type;
    if (shape?.[0] !== batch || type?.kind !== 'tensor') continue;
    values.set(input.name, {
      type: { ...type, shape: shape.with(0, batchSize) },
      place: { axis: 0, outer: 1 },
    });
  }
  const operatorSets = new Map(model.operatorSets.map(({ domain, version }) => [domain, version]));
  const following: Following = { analysis, batch, batchSize, values, operatorSets, added: [] };
  const [sample] = values.keys();
  const standIns = graph.nodes.map((node, index) =>
    repeats && sample !== undefined
      ? (openRepeats(node, index, sample, following) ?? followNode(node, index, following))
      : followNode(node, index, following),
  );
  let count = 0;
  const nodesOf = standIns.map((nodes) => nodes.map(() => count++));
  return {
    graph: {
      ...graph,
      nodes: standIns.flat(),
      inputs: graph.inputs.map((info) => (data.has(info.name) ? openLeading(info, batch, name) : info)),
      // Declared shapes repeat the constant batch; they are inferred again.
      outputs: graph.outputs.map(({ name: output }) => ({ name: output, type: undefined })),
      valueInfos: ofSplits(graph, batch),
      initializers: [...graph.initializers, ...following.added],
    },
    nodesOf,
  };
}

/** Of what is split into sequences, whose number of parts follows from its size, all dimensions but those of the batch. */
function ofSplits({ nodes, valueInfos }: OnnxGraph, batch: number): readonly OnnxValueInfo[] {
  const split = new Set(nodes.flatMap(({ type, inputs }) => (type === 'SplitToSequence' ? inputs[0] : [])));
  return valueInfos.flatMap(({ name, type }) =>
    split.has(name) && type?.kind === 'tensor'
      ? [{ name, type: { ...type, shape: type.shape?.map((size) => (size === batch ? undefined : size)) } }]
      : [],
  );
}

interface Following {
  readonly analysis: ModelAnalysis;
  readonly batch: number;
  readonly batchSize: Dimension;
  /** Those that are another value than in the file. */
  readonly values: Map<string, FollowedValue>;
  readonly operatorSets: ReadonlyMap<string, number>;
  readonly added: TensorLiteral[];
}

interface FollowedValue {
  readonly type: ValueType;
  readonly content?: TensorContent | undefined;
  /** Where the batch is; absent where it is not, or nobody knows. */
  readonly place?: BatchPlace | undefined;
}

interface BatchPlace {
  readonly axis: number;
  /** How much of the axis lies outside of the batch. */
  readonly outer: Dimension;
}

function shapeOf({ graph }: ModelAnalysis, name: string): readonly Dimension[] | undefined {
  return shapeOfType(graph.values.get(name)?.type);
}

const shapeOfType = (type: ValueType | undefined): readonly Dimension[] | undefined =>
  type?.kind === 'tensor' && isKnownShape(type.shape) ? type.shape : undefined;

function openLeading(info: OnnxValueInfo, batch: number, name: string): OnnxValueInfo {
  const { type } = info;
  if (type?.kind !== 'tensor' || type.shape?.[0] !== batch) return info;
  return { ...info, type: { ...type, shape: [name, ...type.shape.slice(1)] } };
}

/** The nodes that stand for a node; what they give is noted. */
function followNode(node: OnnxNode, index: number, following: Following): readonly OnnxNode[] {
  if (!node.inputs.some((name) => following.values.has(name))) return [node];
  const nodes =
    node.type === 'Concat'
      ? repeatTokens(node, following)
      : [node.type === 'Reshape' ? openReshape(node, index, following) : openExpand(node, index, following)];
  for (const each of nodes) noteOutputs(each, following);
  return nodes;
}

/** A value as it is now: followed, stated anew, or that of the file. */
function valueNamed(name: string, { values, analysis, added }: Following): FollowedValue | undefined {
  if (name === '') return undefined;
  const followed = values.get(name);
  if (followed !== undefined) return followed;
  const stated = added.find((literal) => literal.name === name);
  if (stated?.elements !== undefined) {
    const { elementType, dimensions, elements } = stated;
    return {
      type: { kind: 'tensor', elementType, shape: dimensions },
      content: { shape: dimensions, elements },
    };
  }
  return analysis.graph.values.get(name);
}

function noteOutputs(node: OnnxNode, following: Following): void {
  const { analysis, batch, batchSize, values } = following;
  const opset = opsetOf(following.operatorSets, node.domain);
  const definition = findOperator(node.domain, node.type, opset);
  const attributes = new Map([...node.attributes].flatMap(withoutGraph));
  if (definition === undefined || attributes.size < node.attributes.size) {
    // Functions and subgraphs are taken to leave the batch in front, until the whole graph is inferred.
    for (const output of node.outputs) {
      const type = analysis.graph.values.get(output)?.type;
      const shape = shapeOfType(type);
      if (shape?.[0] === batch && type?.kind === 'tensor')
        values.set(output, {
          type: { ...type, shape: shape.with(0, batchSize) },
          place: { axis: 0, outer: 1 },
        });
    }
    return;
  }
  const inputs = node.inputs.map((name) => valueNamed(name, following));
  const context = makeInferenceContext({
    opset,
    inputs: inputs.map((value) => value?.type),
    contents: inputs.map((value) => value?.content),
    outputCount: node.outputs.length,
    attributes,
  });
  const inference = definition.infer(context);
  const map = definition.dimensions(context);
  const from = inputs.findIndex((value) => value?.place !== undefined);
  const place = inputs[from]?.place;
  for (const [index, output] of node.outputs.entries()) {
    const type = inference.outputs[index];
    if (type === undefined || output === '') continue;
    values.set(output, {
      type,
      content: inference.contents?.[index],
      place: (place && placeAfter(map, from, place, index, batchSize)) ?? firstPlace(type, batchSize),
    });
  }
}

const withoutGraph = ([name, attribute]: readonly [string, Attribute<OnnxGraph>]): readonly (readonly [
  string,
  Attribute<Graph>,
])[] => (attribute.kind === 'graph' || attribute.kind === 'graphs' ? [] : [[name, attribute]]);

/** Where a place of an input is in an output: in the factor that contains it. */
function placeAfter(
  map: DimensionMap,
  input: number,
  { axis, outer }: BatchPlace,
  output: number,
  batchSize: Dimension,
): BatchPlace | undefined {
  if (map.kind === 'unknown') return undefined;
  for (const factor of map.factors) {
    const own = factor.inputs.find((place) => place.tensor === input && place.axis === axis);
    const within = own && divideExactly(outer, own.outer ?? 1);
    if (within === undefined) continue;
    if (divideExactly(factor.size, multiplyDimensions(within, batchSize)) === undefined) continue;
    const place = factor.outputs.find(({ tensor }) => tensor === output);
    return place && { axis: place.axis, outer: multiplyDimensions(place.outer ?? 1, within) };
  }
  return undefined;
}

function firstPlace(type: ValueType, batchSize: Dimension): BatchPlace | undefined {
  const axis = shapeOfType(type)?.findIndex((size) => divideExactly(size, batchSize) !== undefined) ?? -1;
  return axis < 0 ? undefined : { axis, outer: 1 };
}

/** Integers that an input is known to hold before the model runs, whatever the batch. */
function constantsOf(name: string, following: Following): readonly number[] | undefined {
  const elements = valueNamed(name, following)?.content?.elements;
  const numbers = elements?.filter((element) => typeof element === 'number');
  return numbers?.length === elements?.length ? numbers : undefined;
}

/** The batch goes on behind as many elements of outer axes as before: that axis of the target is left open. */
function openReshape(node: OnnxNode, index: number, following: Following): OnnxNode {
  const [input = '', target = ''] = node.inputs;
  const { place, type } = following.values.get(input) ?? {};
  const stated = constantsOf(target, following);
  const from = shapeOfType(type);
  const to = shapeOf(following.analysis, node.outputs[0] ?? '');
  if (place === undefined || stated === undefined || from === undefined || to === undefined) return node;
  const before = multiplyDimensions(productOfDimensions(from.slice(0, place.axis)), place.outer);
  const axis = axisBehind(before, to, following.batch);
  if (axis === undefined || stated[axis] === -1) return node;
  const copies = node.attributes.get('allowzero')?.kind !== 'int';
  const elements = to.map((size, each): number | undefined => {
    if (each === axis) return -1;
    return copies && stated[each] === 0 ? 0 : typeof size === 'number' ? size : undefined;
  });
  // Where another size is open already, the batch is copied from the axis of the same number.
  const isCopied = elements.includes(undefined) && axis === place.axis && copies;
  const target2 = isCopied ? stated.with(axis, 0) : elements.filter((element) => element !== undefined);
  return target2.length === to.length ? withConstant(node, index, target2, following) : node;
}

/**
 * The axis with so much outside of the batch: one that begins there, unless it is the last of several, which features have
 * and rows have not; else one that ends there.
 */
function axisBehind(before: Dimension, to: readonly Dimension[], batch: number): number | undefined {
  let outside: Dimension = 1;
  let merged: number | undefined;
  for (const [axis, size] of to.entries()) {
    const outer = divideExactly(before, outside);
    if (outer !== undefined && divideExactly(size, multiplyDimensions(outer, batch)) !== undefined) {
      const isOfFeatures = axis > 0 && axis === to.length - 1 && size !== batch;
      if (outer === 1 && !(isOfFeatures && merged !== undefined)) return axis;
      merged ??= axis;
    }
    outside = multiplyDimensions(outside, size);
  }
  return merged;
}

/** A target that repeats the size of the batch leaves it to the input. */
function openExpand(node: OnnxNode, index: number, following: Following): OnnxNode {
  const [input = '', target = ''] = node.inputs;
  const stated = node.type === 'Expand' ? constantsOf(target, following) : undefined;
  const from = shapeOfType(following.values.get(input)?.type);
  if (stated === undefined || from === undefined) return node;
  const elements = stated.map((size, element) => {
    const own = from[element - stated.length + from.length];
    return own !== undefined && mentions(own, following.batchSize) ? 1 : size;
  });
  return elements.every((size, element) => size === stated[element])
    ? node
    : withConstant(node, index, elements, following);
}

/**
 * A Tile or an Expand that makes a multiple of the batch of the leading axis, with that number computed from the batch of an input:
 * DeBERTa repeats what it projects of relative positions for each sample. `undefined` for all others.
 */
function openRepeats(
  node: OnnxNode,
  index: number,
  sample: string,
  following: Following,
): readonly OnnxNode[] | undefined {
  const { values, batch, added, analysis } = following;
  const [input = '', target = ''] = node.inputs;
  if ((node.type !== 'Tile' && node.type !== 'Expand') || values.has(input)) return undefined;
  const stated = constantsOf(target, following);
  const [times] = stated ?? [];
  const from = shapeOf(analysis, input);
  if (stated === undefined || times === undefined || from === undefined) return undefined;
  const isRepeated = node.type === 'Tile' || from.length < stated.length || from[0] === 1;
  if (batch === 1 || times < batch || times % batch !== 0 || !isRepeated) return undefined;
  const { make, integers } = written(node, `${target} of node ${index}`, added);
  const sizes = make('Shape', [sample]);
  const samples = make('Gather', [...sizes.outputs, integers('first', [0])]);
  const multiple = make('Mul', [...samples.outputs, integers('each', [times / batch])]);
  const all = make(
    'Concat',
    [...multiple.outputs, integers('rest', stated.slice(1))],
    new Map([['axis', { kind: 'int', value: 0 }]]),
  );
  const nodes = [sizes, samples, multiple, all, { ...node, inputs: [input, ...all.outputs] }];
  for (const each of nodes) noteOutputs(each, following);
  return nodes;
}

const mentions = (size: Dimension, other: Dimension): boolean =>
  !isUnknown(size) && symbolsOf(other).some((name) => symbolsOf(size).includes(name));

/** The node with another constant as its second input. */
function withConstant(
  node: OnnxNode,
  index: number,
  elements: readonly number[],
  { added }: Following,
): OnnxNode {
  const [input = '', target = ''] = node.inputs;
  const name = `${target} of node ${index}, batch opened`;
  added.push({ name, elementType: 'int64', dimensions: [elements.length], elements, storedBytes: 0 });
  return { ...node, inputs: [input, name] };
}

/** Nodes and lists of integers that stand before `node`, named by `label`. */
function written(node: OnnxNode, label: string, added: Following['added']) {
  return {
    make: (
      type: string,
      inputs: readonly string[],
      attributes: OnnxNode['attributes'] = new Map(),
    ): OnnxNode => ({
      ...node,
      name: `${label}_${type}`,
      type,
      domain: '',
      inputs,
      outputs: [`${label}_${type}_output`],
      attributes,
    }),
    /** The name under which they are stored. */
    integers: (what: string, elements: readonly number[]): string => {
      const name = `${label}_${what}`;
      added.push({ name, elementType: 'int64', dimensions: [elements.length], elements, storedBytes: 0 });
      return name;
    },
  };
}

/**
 * A join of samples and of what no sample feeds, on another axis than the batch: all sizes but that axis's are equal,
 * so that what is stored for one sample stands for each. It is expanded to the batch of the samples, a view.
 */
function repeatTokens(node: OnnxNode, following: Following): readonly OnnxNode[] {
  const { values, batch, added } = following;
  const sample = node.inputs.find((name) => values.get(name)?.place?.axis === 0);
  const shape = shapeOfType(values.get(sample ?? '')?.type) ?? [];
  const tokens = node.inputs.filter(
    (name) => !values.has(name) && shapeOf(following.analysis, name)?.[0] === 1,
  );
  const rank = shape.length;
  const axis = node.attributes.get('axis');
  const joinsBatch = axis?.kind === 'int' && (axis.value === 0 || axis.value === -rank);
  if (sample === undefined || batch !== 1 || tokens.length === 0 || rank < 2 || joinsBatch) return [node];
  const label = `${node.name || node.outputs[0]}_batch`;
  const { make, integers } = written(node, label, added);
  const first = integers('first', [0]);
  const ones = integers(
    'ones',
    Array.from({ length: rank - 1 }, () => 1),
  );
  const sizes = make('Shape', [sample]);
  const samples = make('Gather', [...sizes.outputs, first]);
  const target = make('Concat', [...samples.outputs, ones], new Map([['axis', { kind: 'int', value: 0 }]]));
  const expanded = tokens.map((token, index) => {
    const expand = make('Expand', [token, ...target.outputs]);
    return { ...expand, name: `${expand.name}_${index}`, outputs: [`${label}_Expand_${index}_output`] };
  });
  const outputOf = new Map(tokens.map((token, index) => [token, expanded[index]?.outputs[0] ?? token]));
  const joined = { ...node, inputs: node.inputs.map((name) => outputOf.get(name) ?? name) };
  return [sizes, samples, target, ...expanded, joined];
}
