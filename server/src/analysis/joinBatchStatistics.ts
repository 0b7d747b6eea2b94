/**
 * One batch normalization in training for the operators that PyTorch's exporters write where it has no running statistics.
 *
 * `torch.nn.functional.batch_norm(x, None, None, training=True)` is one call: layers with `track_running_stats=False`, and kernels
 * that are standardized (Qiao et al., arXiv 1903.10520). Exporters write mean and variance of the batch before a
 * `BatchNormalization` that takes them as if they were stored: torch/onnx/_internal/torchscript_exporter/symbolic_helper.py,
 * `_batchnorm_helper`; onnxscript/function_libs/torch_lib/ops/core.py, `_aten_native_batch_norm_training_onnx`.
 */

import type { OnnxNode } from '../formats/onnx/syntax.ts';
import type { TensorLiteral } from '../model/attribute.ts';
import type { FlatNode, StoredGraph } from './expandFunctions.ts';

export function joinBatchStatistics(stored: StoredGraph): StoredGraph {
  const { nodes, graph } = stored;
  const normalizations = nodes.filter(({ node }) => node.type === 'BatchNormalization');
  if (normalizations.length === 0) return stored;
  const producers = new Map(nodes.map(({ node }) => [node.outputs[0] ?? '', node] as const));
  const dimensions = knownDimensions(stored);
  const initializers: TensorLiteral[] = [];
  const joined = new Map<OnnxNode, OnnxNode>();
  const unused = new Set<OnnxNode>();
  for (const { node } of normalizations) {
    const statistics = batchStatistics(node, producers);
    const [input = '', scale = '', bias = ''] = node.inputs;
    const channels = dimensions.get(scale)?.[0] ?? dimensions.get(input)?.[1];
    if (statistics === undefined || channels === undefined) continue;
    const running = ['running_mean', 'running_var'].map(
      (name): TensorLiteral => ({
        name: `${node.outputs[0]} (${name})`,
        elementType: 'float32',
        dimensions: [channels],
        storedBytes: 0,
      }),
    );
    initializers.push(...running);
    joined.set(node, {
      ...node,
      inputs: [input, scale, bias, ...running.map(({ name }) => name)],
      attributes: new Map([...node.attributes, ['training_mode', { kind: 'int', value: 1 }]]),
    });
    for (const each of statistics) unused.add(each);
  }
  if (joined.size === 0) return stored;
  const outputs = new Set(graph.outputs.map(({ name }) => name));
  const left: FlatNode[] = [];
  const read = new Set<string>();
  // What else reads a statistic keeps what it is computed by.
  for (const flat of nodes.toReversed()) {
    const node = joined.get(flat.node) ?? flat.node;
    if (unused.has(node) && !node.outputs.some((name) => read.has(name) || outputs.has(name))) continue;
    for (const name of node.inputs) read.add(name);
    left.push(node === flat.node ? flat : { ...flat, node });
  }
  return {
    nodes: left.toReversed(),
    graph: { ...graph, initializers: [...graph.initializers, ...initializers] },
  };
}

/** The operators that compute mean and variance of the batch; `undefined` where they are something else. */
function batchStatistics(
  { inputs }: OnnxNode,
  producers: ReadonlyMap<string, OnnxNode>,
): readonly OnnxNode[] | undefined {
  const [input, , , meanName = '', varianceName = ''] = inputs;
  const isMean = (node: OnnxNode | undefined): node is OnnxNode =>
    node?.type === 'ReduceMean' && node.inputs[0] === input;
  const mean = producers.get(meanName);
  const variance = producers.get(varianceName);
  const square = variance?.type === 'ReduceMean' ? producers.get(variance.inputs[0] ?? '') : undefined;
  const [one, other] = square?.type === 'Mul' ? square.inputs : [];
  const centred = one !== undefined && one === other ? producers.get(one) : undefined;
  const centre = centred?.type === 'Sub' && centred.inputs[0] === input ? centred.inputs[1] : undefined;
  const again = producers.get(centre ?? '');
  if (variance === undefined || square === undefined || centred === undefined) return undefined;
  return isMean(mean) && isMean(again) ? [mean, again, centred, square, variance] : undefined;
}

/** Sizes of tensors that are stored or declared, by name. */
function knownDimensions({ graph }: StoredGraph): ReadonlyMap<string, readonly (number | undefined)[]> {
  const known = new Map<string, readonly (number | undefined)[]>();
  for (const { name, type } of graph.valueInfos) {
    if (type?.kind !== 'tensor' || type.shape === undefined) continue;
    known.set(
      name,
      type.shape.map((size) => (typeof size === 'number' ? size : undefined)),
    );
  }
  for (const { name, dimensions } of graph.initializers) known.set(name, dimensions);
  return known;
}
