/**
 * Activations that a program computes several times, and an export once.
 *
 * PyTorch's exporter merges equal operators before it converts any (2.x torch/onnx/utils.py, `_optimize_graph`,
 * `_jit_pass_cse`). Cells of an architecture search begin each branch with a ReLU of the same value: the graph has one,
 * though each is computed, and kept for backward, by itself. Names tell: what a module makes of a value from outside, and
 * goes on with, modules beside it can only have made themselves. Each of them gets its own again.
 */

import type { OnnxGraph } from '../formats/onnx/syntax.ts';
import { hasTrait } from '../operators/operatorFacts.ts';
import type { FlatNode } from './expandFunctions.ts';

export function splitMergedCalls(nodes: readonly FlatNode[], graph: OnnxGraph): readonly FlatNode[] {
  if (!areActivationsShared(nodes)) return nodes;
  const producers = new Map<string, FlatNode>();
  const readers = new Map<string, number[]>();
  for (const [index, flat] of nodes.entries()) {
    for (const name of flat.node.outputs) producers.set(name, flat);
    for (const name of flat.node.inputs) {
      const others = readers.get(name);
      if (others === undefined) readers.set(name, [index]);
      else others.push(index);
    }
  }
  const weights = new Set(graph.initializers.map(({ name }) => name));
  const isAlone = (flat: FlatNode): boolean => {
    const module = flat.scope.paths.at(-1);
    return (readers.get(flat.node.outputs[0] ?? '') ?? []).every(
      (index) => nodes[index]?.scope.paths.at(-1) !== module,
    );
  };
  /** Copies that stand before a node, and what a node reads in the place of what it read. */
  const copies = new Map<number, FlatNode[]>();
  const instead = new Map<number, Map<string, string>>();
  for (const flat of nodes) {
    const { node, scope } = flat;
    const [source = ''] = node.inputs;
    const [result = ''] = node.outputs;
    const reading = readers.get(result) ?? [];
    if (!hasTrait(node, 'activation') || reading.length < 2 || weights.has(source)) continue;
    // A module that is the activation alone is called by the one around it.
    const callers = isAlone(flat) ? scope.paths.slice(0, -1) : scope.paths;
    const caller = callers.at(-1);
    const isInside = ({ scope: { paths } }: FlatNode): boolean => paths[callers.length - 1] === caller;
    const producer = producers.get(source);
    if (caller === undefined || (producer !== undefined && isInside(producer))) continue;
    const outside = reading.filter((index) => {
      const reader = nodes[index];
      return reader !== undefined && !isInside(reader);
    });
    if (outside.length === reading.length) continue;
    const names = new Map<string, string>();
    for (const index of outside) {
      const { paths } = nodes[index]?.scope ?? scope;
      const module = paths[Math.min(callers.length, paths.length) - 1];
      if (module === undefined) continue;
      const name = names.get(module) ?? `${result}@${module}`;
      if (!names.has(module)) {
        names.set(module, name);
        copies.set(index, [...(copies.get(index) ?? []), copyOf(flat, module, paths, callers.length, name)]);
      }
      instead.set(index, (instead.get(index) ?? new Map()).set(result, name));
    }
  }
  if (copies.size === 0) return nodes;
  return nodes.flatMap((flat, index) => {
    const names = instead.get(index);
    if (names === undefined) return [flat];
    const inputs = flat.node.inputs.map((name) => names.get(name) ?? name);
    return [...(copies.get(index) ?? []), { ...flat, node: { ...flat.node, inputs } }];
  });
}

/** Whether there are activations in modules, and any is read more than once: most large networks have none. */
function areActivationsShared(nodes: readonly FlatNode[]): boolean {
  const results = new Set<string>();
  let inModule = false;
  for (const { node, scope } of nodes) {
    if (!hasTrait(node, 'activation')) continue;
    results.add(node.outputs[0] ?? '');
    inModule ||= scope.paths.length > 1;
  }
  if (!inModule) return false;
  const read = new Set<string>();
  for (const { node } of nodes) {
    for (const name of node.inputs) {
      if (!results.has(name)) continue;
      if (read.has(name)) return true;
      read.add(name);
    }
  }
  return false;
}

/** The call of an activation as one of a module beside. */
function copyOf(
  flat: FlatNode,
  module: string,
  paths: readonly string[],
  depth: number,
  output: string,
): FlatNode {
  const { node, scope } = flat;
  const own = scope.paths.length > depth ? `${module}/${scope.paths.at(-1)?.split('/').at(-1)}` : module;
  const around = paths.slice(0, Math.min(depth, paths.length));
  return {
    ...flat,
    node: { ...node, name: `${own}/${node.type}`, outputs: [output] },
    scope: { ...scope, paths: own === module ? around : [...around, own] },
  };
}
