/**
 * Modules of the exported program of which the file has no operator, by its record of parameters and calls.
 *
 * The exporter's optimizer merges operators that compute the same from equal tensors, as fresh normalizations of one input do
 * (onnxscript 0.5, `CommonSubexpressionEliminationPass`), and computes beforehand what depends on parameters alone.
 */

import { parametersOfProgram } from '../../formats/onnx/graphSignature.ts';
import { placeholdersOfProgram, readByCall } from '../../formats/onnx/recordedCalls.ts';
import type { OnnxGraph, OnnxModel, OnnxNode } from '../../formats/onnx/syntax.ts';
import { lastOfName, moduleOfName } from '../../model/tensorNames.ts';
import { scopeListOf } from '../moduleScope.ts';

/** Modules of the program with parameters, none of which an operator of the file reads. */
export function namesOfLostModules({
  graph,
  functions,
}: Pick<OnnxModel, 'graph' | 'functions'>): ReadonlySet<string> {
  const parameters = parametersOfProgram(graph);
  if (parameters === undefined || functions.length > 0) return new Set();
  const present = new Set<string>();
  /** Modules with operators of their own, which may read parameters of modules below, as attention does those of `out_proj`. */
  const reading = new Set<string>();
  for (const { names } of graph.nodes.flatMap((node) => scopeListOf(node) ?? [])) {
    for (const name of names) present.add(name);
    reading.add(names.at(-2) ?? '');
  }
  if (present.size === 0) return new Set();
  const calls = recordedCalls(graph);
  const known = new Set(
    graph.initializers.flatMap(({ name, origin }) => [name, ...(origin?.foldedFrom ?? [])]).map(moduleOfName),
  );
  const isLost = (module: string): boolean =>
    module !== '' &&
    !present.has(module) &&
    !known.has(module) &&
    (calls === undefined
      ? !reading.has(moduleOfName(module))
      : !calls.modules.has(module) && !mayBeAlias(module, parameters, calls.tied));
  return new Set([...parameters].map(moduleOfName).filter(isLost));
}

interface RecordedCalls {
  /** Modules whose parameters the calls of the program read. */
  readonly modules: ReadonlySet<string>;
  /** Last names of parameters that a module reads which has one of that name itself: both names are of one tensor. */
  readonly tied: ReadonlySet<string>;
}

/** `undefined` where the exporter recorded no calls. */
function recordedCalls(graph: OnnxGraph): RecordedCalls | undefined {
  const placeholders = placeholdersOfProgram(graph);
  if (placeholders === undefined) return undefined;
  const targets = new Set(placeholders.values());
  const modules = new Set<string>();
  const tied = new Set<string>();
  for (const node of graph.nodes) {
    const scope = scopeListOf(node)?.names.at(-2);
    for (const name of readByCall(node, placeholders) ?? []) {
      const module = moduleOfName(name);
      modules.add(module);
      const leaf = name.slice(module.length + 1);
      if (scope !== undefined && scope !== module && targets.has(`${scope}.${leaf}`)) tied.add(leaf);
    }
  }
  return modules.size === 0 ? undefined : { modules, tied };
}

/**
 * Parameters of modules with operators that no call reads and no tensor of the file comes from: scales of 1, which the exporter takes out.
 * `calls`: the operators, with those again that it merged.
 */
export function namesOfLostParameters(
  { graph, functions }: Pick<OnnxModel, 'graph' | 'functions'>,
  calls: readonly OnnxNode[],
  lost: ReadonlySet<string>,
): readonly string[] {
  const placeholders = placeholdersOfProgram(graph);
  if (placeholders === undefined || functions.length > 0 || recordedCalls(graph) === undefined) return [];
  const known = new Set(
    graph.initializers.flatMap(({ name, origin }) => [
      name,
      ...(origin?.parameter === undefined ? [] : [origin.parameter]),
      ...(origin?.foldedFrom ?? []),
      ...(origin?.parameters ?? []),
    ]),
  );
  for (const node of calls) {
    const scope = scopeListOf(node)?.names.at(-2);
    for (const name of readByCall(node, placeholders) ?? []) {
      known.add(name);
      // A module that reads a tied weight has it by its own name too.
      if (scope !== undefined) known.add(`${scope}.${lastOfName(name)}`);
    }
  }
  const parameters = parametersOfProgram(graph) ?? [];
  return [...parameters].filter((name) => !known.has(name) && !lost.has(moduleOfName(name)));
}

/** Whether the only parameter of a module may be another name of one that is read, as `model.shared` of BART is. */
function mayBeAlias(module: string, parameters: ReadonlySet<string>, tied: ReadonlySet<string>): boolean {
  const own = [...parameters].filter((name) => moduleOfName(name) === module);
  return own.length === 1 && tied.has(own[0]?.slice(module.length + 1) ?? '');
}

/** `layer.norm` of `layer.norm.weight`; '' of what has no module. */
