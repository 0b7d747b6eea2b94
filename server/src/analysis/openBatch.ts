/**
 * Opens the batch of a model that was exported with a constant one, as exporters do unless told otherwise.
 *
 * The leading dimension of the inputs becomes a symbol, and what the exporter folded of it is undone: a constant
 * `Reshape` target leaves its leading size to the input, a stored token that is joined to every sample is repeated for
 * each again. Whether that gave the same model is not assumed but
 * checked: no new contradiction, nothing unknown that was known, the same FLOPs at the file's own batch and, of
 * every operator, twice as many at twice the batch or the same at both. A model that fails the check keeps its
 * batch.
 */

import type { OnnxGraph, OnnxModel, OnnxNode, OnnxValueInfo } from '../formats/onnx/syntax.ts';
import type { ProvidedLayer, ProvidedStructure } from '../lowering/providedStructure.ts';
import type { TensorLiteral } from '../model/attribute.ts';
import type { Dimension } from '../model/dimension.ts';
import { isKnownShape } from '../model/graph.ts';
import type { OperatorCost } from '../operators/definition.ts';
import { analyzeOnnx } from './analyzeOnnx.ts';
import { bindTrainingGraph } from './bindTrainingGraph.ts';
import type { ModelAnalysis } from './modelAnalysis.ts';

export interface OpenedBatch {
  readonly analysis: ModelAnalysis;
  /** Of the graph with the batch open. */
  readonly structure?: ProvidedStructure;
}

/**
 * The analysis of `model` with its batch as a symbol whose default is the file's own batch; `undefined` where the
 * batch is open already or cannot be opened without changing the model. Worked out once per analysis, however many
 * scenarios ask for it: analyses never change. `structure` is what the first analysis was given.
 */
export function openBatch(
  model: OnnxModel,
  analysis: ModelAnalysis,
  structure?: ProvidedStructure,
): OpenedBatch | undefined {
  if (!openedBefore.has(analysis))
    openedBefore.set(analysis, analyzeWithOpenBatch(model, analysis, structure));
  return openedBefore.get(analysis);
}

const openedBefore = new WeakMap<ModelAnalysis, OpenedBatch | undefined>();

function analyzeWithOpenBatch(
  model: OnnxModel,
  analysis: ModelAnalysis,
  structure: ProvidedStructure | undefined,
): OpenedBatch | undefined {
  const { fixedBatch } = analysis;
  if (fixedBatch === undefined || !analysis.graph.outputs.some((output) => hasLeading(output, analysis))) {
    return undefined;
  }
  const name = unusedName(analysis);
  const data = new Set(analysis.graph.inputs);
  const { graph, nodesOf } = withOpenBatch(model.graph, analysis, data, fixedBatch, name);
  const moved = structure && {
    ...structure,
    layers: structure.layers.map((layer) => movedTo(layer, nodesOf)),
  };
  const reanalyzed = analyzeOnnx({ ...model, graph }, moved);
  if (reanalyzed.batchSymbol !== name || countFaults(reanalyzed) > countFaults(analysis)) return undefined;
  if (!isSameModel(analysis, reanalyzed, fixedBatch, name)) return undefined;
  const symbols = reanalyzed.symbols.map((symbol) =>
    symbol.name === name ? { name, default: fixedBatch } : symbol,
  );
  return {
    analysis: { ...reanalyzed, symbols },
    ...(moved === undefined ? {} : { structure: moved }),
  };
}

const movedTo = (layer: ProvidedLayer, nodesOf: readonly (readonly number[])[]): ProvidedLayer => ({
  ...layer,
  nodes: layer.nodes.flatMap((node) => nodesOf[node] ?? []),
});

function unusedName(analysis: ModelAnalysis): string {
  const taken = new Set(analysis.symbols.map((symbol) => symbol.name));
  return ['batch', 'N', 'batch_size'].find((name) => !taken.has(name)) ?? `batch_${taken.size}`;
}

/** Whether a value has a leading dimension: only where an output has one can it be seen to follow the batch. */
function hasLeading(name: string, { graph }: ModelAnalysis): boolean {
  const type = graph.values.get(name)?.type;
  return type?.kind === 'tensor' && isKnownShape(type.shape) && type.shape.length > 0;
}

/**
 * `data` are the inputs that carry samples; inputs that carry weights keep their shapes. `nodesOf` gives by node of the
 * file the nodes that stand for it.
 */
function withOpenBatch(
  graph: OnnxGraph,
  analysis: ModelAnalysis,
  data: ReadonlySet<string>,
  batch: number,
  name: string,
): { readonly graph: OnnxGraph; readonly nodesOf: readonly (readonly number[])[] } {
  const fed = namesFedBy(data, graph);
  const constants = new Map(graph.initializers.map((tensor) => [tensor.name, tensor]));
  for (const node of graph.nodes) {
    const value = node.type === 'Constant' ? node.attributes.get('value') : undefined;
    const [output] = node.outputs;
    if (value?.kind === 'tensor' && output !== undefined) constants.set(output, value.value);
  }
  for (const { inputs, type } of graph.nodes) {
    const [, target = ''] = inputs;
    if (type !== 'Reshape' || constants.has(target)) continue;
    const literal = literalOfContent(target, analysis);
    const [leading, ...rest] = literal?.elements ?? [];
    // What is computed from sizes of the data may say the batch elsewhere, unless no other size is like it.
    if (fed.has(target) && (leading !== batch || rest.includes(batch))) continue;
    if (literal !== undefined) constants.set(target, literal);
  }
  const added: TensorLiteral[] = [];
  const standIns = graph.nodes.map((node, index) =>
    node.type === 'Concat' && batch === 1
      ? repeatTokens(node, analysis, fed, added)
      : [openReshape(node, index, batch, constants, added)],
  );
  let count = 0;
  const nodesOf = standIns.map((nodes) => nodes.map(() => count++));
  const opened: OnnxGraph = {
    ...graph,
    nodes: standIns.flat(),
    inputs: graph.inputs.map((info) => (data.has(info.name) ? openLeading(info, batch, name) : info)),
    // Declared shapes repeat the constant batch; they are inferred again.
    outputs: graph.outputs.map(({ name: output }) => ({ name: output, type: undefined })),
    valueInfos: [],
    initializers: [...graph.initializers, ...added],
  };
  return { graph: opened, nodesOf };
}

/** Values that are computed from these. Nodes of a file stand in the order they are computed. */
function namesFedBy(data: ReadonlySet<string>, graph: OnnxGraph): ReadonlySet<string> {
  const fed = new Set(data);
  for (const { inputs, outputs } of graph.nodes) {
    if (inputs.some((name) => fed.has(name))) for (const name of outputs) fed.add(name);
  }
  return fed;
}

/** Integers that are computed beforehand. */
function literalOfContent(name: string, { graph }: ModelAnalysis): TensorLiteral | undefined {
  const content = graph.values.get(name)?.content;
  const elements = content?.elements.filter((element) => typeof element === 'number');
  if (content === undefined || elements?.length !== content.elements.length) return undefined;
  return { name, elementType: 'int64', dimensions: content.shape, elements, storedBytes: 0 };
}

/**
 * A join of samples and of what no sample feeds, on another axis than the batch: all sizes but that axis's are equal,
 * so that what is stored for one sample stands for each. It is expanded to the batch of the samples, a view.
 */
function repeatTokens(
  node: OnnxNode,
  { graph }: ModelAnalysis,
  fed: ReadonlySet<string>,
  added: TensorLiteral[],
): readonly OnnxNode[] {
  const shapeOf = (name: string): readonly Dimension[] => {
    const type = graph.values.get(name)?.type;
    return type?.kind === 'tensor' && isKnownShape(type.shape) ? type.shape : [];
  };
  const sample = node.inputs.find((name) => fed.has(name) && shapeOf(name)[0] === 1);
  const tokens = node.inputs.filter((name) => !fed.has(name) && shapeOf(name)[0] === 1);
  const rank = sample === undefined ? 0 : shapeOf(sample).length;
  const axis = node.attributes.get('axis');
  const joinsBatch = axis?.kind === 'int' && (axis.value === 0 || axis.value === -rank);
  if (sample === undefined || tokens.length === 0 || rank < 2 || joinsBatch) return [node];
  const label = `${node.name || node.outputs[0]}_batch`;
  const make = (
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
  });
  const integers = (name: string, elements: readonly number[]): string => {
    added.push({
      name: `${label}_${name}`,
      elementType: 'int64',
      dimensions: [elements.length],
      elements,
      storedBytes: 0,
    });
    return `${label}_${name}`;
  };
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

function openLeading(info: OnnxValueInfo, batch: number, name: string): OnnxValueInfo {
  const { type } = info;
  if (type?.kind !== 'tensor' || type.shape?.[0] !== batch) return info;
  return { ...info, type: { ...type, shape: [name, ...type.shape.slice(1)] } };
}

/**
 * A target without -1 gets one in front, which keeps the number of elements whatever the batch; one that has its
 * -1 elsewhere copies a leading size equal to the batch from the input (Reshape-5: 0 copies the dimension).
 */
function openReshape(
  node: OnnxNode,
  index: number,
  batch: number,
  constants: ReadonlyMap<string, TensorLiteral>,
  added: TensorLiteral[],
): OnnxNode {
  const [input, target] = node.inputs;
  const allowZero = node.attributes.get('allowzero');
  const literal = node.type === 'Reshape' && target !== undefined ? constants.get(target) : undefined;
  const [leading, ...rest] = literal?.elements ?? [];
  if (literal === undefined || leading === undefined || input === undefined || leading <= 0) return node;
  const hasRest = rest.includes(-1);
  if (hasRest && (leading !== batch || (allowZero?.kind === 'int' && allowZero.value !== 0))) return node;
  const name = `${target} of node ${index}, batch opened`;
  added.push({ ...literal, name, elements: [hasRest ? 0 : -1, ...rest] });
  return { ...node, inputs: [input, name] };
}

const countFaults = (analysis: ModelAnalysis): number =>
  analysis.issues.filter(({ severity }) => severity !== 'information').length;

/** Operators are told by what they compute: the opened model has a few more, which cost nothing. */
function isSameModel(closed: ModelAnalysis, open: ModelAnalysis, batch: number, name: string): boolean {
  if (elementsOf(closed) !== elementsOf(open)) return false;
  const places = new Map(open.graph.operators.map(({ outputs, index }) => [outputs.join(), index]));
  const before = bindTrainingGraph(closed, new Map(), 'training');
  const same = bindTrainingGraph(open, new Map([[name, batch]]), 'training');
  const twice = bindTrainingGraph(open, new Map([[name, 2 * batch]]), 'training');
  const grows = open.graph.outputs.some((output) => {
    const type = open.graph.values.get(output)?.type;
    return type?.kind === 'tensor' && isKnownShape(type.shape) && typeof type.shape[0] !== 'number';
  });
  return (
    grows &&
    closed.graph.operators.every(({ outputs, index }) => {
      const place = places.get(outputs.join());
      return place !== undefined && agrees(before.costs[index], same.costs[place], twice.costs[place]);
    })
  );
}

/** Elements that are trained. */
const elementsOf = ({ parameters }: ModelAnalysis): number =>
  parameters.reduce((total, { elements }) => total + elements, 0);

function agrees(
  before: OperatorCost | undefined,
  same: OperatorCost | undefined,
  twice: OperatorCost | undefined,
): boolean {
  if (before?.kind !== 'known') return true;
  if (same?.kind !== 'known' || twice?.kind !== 'known') return false;
  const [forward, again, doubled] = [before.forward.flops, same.forward.flops, twice.forward.flops];
  return forward === again && (doubled === 2 * forward || doubled === forward);
}
