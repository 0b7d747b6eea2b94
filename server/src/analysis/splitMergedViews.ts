/**
 * Views of parameters that constant folding has stored, and that were merged because they were equal.
 *
 * A class token and one for distillation both begin as zeros, in ViTs that have two (DeiT: Touvron et al., arXiv 2012.12877); repeated for
 * each image, they are one constant in the file. Scale and shift of a global response normalization are (ConvNeXt V2: Woo et al., arXiv
 * 2301.00808). The calls that read them still name each (`aten.cat.default](args = ([%expand, %expand_1, %transpose_1], 1)`).
 */

import { argumentsOfCall, placeholdersOfProgram, readByCall } from '../formats/onnx/recordedCalls.ts';
import type { TensorLiteral } from '../model/attribute.ts';
import type { FlatNode, StoredGraph } from './expandFunctions.ts';
import { type Call, callsOf } from './recordedDetachments.ts';

/** With a tensor for each of them; the same graph where none was merged, or where calls are not recorded. */
export function splitMergedViews(stored: StoredGraph): StoredGraph {
  const { nodes, graph } = stored;
  const views = new Map(
    graph.initializers.flatMap((tensor) =>
      tensor.origin?.foldedFrom !== undefined && tensor.origin.parameter !== undefined
        ? [[tensor.name, tensor] as const]
        : [],
    ),
  );
  const placeholders = placeholdersOfProgram(graph);
  if (views.size === 0 || placeholders === undefined) return stored;
  const present = new Set([
    ...placeholders.keys(),
    ...[...graph.inputs, ...graph.initializers].map(({ name }) => name),
    ...nodes.flatMap(({ node }) => node.outputs),
  ]);
  const gone = parametersGone(stored, placeholders);
  const made: TensorLiteral[] = [];
  const separated = callsOf(nodes).flatMap((call): readonly FlatNode[] => {
    const merged = mergedIn(call, views, present);
    if (merged === undefined) return call.members;
    const names = [...merged.names];
    return call.members.map((flat) => {
      const inputs = flat.node.inputs.map((name) => {
        const called = name === merged.view.name ? names.shift() : undefined;
        if (called === undefined || called === name) return name;
        made.push(ofParameter(merged.view, called, gone, flat.scope.paths.at(-1) ?? ''));
        return called;
      });
      return { ...flat, node: { ...flat.node, inputs } };
    });
  });
  if (made.length === 0) return stored;
  return { nodes: separated, graph: { ...graph, initializers: [...graph.initializers, ...made] } };
}

/** A view that a call reads in several places, and what it names there; `undefined` where it names one, or where that stays open. */
function mergedIn(
  { first, members }: Call,
  views: ReadonlyMap<string, TensorLiteral>,
  present: ReadonlySet<string>,
): { readonly view: TensorLiteral; readonly names: readonly string[] } | undefined {
  const places = members.flatMap(({ node }) => node.inputs.filter((name) => views.has(name)));
  const [name = ''] = places;
  const view = views.get(name);
  if (view === undefined || places.length < 2 || places.some((other) => other !== name)) return undefined;
  const read = [...new Set(argumentsOfCall(first.node) ?? [])];
  const names = read.filter((each) => each === name || !present.has(each));
  return names.length === places.length ? { view, names } : undefined;
}

/** A view as that of another parameter of the module, of `gone`, which loses it; one of no known name where none is left. */
function ofParameter(view: TensorLiteral, name: string, gone: Set<string>, module: string): TensorLiteral {
  const parameter = [...gone].find((each) => moduleOf(each) === module) ?? `${name} (parameter)`;
  gone.delete(parameter);
  return { ...view, name, origin: { ...view.origin, parameter } };
}

const moduleOf = (name: string): string => name.slice(0, Math.max(0, name.lastIndexOf('.')));

/** Parameters of the program that no call reads, and that the file does not store. */
function parametersGone(
  { nodes, graph }: StoredGraph,
  placeholders: ReadonlyMap<string, string>,
): Set<string> {
  const read = new Set(nodes.flatMap(({ node }) => readByCall(node, placeholders) ?? []));
  const kept = new Set(graph.initializers.flatMap(({ name, origin }) => [name, origin?.parameter ?? name]));
  return new Set([...placeholders.values()].filter((name) => !read.has(name) && !kept.has(name)));
}
