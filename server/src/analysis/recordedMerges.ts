/**
 * Calls with parameters that the exporter merged with an equal one, as fresh normalizations of one input are equal.
 *
 * The operators behind still have their calls recorded: where one reads `layer_norm_3` in the file, and `%layer_norm_4` in
 * its call, and no operator is of that call, `layer_norm_4` was merged into `layer_norm_3` (onnxscript 0.5 and later,
 * `CommonSubexpressionEliminationPass`). Its module is the one that the reader's module has, whose parameters nothing reads.
 */

import { placeholdersOfProgram, readByCall } from '../formats/onnx/recordedCalls.ts';
import type { OnnxGraph, OnnxNode } from '../formats/onnx/syntax.ts';
import { lastOfName, moduleOfName } from '../model/tensorNames.ts';
import { scopeListOf } from './moduleScope.ts';

export interface MergedCall {
  /** The operator that stands for both calls. */
  readonly kept: OnnxNode;
  /** The name of the result that is gone, which is mostly that of its call. */
  readonly call: string;
  /** The module whose parameters it read. */
  readonly module: string;
  /** Operators that read its result. */
  readonly readers: readonly OnnxNode[];
}

/** `lost`: modules of which the file has no operator. A merge whose module stays open is left out. */
export function mergedCalls(graph: OnnxGraph, lost: ReadonlySet<string>): readonly MergedCall[] {
  const placeholders = placeholdersOfProgram(graph);
  if (placeholders === undefined || lost.size === 0) return [];
  const leaves = new Map<string, Set<string>>();
  for (const name of placeholders.values()) {
    const module = moduleOfName(name);
    leaves.set(module, (leaves.get(module) ?? new Set()).add(name.slice(module.length + 1)));
  }
  const operatorsOf = new Map<string, OnnxNode[]>();
  const present = new Set<string>();
  for (const node of graph.nodes) {
    for (const output of node.outputs) present.add(output);
    const name = callOf(node)?.name;
    if (name === undefined) continue;
    present.add(name);
    operatorsOf.set(name, [...(operatorsOf.get(name) ?? []), node]);
  }
  /** Operators with parameters that read nothing of their own call's other operators, by their result: the call's name, or `getitem` where it gives several. */
  const whole = new Map<string, OnnxNode>();
  for (const operators of operatorsOf.values()) {
    const made = new Set(operators.flatMap(({ outputs }) => outputs));
    for (const node of operators) {
      const isWhole = !node.inputs.some((name) => made.has(name));
      if (isWhole && readByCall(node, placeholders)?.length) whole.set(node.outputs[0] ?? '', node);
    }
  }
  const found = new Map<string, { kept: OnnxNode; call: string; readers: OnnxNode[] }>();
  for (const node of graph.nodes) {
    const call = callOf(node);
    for (const input of call === undefined ? [] : node.inputs) {
      const kept = whole.get(input);
      if (kept === undefined || call === undefined || call.read.includes(input)) continue;
      const gone = call.read.filter(
        (name) => !present.has(name) && !placeholders.has(name) && kindOf(name) === kindOf(input),
      );
      const [name] = gone;
      if (name === undefined || gone.length > 1) continue;
      const known = found.get(name);
      if (known === undefined) found.set(name, { kept, call: name, readers: [node] });
      else known.readers.push(node);
    }
  }
  const taken = new Set<string>();
  return [...found.values()].flatMap((merged) => {
    const module = moduleOfCall(merged, lost, leaves, placeholders, taken);
    if (module === undefined) return [];
    taken.add(module);
    return [{ ...merged, module }];
  });
}

/** The lost module with the same parameters that a module around the reader has; of several the one with the same last name. */
function moduleOfCall(
  { kept, readers }: Pick<MergedCall, 'kept' | 'readers'>,
  lost: ReadonlySet<string>,
  leaves: ReadonlyMap<string, ReadonlySet<string>>,
  placeholders: ReadonlyMap<string, string>,
  taken: ReadonlySet<string>,
): string | undefined {
  const [read = ''] = readByCall(kept, placeholders) ?? [];
  const own = moduleOfName(read);
  const wanted = [...(leaves.get(own) ?? [])].sort().join();
  const around = new Set(
    readers
      .flatMap((node) => scopeListOf(node)?.names.slice(0, -1) ?? [])
      .flatMap((name) => [name, moduleOfName(name)]),
  );
  const modules = [...lost].filter(
    (module) =>
      !taken.has(module) &&
      around.has(moduleOfName(module)) &&
      [...(leaves.get(module) ?? [])].sort().join() === wanted,
  );
  const alike = modules.filter((module) => lastOfName(module) === lastOfName(own));
  if (modules.length === 1) return modules[0];
  return alike.length === 1 ? alike[0] : undefined;
}

/** `%linear_2 : … (args = (%layer_norm_1, %p_fc_weight, …` */
export function callOf({
  metadata,
}: OnnxNode): { readonly name: string; readonly read: readonly string[] } | undefined {
  const text = metadata.get('pkg.torch.onnx.fx_node');
  const name = /^%(\w+) :/.exec(text ?? '')?.[1];
  if (text === undefined || name === undefined) return undefined;
  const read = [...text.slice(name.length + 1).matchAll(/%(\w+)/g)].map(([, each = '']) => each);
  return { name, read };
}

/** `layer_norm` of `layer_norm_4`: calls of one function are numbered (torch.fx, `_Namespace.create_name`). */
export const kindOf = (name: string): string => name.replace(/_\d+$/, '');
