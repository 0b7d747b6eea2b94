/** Calls that the exporter merged, as operators of their own again; their weights are split afterwards. */

import { placeholdersOfProgram, readByCall } from '../formats/onnx/recordedCalls.ts';
import type { OnnxGraph, OnnxNode } from '../formats/onnx/syntax.ts';
import type { FlatNode } from './expandFunctions.ts';
import { type MergedCall, mergedCalls } from './recordedMerges.ts';

/** The same nodes where none was merged, or where it is not recorded. */
export function splitRecordedCalls(
  nodes: readonly FlatNode[],
  graph: OnnxGraph,
  lost: ReadonlySet<string>,
): readonly FlatNode[] {
  const merged = mergedCalls(graph, lost);
  if (merged.length === 0) return nodes;
  const placeholders = placeholdersOfProgram(graph) ?? new Map<string, string>();
  const behind = new Map<OnnxNode, MergedCall[]>();
  const instead = new Map<OnnxNode, Map<string, string>>();
  for (const call of merged) {
    behind.set(call.kept, [...(behind.get(call.kept) ?? []), call]);
    for (const reader of call.readers) {
      const names = instead.get(reader) ?? new Map<string, string>();
      instead.set(reader, names.set(call.kept.outputs[0] ?? '', call.call));
    }
  }
  const scopes = new Map(nodes.map(({ node, scope }) => [node, scope]));
  return nodes.flatMap((flat) => {
    const names = instead.get(flat.node);
    const inputs = flat.node.inputs.map((name) => names?.get(name) ?? name);
    const own = names === undefined ? flat : { ...flat, node: { ...flat.node, inputs } };
    const copies = (behind.get(flat.node) ?? []).map((call) => copyOf(flat, call, placeholders, scopes));
    return [own, ...copies];
  });
}

/** The operator as one of the module that the merged call was in. */
function copyOf(
  flat: FlatNode,
  { call, module, readers }: MergedCall,
  placeholders: ReadonlyMap<string, string>,
  scopes: ReadonlyMap<OnnxNode, FlatNode['scope']>,
): FlatNode {
  const { node, scope } = flat;
  const around = readers[0] === undefined ? [] : (scopes.get(readers[0])?.paths ?? []);
  const paths = [...around.filter((path) => module.startsWith(`${path}.`)), module];
  return {
    ...flat,
    node: {
      ...node,
      name: `${node.name}@${module}`,
      outputs: [call, ...node.outputs.slice(1).map((output) => (output === '' ? '' : `${output}@${call}`))],
      metadata: withCall(node, call, module, placeholders),
    },
    scope: {
      ...scope,
      paths,
      ...(scope.call === undefined ? {} : { call: { ...scope.call, name: `${scope.call.name}@${module}` } }),
    },
  };
}

/** The recorded call with the parameters of the other module, by their last names. */
function withCall(
  node: OnnxNode,
  call: string,
  module: string,
  placeholders: ReadonlyMap<string, string>,
): OnnxNode['metadata'] {
  const key = 'pkg.torch.onnx.fx_node';
  const byTarget = new Map([...placeholders].map(([placeholder, target]) => [target, placeholder]));
  let text = (node.metadata.get(key) ?? '').replace(/^%\w+ :/, `%${call} :`);
  for (const target of readByCall(node, placeholders) ?? []) {
    const old = byTarget.get(target);
    const next = byTarget.get(`${module}${target.slice(target.lastIndexOf('.'))}`);
    if (old !== undefined && next !== undefined)
      text = text.replace(new RegExp(`%${old}\\b`, 'g'), `%${next}`);
  }
  return new Map([...node.metadata, [key, text]]);
}
