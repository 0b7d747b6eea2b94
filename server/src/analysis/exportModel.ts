/**
 * An opened model as an ONNX model that others read: what a lowering knows beside its graph is put into it.
 *
 * Layers become the module scopes that exporters record, in node names (`/h.0/fc/MatMul`, as PyTorch's TorchScript
 * exporter writes them) and in the metadata of PyTorch's newer exporter, which keeps the names and types of layers as
 * the spec has them. Outputs get the types that were inferred. Dimensions with values are bound.
 */

import type { OnnxDimension, OnnxModel, OnnxNode, OnnxType, OnnxValueInfo } from '../formats/onnx/syntax.ts';
import { type Bindings, type Dimension, evaluateDimension, printDimension } from '../model/dimension.ts';
import { isKnownShape, type Layer, type ValueRole, type ValueType } from '../model/graph.ts';
import type { Issue } from '../model/issue.ts';
import { hasTrait } from '../operators/operatorFacts.ts';
import { ownDomain } from '../operators/vocabulary/define.ts';
import { analyzeOnnx } from './analyzeOnnx.ts';
import type { ModelAnalysis } from './modelAnalysis.ts';
import { parseDimension } from './parseDimension.ts';
import { recordFacts, recordingProducer, recordLayer } from './recordedStructure.ts';

export interface ExportedModel {
  readonly model: OnnxModel;
  readonly issues: readonly Issue[];
}

/** `lowered`: `model` was made from a text that names layers, not read from an ONNX file. */
export function exportModel(
  model: OnnxModel,
  analysis: ModelAnalysis,
  options: { readonly lowered: boolean; readonly dimensions: Bindings },
): ExportedModel {
  const issues: Issue[] = model.graph.nodes.flatMap((node) =>
    node.domain === ownDomain ? withoutOnnx(node) : [],
  );
  const outputs = model.graph.outputs.map((output) => {
    const type = output.type ?? typeOf(analysis.graph.values.get(output.name)?.type);
    if (type === undefined) issues.push(untyped(output.name));
    return { ...output, type };
  });
  const named = { ...model, graph: { ...model.graph, name: model.graph.name || 'model', outputs } };
  const complete = options.lowered ? withStructure(named, analysis, options.dimensions) : named;
  return { model: bound(complete, options.dimensions), issues };
}

const untyped = (name: string): Issue => ({
  code: 'onnx/not-writable',
  severity: 'error',
  message: `The type of output \`${name}\` could not be found out, and ONNX asks for it: see what the report says of the layers before it`,
  value: name,
});

/** Operators that ONNX does not have; a model that holds one runs nowhere. */
const withoutOnnx = ({ type, name, outputs }: OnnxNode): Issue => ({
  code: 'onnx/not-writable',
  severity: 'error',
  message: `ONNX has no operator for \`${name.replace(/\/[^/]*$/, '') || outputs[0]}\`, ${type === 'ProjectedLSTM' ? 'an LSTM with `proj_size`: leave it out to convert the model, or keep the spec' : type}`,
});

/** The model with its layers, the roles of its values and the values of its dimensions recorded in it. */
function withStructure(model: OnnxModel, analysis: ModelAnalysis, dimensions: Bindings): OnnxModel {
  const names = shownNames(model, analysis);
  const nodes = withLayers(model.graph.nodes, analysis);
  const renamed = renameValues(
    { ...model, producerName: recordingProducer, graph: { ...model.graph, nodes } },
    names,
  );
  const defaults = analysis.symbols.flatMap((symbol) =>
    symbol.default === undefined || dimensions.has(symbol.name)
      ? []
      : [[symbol.name, symbol.default] as const],
  );
  const found = analyzeOnnx(renamed).graph.values;
  const roles: Record<string, ValueRole> = {};
  // What a node fills with one number may be a weight of a light model, or the ones that dropout zeroes.
  const filled = model.graph.nodes
    .filter((node) => hasTrait(node, 'generator'))
    .flatMap(({ outputs }) => outputs);
  const stored = [...model.graph.inputs, ...model.graph.initializers].map(({ name }) => name);
  for (const name of [...stored, ...filled]) {
    const shown = names.get(name) ?? name;
    const role = analysis.graph.values.get(name)?.role;
    if (role !== undefined && role !== found.get(shown)?.role) roles[shown] = role;
  }
  return {
    ...renamed,
    metadata: recordFacts(renamed.metadata, { roles, dimensions: Object.fromEntries(defaults) }),
  };
}

/** Outputs of the model are called after their layer, constants are numbered; other values keep their names. */
function shownNames(model: OnnxModel, analysis: ModelAnalysis): ReadonlyMap<string, string> {
  const { graph } = model;
  const names = new Map<string, string>();
  const taken = new Set([
    ...graph.inputs.map(({ name }) => name),
    ...graph.initializers.map(({ name }) => name),
    ...graph.nodes.flatMap(({ outputs }) => outputs),
  ]);
  const hasSubgraphs = graph.nodes.some(({ attributes }) =>
    [...attributes.values()].some(({ kind }) => kind === 'graph' || kind === 'graphs'),
  );
  // A subgraph sees the values around it by their names.
  if (hasSubgraphs) return names;
  const call = (name: string, wanted: string): void => {
    if (taken.has(wanted)) return;
    taken.add(wanted);
    names.set(name, wanted);
  };
  const places = new Map(graph.outputs.map(({ name }, place) => [name, place]));
  const placeOf = (name: string): number => places.get(name) ?? -1;
  for (const layer of analysis.layers) {
    const made = layer.operators.flatMap((index) => analysis.graph.operators[index]?.outputs ?? []);
    const given = made.filter((name) => places.has(name));
    for (const name of given.sort((left, right) => placeOf(left) - placeOf(right))) call(name, layer.name);
  }
  let constants = 0;
  for (const { name } of graph.initializers) {
    if (analysis.graph.values.get(name)?.role !== 'constant') continue;
    call(name, `constant_${constants}`);
    constants += 1;
  }
  return names;
}

function renameValues(model: OnnxModel, names: ReadonlyMap<string, string>): OnnxModel {
  const shown = (name: string): string => names.get(name) ?? name;
  const { graph } = model;
  return {
    ...model,
    graph: {
      ...graph,
      nodes: graph.nodes.map((node) => ({
        ...node,
        inputs: node.inputs.map(shown),
        outputs: node.outputs.map(shown),
      })),
      outputs: graph.outputs.map((output) => ({ ...output, name: shown(output.name) })),
      initializers: graph.initializers.map((tensor) => ({ ...tensor, name: shown(tensor.name) })),
    },
  };
}

function withLayers(nodes: readonly OnnxNode[], { graph, layers }: ModelAnalysis): readonly OnnxNode[] {
  const layerOfNode = new Map<number, Layer>();
  for (const layer of layers) {
    for (const index of layer.operators) {
      const source = graph.operators[index]?.source;
      if (source !== undefined) layerOfNode.set(source, layer);
    }
  }
  return nodes.map((node, index) => {
    const layer = layerOfNode.get(index);
    if (layer === undefined) return node;
    const operator = node.name.slice(node.name.lastIndexOf('/') + 1);
    return recordLayer({ ...node, name: `${modulePath(layer.name)}/${operator}` }, layer);
  });
}

/** `h[0].fc` as a module path, `/h.0/fc`. */
const modulePath = (layer: string): string =>
  layer
    .split('.')
    .map((part) => `/${part.replace(/\[(\d+)\]/g, '.$1')}`)
    .join('');

function typeOf(type: ValueType | undefined): OnnxType | undefined {
  switch (type?.kind) {
    case 'tensor':
      if (type.elementType === 'undefined') return undefined;
      return {
        kind: 'tensor',
        elementType: type.elementType,
        shape: isKnownShape(type.shape) ? type.shape.map(onnxDimension) : undefined,
      };
    case 'sequence':
    case 'optional': {
      const element = typeOf(type.element);
      return element === undefined ? undefined : { kind: type.kind, element };
    }
    case 'map':
      return { kind: 'map', key: type.key, value: typeOf(type.value) };
    default:
      return undefined;
  }
}

function onnxDimension(dimension: Dimension): OnnxDimension {
  if (typeof dimension === 'number') return dimension;
  return dimension.kind === 'unknown' ? undefined : printDimension(dimension);
}

/** The model with values in the place of symbols, in all types of its graph. */
function bound(model: OnnxModel, dimensions: Bindings): OnnxModel {
  if (dimensions.size === 0) return model;
  const size = (dimension: OnnxDimension): OnnxDimension => {
    if (typeof dimension !== 'string') return dimension;
    const value = evaluateDimension(parseDimension(dimension), dimensions);
    return typeof value === 'number' ? value : dimension;
  };
  const type = (given: OnnxType | undefined): OnnxType | undefined => {
    switch (given?.kind) {
      case 'tensor':
      case 'sparse-tensor':
        return { ...given, shape: given.shape?.map(size) };
      case 'sequence':
      case 'optional':
        return { ...given, element: type(given.element) };
      case 'map':
        return { ...given, value: type(given.value) };
      default:
        return given;
    }
  };
  const typed = (info: OnnxValueInfo): OnnxValueInfo => ({ ...info, type: type(info.type) });
  const { graph } = model;
  return {
    ...model,
    graph: {
      ...graph,
      inputs: graph.inputs.map(typed),
      outputs: graph.outputs.map(typed),
      valueInfos: graph.valueInfos.map(typed),
    },
  };
}
