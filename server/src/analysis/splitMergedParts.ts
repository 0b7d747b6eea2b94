/**
 * Parts of weights that are equal when a model is exported, and that one operator takes from one tensor for several modules.
 *
 * Attention takes its packed weights apart (`in_proj_bias`, all zeros before training), and the exporter records no call beside the Split
 * (torchlib writes it of a sequence, onnxscript's optimizer puts it together). Equal ones are merged: their tensors, and then the
 * operators. The modules that read the parts say whose weight it is: `decoder.attention` reads parts of
 * `decoder.attention.in_proj_bias`, where the program has a parameter of that name.
 */

import { placeholdersOfProgram } from '../formats/onnx/recordedCalls.ts';
import type { TensorLiteral } from '../model/attribute.ts';
import { isFloatingPoint } from '../model/elementType.ts';
import { lastOfName } from '../model/tensorNames.ts';
import type { FlatNode, StoredGraph } from './expandFunctions.ts';
import { qualifiedName } from './moduleScope.ts';
import { callOf } from './recordedMerges.ts';
import { sourceOf } from './sourceOfTensor.ts';

/** With an operator and a tensor for each parameter; the same graph where none was merged, or where no parameters are recorded. */
export function splitMergedParts(stored: StoredGraph): StoredGraph {
  const { nodes, graph } = stored;
  const parameterOf = parametersOfParts(stored);
  if (parameterOf === undefined) return stored;
  const tensors = new Map(graph.initializers.map((tensor) => [tensor.name, tensor]));
  const byName = new Set(tensors.keys());
  const added: TensorLiteral[] = [];
  const instead = new Map<FlatNode, Map<string, string>>();
  const copies = new Map<FlatNode, FlatNode[]>();
  for (const flat of nodes) {
    const [name = '', ...others] = flat.node.inputs;
    const tensor = tensors.get(name);
    const groups = tensor === undefined ? undefined : parameterOf(flat);
    if (tensor === undefined || groups === undefined) continue;
    for (const [parameter, readers] of groups) {
      if (parameter === sourceOf(tensor)) continue;
      if (!byName.has(parameter)) {
        byName.add(parameter);
        const { origin: _, ...rest } = tensor;
        added.push({ ...rest, name: parameter });
      }
      const renamed = new Map(flat.node.outputs.map((output) => [output, `${output}@${parameter}`]));
      const node = {
        ...flat.node,
        name: `${flat.node.name}@${parameter}`,
        inputs: [parameter, ...others],
        outputs: [...renamed.values()],
      };
      copies.set(flat, [...(copies.get(flat) ?? []), { ...flat, node }]);
      for (const reader of readers)
        instead.set(reader, new Map([...(instead.get(reader) ?? []), ...renamed]));
    }
  }
  if (copies.size === 0) return stored;
  const separated = nodes.flatMap((flat): readonly FlatNode[] => {
    const names = instead.get(flat);
    const inputs = flat.node.inputs.map((name) => names?.get(name) ?? name);
    const own = names === undefined ? flat : { ...flat, node: { ...flat.node, inputs } };
    return [own, ...(copies.get(flat) ?? [])];
  });
  const read = new Set([
    ...graph.outputs.map(({ name }) => name),
    ...separated.flatMap(({ node }) => node.inputs),
  ]);
  return {
    nodes: separated.filter((flat) => !copies.has(flat) || flat.node.outputs.some((name) => read.has(name))),
    graph: { ...graph, initializers: [...graph.initializers, ...added] },
  };
}

/**
 * Tells by parameter which operators read parts of it that one operator takes from a stored tensor; `undefined` for other operators, and
 * where one reader stands in a module without such a parameter.
 */
export function parametersOfParts({
  nodes,
  graph,
}: StoredGraph): ((flat: FlatNode) => ReadonlyMap<string, readonly FlatNode[]> | undefined) | undefined {
  const parameters = new Set(placeholdersOfProgram(graph)?.values());
  const tensors = new Map(
    graph.initializers.flatMap((tensor) =>
      isFloatingPoint(tensor.elementType) ? [[tensor.name, tensor] as const] : [],
    ),
  );
  const isPart = ({ node }: FlatNode): boolean =>
    (node.type === 'Split' || node.type === 'Slice') &&
    tensors.has(node.inputs[0] ?? '') &&
    callOf(node) === undefined;
  const parts = nodes.filter(isPart);
  if (parameters.size === 0 || parts.length === 0) return undefined;
  const wanted = new Set(parts.flatMap(({ node }) => node.outputs));
  const readers = new Map<string, FlatNode[]>();
  for (const flat of nodes) {
    for (const name of new Set(flat.node.inputs)) {
      if (wanted.has(name)) readers.set(name, [...(readers.get(name) ?? []), flat]);
    }
  }
  return (flat) => {
    const tensor = tensors.get(flat.node.inputs[0] ?? '');
    if (tensor === undefined || !isPart(flat)) return undefined;
    const leaf = lastOfName(sourceOf(tensor));
    const groups = new Map<string, FlatNode[]>();
    for (const reader of new Set(flat.node.outputs.flatMap((name) => readers.get(name) ?? []))) {
      const module = qualifiedName(reader.scope);
      const parameter = module === '' ? leaf : `${module}.${leaf}`;
      if (!parameters.has(parameter)) return undefined;
      groups.set(parameter, [...(groups.get(parameter) ?? []), reader]);
    }
    return groups.size === 0 ? undefined : groups;
  };
}
