/** Rewrites a graph so that batch normalizations which were folded into other operators stand in it again. */

import { parametersOfProgram } from '../../formats/onnx/graphSignature.ts';
import { placeholdersOfProgram } from '../../formats/onnx/recordedCalls.ts';
import type { OnnxGraph, OnnxModel, OnnxNode } from '../../formats/onnx/syntax.ts';
import type { TensorLiteral } from '../../model/attribute.ts';
import type { ElementType } from '../../model/elementType.ts';
import { isKnownShape } from '../../model/graph.ts';
import type { ModelAnalysis } from '../modelAnalysis.ts';
import { scopeListOf } from '../moduleScope.ts';
import { pythonList } from '../recordedStructure.ts';
import {
  type FindsFolded,
  type FoldedNormalization,
  findsFolded,
  hosts,
  moduleOfWeight,
} from './foldedNormalization.ts';

export interface RestoredNormalizations {
  readonly model: OnnxModel;
  /** One for each that stands in the graph again. */
  readonly restored: readonly FoldedNormalization[];
  /** Biases that are trained and were left out, as they are 0 before training. */
  readonly biases: number;
  /** Nodes that one was folded into whose weights have no known shape. */
  readonly left: number;
}

/**
 * `model` with a BatchNormalization behind every node that one was folded into; `undefined` where there is none. `analysis` is
 * of the model as it is. Nodes keep their order; those that are new stand for the node of the file that they came from.
 */
export function restoreNormalizations(
  model: OnnxModel,
  analysis: ModelAnalysis,
): RestoredNormalizations | undefined {
  const foldedIn: FindsFolded = findsFolded(model);
  const { graph } = model;
  const parameters = parametersOfProgram(graph);
  const placeholders = placeholdersOfProgram(graph) ?? new Map<string, string>();
  const lostBiasOf = (node: OnnxNode): string | undefined =>
    biasOf(node, parameters) ?? biasOfCall(node, parameters, placeholders);
  const lacksBias = (node: OnnxNode): boolean =>
    hosts.has(node.type) && (node.inputs[2] ?? '') === '' && lostBiasOf(node) !== undefined;
  if (!graph.nodes.some((node) => foldedIn(node) !== undefined || lacksBias(node))) return undefined;
  const restored: FoldedNormalization[] = [];
  const added = new Map<string, TensorLiteral>();
  const stored = new Map(graph.initializers.map((literal) => [literal.name, literal]));
  const replaced = new Set<string>();
  let left = 0;
  let biases = 0;
  /** The name of a tensor with one element per channel; that of the file where it has such a one. */
  const tensorNamed = (name: string, elementType: ElementType, channels: number): string => {
    for (let candidate = name, count = 2; ; candidate = `${name} (${count})`, count += 1) {
      const known = added.get(candidate) ?? stored.get(candidate);
      if (known === undefined) {
        added.set(candidate, { name: candidate, elementType, dimensions: [channels], storedBytes: 0 });
        return candidate;
      }
      if (known.dimensions.length === 1 && known.dimensions[0] === channels) return candidate;
    }
  };
  const nodes = graph.nodes.flatMap((node, index): readonly OnnxNode[] => {
    const standsFor = node.standsFor ?? index;
    const folded = foldedIn(node);
    if (folded === undefined && !lacksBias(node)) return [{ ...node, standsFor }];
    const weight = weightOf(node, analysis, stored);
    if (folded === undefined) {
      const bias = lostBiasOf(node);
      if (weight === undefined || bias === undefined) return [{ ...node, standsFor }];
      biases += 1;
      return [
        {
          ...node,
          inputs: [...node.inputs.slice(0, 2), tensorNamed(bias, weight.elementType, weight.channels)],
          standsFor,
        },
      ];
    }
    if (weight === undefined) {
      left += 1;
      return [{ ...node, standsFor }];
    }
    const { channels, elementType } = weight;
    const [, , before = ''] = node.inputs;
    const [output = ''] = node.outputs;
    const module = folded.module || output;
    const own = (name: string): string => tensorNamed(`${module}.${name}`, elementType, channels);
    const bias = biasOf(node, parameters);
    if (before !== '' && before !== bias) replaced.add(before);
    const result = `${output} before normalization`;
    const host: OnnxNode = {
      ...node,
      inputs: [
        ...node.inputs.slice(0, 2),
        ...(bias === undefined ? [] : [tensorNamed(bias, elementType, channels)]),
      ],
      outputs: [result],
      metadata: folded.keepsScope ? scopeOfHost(node, weight.axes) : node.metadata,
      standsFor,
    };
    const normalization: OnnxNode = {
      ...node,
      name: folded.keepsScope ? `${node.name}_BatchNormalization` : nameIn(module, node),
      type: 'BatchNormalization',
      inputs: [
        result,
        ...(folded.affine ? [own('weight'), own('bias')] : ['', '']),
        own('running_mean'),
        own('running_var'),
      ],
      attributes: new Map(),
      standsFor,
    };
    restored.push(folded);
    return [host, normalization];
  });
  return { model: { ...model, graph: withoutUnread(graph, nodes, added, replaced) }, restored, biases, left };
}

/** The graph with other nodes, without biases that nothing reads any more, and without copies of them. */
function withoutUnread(
  graph: OnnxGraph,
  nodes: readonly OnnxNode[],
  added: ReadonlyMap<string, TensorLiteral>,
  replaced: ReadonlySet<string>,
): OnnxGraph {
  const outputs = graph.outputs.map(({ name }) => name);
  const read = new Set([...outputs, ...nodes.flatMap(({ inputs }) => inputs)]);
  const isCopy = ({ type, outputs: [copy = ''] }: OnnxNode): boolean =>
    type === 'Identity' && replaced.has(copy) && !read.has(copy);
  const kept = nodes.filter((node) => !isCopy(node));
  const stillRead = new Set([...outputs, ...kept.flatMap(({ inputs }) => inputs)]);
  return {
    ...graph,
    nodes: kept,
    initializers: [
      ...graph.initializers.filter(({ name }) => !replaced.has(name) || stillRead.has(name)),
      ...added.values(),
    ],
  };
}

interface HostWeight {
  readonly channels: number;
  readonly elementType: ElementType;
  /** Spatial axes; none of a matmul. */
  readonly axes: number;
}

/** Of an operator's weight what the normalization behind it follows from; `undefined` where its shape is unknown. */
function weightOf(
  node: OnnxNode,
  { graph }: ModelAnalysis,
  stored: ReadonlyMap<string, TensorLiteral>,
): HostWeight | undefined {
  const [, name = ''] = node.inputs;
  const literal = stored.get(name);
  const type = graph.values.get(name)?.type;
  const inferred = type?.kind === 'tensor' ? type : undefined;
  const shape =
    literal?.dimensions ?? (inferred !== undefined && isKnownShape(inferred.shape) ? inferred.shape : []);
  const elementType = literal?.elementType ?? inferred?.elementType;
  const [first, second] = shape;
  if (typeof first !== 'number' || typeof second !== 'number' || elementType === undefined) return undefined;
  const integer = (name: string, otherwise: number): number => {
    const attribute = node.attributes.get(name);
    return attribute?.kind === 'int' ? attribute.value : otherwise;
  };
  const axes = shape.length - 2;
  switch (node.type) {
    case 'ConvTranspose':
      return { channels: second * integer('group', 1), elementType, axes };
    case 'Gemm':
      return { channels: integer('transB', 0) === 1 ? first : second, elementType, axes };
    default:
      return { channels: first, elementType, axes };
  }
}

/**
 * The bias that the operator had before a normalization was folded into it. The program's parameters say so; without them it is
 * one that is named like the weight.
 */
function biasOf({ inputs }: OnnxNode, parameters: ReadonlySet<string> | undefined): string | undefined {
  const [, weight = '', bias = ''] = inputs;
  const module = moduleOfWeight(weight);
  const own = `${module}.bias`;
  const had = parameters?.has(weight) ? parameters.has(own) : bias === own;
  return module !== '' && had ? own : undefined;
}

/** The parameter that stands for the bias in the recorded call of a product or convolution: `F.linear(x, self.weight, self.shift)`. */
function biasOfCall(
  { metadata }: OnnxNode,
  parameters: ReadonlySet<string> | undefined,
  placeholders: ReadonlyMap<string, string>,
): string | undefined {
  const call = metadata.get('pkg.torch.onnx.fx_node') ?? '';
  const read = /aten\.(?:linear|conv\d?d|convolution)\.default\]\(args = \([^,]+, [^,]+, %(\w+)/.exec(
    call,
  )?.[1];
  const name = placeholders.get(read ?? '');
  return name !== undefined && parameters?.has(name) ? name : undefined;
}

/** Names in the form of PyTorch's TorchScript exporter are paths of modules. */
const nameIn = (module: string, { name }: OnnxNode): string =>
  name.startsWith('/') ? `/${module}/BatchNormalization` : `${name}_BatchNormalization`;

/** The metadata of a node that has a normalization's, with the module of its weight instead. */
function scopeOfHost(node: OnnxNode, axes: number): OnnxNode['metadata'] {
  const scopes = scopeListOf(node);
  const module = moduleOfWeight(node.inputs[1] ?? '');
  if (scopes === undefined || module === '') return node.metadata;
  const around = scopes.names.flatMap((name, index) =>
    name === '' || module.startsWith(`${name}.`) ? [{ name, type: scopes.classes[index] ?? '' }] : [],
  );
  const layer =
    node.type === 'Gemm' ? 'torch.nn.modules.linear.Linear' : `torch.nn.modules.conv.${node.type}${axes}d`;
  const all = [
    ...around,
    { name: module, type: layer },
    { name: `${scopes.names.at(-1)}_input`, type: `aten.${node.type}` },
  ];
  return new Map([
    ['pkg.torch.onnx.name_scopes', pythonList(all.map(({ name }) => name))],
    ['pkg.torch.onnx.class_hierarchy', pythonList(all.map(({ type }) => type))],
  ]);
}
