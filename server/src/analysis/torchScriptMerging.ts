/** What the TorchScript exporter of PyTorch merges, and what that says of weights that a program ties. */

import type { FlatNode, StoredGraph } from './expandFunctions.ts';
import { holdsGraph } from './subgraphs.ts';

/**
 * Whether the TorchScript exporter saw the model in training mode: it then merges what lies in one place of memory, which the program
 * ties, and leaves equal weights apart (torch/csrc/jit/passes/onnx/deduplicate_initializers.cpp, `is_train`). In evaluation mode it
 * keeps the name of a parameter that it merges.
 */
export function mergesTiedOnly({ nodes }: StoredGraph): boolean {
  if (!isAsWritten(nodes) || nodes.some(({ node }) => holdsGraph(node.attributes))) return false;
  if (nodes.some((flat) => isParameterPath(mergedBy(flat)?.output ?? ''))) return false;
  return nodes.some(({ node }) => isInTraining(node));
}

/** Whether constants are nodes of their own, as before any optimizer. */
export const isAsWritten = (nodes: readonly FlatNode[]): boolean =>
  nodes.some(
    ({ node: { type, outputs } }) => type === 'Constant' && /^\/.*_output_0$/.test(outputs[0] ?? ''),
  );

/** It leaves out dropout that does nothing. */
function isInTraining({ type, attributes }: FlatNode['node']): boolean {
  const mode = attributes.get('training_mode');
  return type === 'Dropout' || (type === 'BatchNormalization' && mode?.kind === 'int' && mode.value === 1);
}

/** What was merged is read by the name that is stored. */
export function readThroughMerging(stored: StoredGraph): StoredGraph {
  const tensors = new Set(stored.graph.initializers.map(({ name }) => name));
  const sources = new Map<string, string>();
  for (const flat of stored.nodes) {
    const { source, output } = mergedBy(flat) ?? {};
    if (source !== undefined && output !== undefined && tensors.has(source)) sources.set(output, source);
  }
  if (sources.size === 0) return stored;
  const nodes = stored.nodes.flatMap((flat) => {
    if (sources.has(flat.node.outputs[0] ?? '')) return [];
    if (!flat.node.inputs.some((name) => sources.has(name))) return [flat];
    const inputs = flat.node.inputs.map((name) => sources.get(name) ?? name);
    return [{ ...flat, node: { ...flat.node, inputs } }];
  });
  return { ...stored, nodes };
}

/** What an Identity of the TorchScript exporter merges: the tensor that was removed, and the one that is stored. */
export function mergedBy({
  node,
  scope,
}: FlatNode): { readonly source: string; readonly output: string } | undefined {
  const [source = ''] = node.inputs;
  const [output = ''] = node.outputs;
  const isMerging = isParameterPath(output) || output.startsWith('onnx::');
  return node.type === 'Identity' && scope.paths.length === 0 && isMerging ? { source, output } : undefined;
}

/** A name as PyTorch gives parameters: attributes joined by dots. */
export const isParameterPath = (name: string): boolean => /^\w+(\.\w+)+$/.test(name);
