/**
 * Attention operators as a model that writes attention out runs them: `matmul`, a scale, a mask, `softmax`, `matmul`
 * (transformers, `eager_attention_forward`). Scores and probabilities are then tensors of their own, kept for backward.
 */

import type { OnnxGraph, OnnxModel, OnnxNode } from '../formats/onnx/syntax.ts';
import type { ProvidedStructure } from '../lowering/providedStructure.ts';
import { isKnownShape } from '../model/graph.ts';
import { analyzeOnnx } from './analyzeOnnx.ts';
import type { ModelAnalysis } from './modelAnalysis.ts';
import type { OpenedModel } from './openedModel.ts';
import {
  type Attributes,
  integerOf,
  type NodeWriter,
  numberOf,
  startWriting,
} from './restoration/nodeWriter.ts';

/**
 * `opened` with every `Attention` of the standard written out, but those whose line says that they are one kernel, and those
 * with a cache or a cap; the same graph where there is none. Worked out once for each analysis.
 */
export function writeOutAttention(opened: OpenedModel): OpenedModel {
  const { analysis, structure } = opened;
  const model = opened.trained ?? opened.described ?? opened.onnx;
  if (analysis === undefined || model === undefined) return opened;
  const known = written.get(analysis) ?? changesOf(model, analysis, structure);
  written.set(analysis, known);
  return { ...opened, ...known };
}

type Changes = Partial<Pick<OpenedModel, 'analysis' | 'trained'>>;

const written = new WeakMap<ModelAnalysis, Changes>();

function changesOf(
  model: OnnxModel,
  analysis: ModelAnalysis,
  structure: ProvidedStructure | undefined,
): Changes {
  const { graph } = model;
  if (!graph.nodes.some(isAttention)) return {};
  const shapeOf: ShapeOf = (name) => {
    const type = analysis.graph.values.get(name)?.type;
    return type?.kind === 'tensor' && isKnownShape(type.shape) ? type.shape : undefined;
  };
  const { writer, take, added } = startWriting(
    graph,
    newestOpset,
    (name) => analysis.graph.values.get(name)?.type,
  );
  const stays = new Set(
    structure?.layers.flatMap((layer) => (layer.marks?.fusedAttention ? layer.nodes : [])),
  );
  const shares = new Map(
    structure?.layers.flatMap(({ nodes: own, marks }) =>
      own.map((node) => [node, marks?.attentionDropout ?? 0] as const),
    ),
  );
  const nodes: OnnxNode[] = [];
  for (const [index, node] of graph.nodes.entries()) {
    const isWritten =
      isAttention(node) && !stays.has(index) && writeAttention(node, writer, shapeOf, shares.get(index));
    const instead = take();
    const standing = isWritten ? instead : [node];
    nodes.push(...standing.map((each) => ({ ...each, standsFor: node.standsFor ?? index })));
  }
  if (nodes.length === graph.nodes.length) return {};
  const changed: OnnxGraph = { ...graph, nodes, initializers: [...graph.initializers, ...added.values()] };
  const trained = { ...model, graph: changed };
  // Nodes say which of the file they stand for, so that its layers and repetitions hold as they are.
  return { analysis: analyzeOnnx(trained, structure), trained };
}

type ShapeOf = (name: string) => readonly unknown[] | undefined;

/** Nothing that is written here depends on the version. */
const newestOpset = 23;

const isAttention = ({ type, domain }: OnnxNode): boolean =>
  type === 'Attention' && (domain === '' || domain === 'ai.onnx');

/** `dropout`: the share of weights that is zeroed. */
function writeAttention(node: OnnxNode, writer: NodeWriter, shapeOf: ShapeOf, dropout = 0): boolean {
  const [query = '', key = '', value = '', mask = '', ...past] = node.inputs;
  const [output = '', ...others] = node.outputs;
  if (past.some((name) => name !== '') || others.some((name) => name !== '')) return false;
  const { attributes } = node;
  const isPacked = shapeOf(query)?.length === 3;
  const heads = isPacked ? integerOf(attributes, 'q_num_heads', 0) : shapeOf(query)?.[1];
  const groups = isPacked ? integerOf(attributes, 'kv_num_heads', 0) : shapeOf(key)?.[1];
  if (typeof heads !== 'number' || typeof groups !== 'number' || heads <= 0 || groups <= 0) return false;
  if (numberOf(attributes, 'softcap', 0) !== 0 || heads % groups !== 0) return false;
  const add = (
    type: string,
    inputs: readonly string[],
    given: Attributes = new Map(),
    last?: string,
  ): string =>
    writer.add(node, {
      type,
      inputs,
      attributes: given,
      name: `${node.name}_${type}`,
      ...(last === undefined ? {} : { output: last }),
    });
  const integers = (...values: readonly number[]): string => writer.numbers('int64', [values.length], values);
  const perHead = (name: string, count: number): string =>
    isPacked
      ? add('Transpose', [add('Reshape', [name, integers(0, 0, count, -1)])], order(0, 2, 1, 3))
      : name;
  /** A group of keys for each head that shares it, as `repeat_kv` makes them. */
  const repeated = (name: string): string => {
    if (heads === groups) return name;
    const apart = add('Unsqueeze', [name, integers(2)]);
    const expanded = add('Expand', [apart, integers(1, 1, heads / groups, 1, 1)]);
    const shape = shapeOf(name);
    const size = shape?.length === 4 ? shape[3] : undefined;
    const width = shapeOf(key)?.[2];
    const each = typeof size === 'number' ? size : typeof width === 'number' ? width / groups : 1;
    return add('Reshape', [expanded, integers(0, heads, -1, each)]);
  };
  const [queries, keys, values] = [perHead(query, heads), perHead(key, groups), perHead(value, groups)];
  const turned = add('Transpose', [repeated(keys)], order(0, 1, 3, 2));
  const product = add('MatMul', [queries, turned]);
  const scaled = add('Mul', [product, writer.numbers('float32', [], [0.125])]);
  const own = integerOf(attributes, 'is_causal', 0) === 1 ? 'causal_mask' : mask;
  const causal = (name: string): string => writer.tensor(name, 'float32', [1, 1, 1, 1]);
  // `convert_boolean_attn_mask` of PyTorch makes 0 and −∞ of what may be seen and what may not.
  const asNumbers = (name: string): string =>
    writer.elementType(name) === 'bool'
      ? add('Where', [name, writer.numbers('float32', [], [0]), writer.numbers('float32', [], [-65504])])
      : name;
  const masked = own === '' ? scaled : add('Add', [scaled, own === mask ? asNumbers(mask) : causal(own)]);
  const softmax = add('Softmax', [masked], new Map([['axis', { kind: 'int', value: -1 }]]));
  const weights =
    dropout === 0
      ? softmax
      : add('Dropout', [softmax, writer.numbers('float32', [], [dropout]), writer.numbers('bool', [], [1])]);
  if (!isPacked) {
    add('MatMul', [weights, repeated(values)], new Map(), output);
    return true;
  }
  const joined = add('Transpose', [add('MatMul', [weights, repeated(values)])], order(0, 2, 1, 3));
  add('Reshape', [joined, integers(0, 0, -1)], new Map(), output);
  return true;
}

const order = (...axes: readonly number[]): Attributes => new Map([['perm', { kind: 'ints', value: axes }]]);
