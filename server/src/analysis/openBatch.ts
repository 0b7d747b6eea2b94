/**
 * Opens the batch of a model that was exported with a constant one, as exporters do unless told otherwise.
 *
 * The leading dimension of the inputs becomes a symbol, and what the exporter folded of it is undone: a constant
 * `Reshape` target leaves its leading size to the input. Whether that gave the same model is not assumed but
 * checked: no new contradiction, nothing unknown that was known, the same FLOPs at the file's own batch and, of
 * every operator, twice as many at twice the batch or the same at both. A model that fails the check keeps its
 * batch.
 */

import type { OnnxGraph, OnnxModel, OnnxNode, OnnxValueInfo } from '../formats/onnx/syntax.ts';
import type { TensorLiteral } from '../model/attribute.ts';
import { isKnownShape } from '../model/graph.ts';
import { analyzeOnnx } from './analyzeOnnx.ts';
import { bindTrainingGraph } from './bindTrainingGraph.ts';
import type { ModelAnalysis, TrainingGraph } from './modelAnalysis.ts';

/**
 * The analysis of `model` with its batch as a symbol whose default is the file's own batch; `undefined` where the
 * batch is open already or cannot be opened without changing the model. Worked out once per analysis, however many
 * scenarios ask for it: analyses never change.
 */
export function openBatch(model: OnnxModel, analysis: ModelAnalysis): ModelAnalysis | undefined {
  if (!openedBefore.has(analysis)) openedBefore.set(analysis, analyzeWithOpenBatch(model, analysis));
  return openedBefore.get(analysis);
}

const openedBefore = new WeakMap<ModelAnalysis, ModelAnalysis | undefined>();

function analyzeWithOpenBatch(model: OnnxModel, analysis: ModelAnalysis): ModelAnalysis | undefined {
  const { fixedBatch } = analysis;
  if (fixedBatch === undefined) return undefined;
  const name = unusedName(analysis);
  const data = new Set(analysis.graph.inputs);
  const graph = withOpenBatch(model.graph, data, fixedBatch, name);
  const reanalyzed = analyzeOnnx({ ...model, graph });
  if (reanalyzed.batchSymbol !== name || countFaults(reanalyzed) > countFaults(analysis)) return undefined;
  if (!isSameModel(analysis, reanalyzed, fixedBatch, name)) return undefined;
  return {
    ...reanalyzed,
    symbols: reanalyzed.symbols.map((symbol) =>
      symbol.name === name ? { name, default: fixedBatch } : symbol,
    ),
  };
}

function unusedName(analysis: ModelAnalysis): string {
  const taken = new Set(analysis.symbols.map((symbol) => symbol.name));
  return ['batch', 'N', 'batch_size'].find((name) => !taken.has(name)) ?? `batch_${taken.size}`;
}

/** `data` are the inputs that carry samples; inputs that carry weights keep their shapes. */
function withOpenBatch(graph: OnnxGraph, data: ReadonlySet<string>, batch: number, name: string): OnnxGraph {
  const constants = new Map(graph.initializers.map((tensor) => [tensor.name, tensor]));
  for (const node of graph.nodes) {
    const value = node.type === 'Constant' ? node.attributes.get('value') : undefined;
    const [output] = node.outputs;
    if (value?.kind === 'tensor' && output !== undefined) constants.set(output, value.value);
  }
  const added: TensorLiteral[] = [];
  const nodes = graph.nodes.map((node, index) => openReshape(node, index, batch, constants, added));
  return {
    ...graph,
    nodes,
    inputs: graph.inputs.map((info) => (data.has(info.name) ? openLeading(info, batch, name) : info)),
    // Declared shapes repeat the constant batch; they are inferred again.
    outputs: graph.outputs.map(({ name: output }) => ({ name: output, type: undefined })),
    valueInfos: [],
    initializers: [...graph.initializers, ...added],
  };
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

function isSameModel(closed: ModelAnalysis, open: ModelAnalysis, batch: number, name: string): boolean {
  if (closed.graph.operators.length !== open.graph.operators.length) return false;
  const before = bindTrainingGraph(closed, new Map(), 'training');
  const same = bindTrainingGraph(open, new Map([[name, batch]]), 'training');
  const twice = bindTrainingGraph(open, new Map([[name, 2 * batch]]), 'training');
  const grows = open.graph.outputs.some((output) => {
    const type = open.graph.values.get(output)?.type;
    return type?.kind === 'tensor' && isKnownShape(type.shape) && typeof type.shape[0] !== 'number';
  });
  return grows && before.costs.every((_, index) => agrees(index, before, same, twice));
}

function agrees(index: number, before: TrainingGraph, same: TrainingGraph, twice: TrainingGraph): boolean {
  const [a, b, c] = [before.costs[index], same.costs[index], twice.costs[index]];
  if (a?.kind !== 'known') return true;
  if (b?.kind !== 'known' || c?.kind !== 'known') return false;
  const [forward, again, doubled] = [a.forward.flops, b.forward.flops, c.forward.flops];
  return forward === again && (doubled === 2 * forward || doubled === forward);
}
