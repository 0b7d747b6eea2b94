/**
 * Operators grouped into the layers a person recognises.
 *
 * What a lowering provides comes first. In an exported file the operators of one module are one layer, those that
 * stand directly in a module beside its submodules (a residual addition, the arithmetic of attention) included.
 * Where there is no module, at the root or in a file without scopes, each operator is a layer of its own, and so are
 * operators that together are one thing (a GELU written as five);
 * constants, shape arithmetic and re-arranged weights belong to the layer that needs them first.
 */

import type { Composites } from '../composites/findComposites.ts';
import type { GivenLayers } from '../lowering/providedStructure.ts';
import type { Graph, Layer, Operator } from '../model/graph.ts';
import type { AuxiliaryOperators } from './auxiliaryOperators.ts';
import { layerType } from './layerType.ts';
import { type ModuleScope, withoutPackage } from './moduleScope.ts';

/**
 * Layers of a graph; every operator is in exactly one. They are in order of their first operator that computes:
 * exporters gather constants of all layers at the top.
 */
export function groupLayers(
  graph: Graph,
  composites: Composites,
  scopes: readonly ModuleScope[],
  { shapeArithmetic, storedLayout }: AuxiliaryOperators,
  provided: GivenLayers,
): readonly Layer[] {
  const isAuxiliary = (index: number): boolean =>
    shapeArithmetic[index] === true || storedLayout[index] === true;
  const indexGivenTo = (source: number): number => provided.ofNode[source] ?? -1;
  const givenName = (source: number): string | undefined => provided.layers[indexGivenTo(source)]?.name;
  const keys = keysOfOperators(graph, composites, givenName, isAuxiliary);
  const groups = new Map<string, Operator[]>();
  for (const operator of graph.operators) {
    const key = keys[operator.index] ?? '';
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [operator]);
    else group.push(operator);
  }

  const firstOf = (operators: readonly Operator[]): number =>
    (operators.find(({ index }) => !isAuxiliary(index)) ?? operators[0])?.index ?? 0;
  const ordered = [...groups.values()].sort((left, right) => firstOf(left) - firstOf(right));
  const names = new Map<string, number>();
  const parents = parentModules(graph);
  return ordered.map((operators) => {
    const main = operators.filter(({ index }) => !isAuxiliary(index));
    const leader = main[0] ?? operators[0];
    const index = leader === undefined ? -1 : indexGivenTo(leader.source);
    const given = provided.layers[index];
    const indices = operators.map(({ index }) => index);
    if (given !== undefined) {
      return {
        name: uniqueName(given.name, names),
        type: given.type,
        ancestors: given.ancestors,
        operators: indices,
        given: index,
        ...(given.marks === undefined ? {} : { marks: given.marks }),
      };
    }
    const scope = leader?.scope ?? [];
    const module = scope.at(-1);
    const recorded = leader === undefined ? undefined : withoutPackage(scopes[leader.index]?.moduleClass);
    const isLeaf = module !== undefined && !parents.has(module);
    return {
      name: uniqueName(module ?? leader?.name ?? '', names),
      type:
        (isLeaf ? recorded : undefined) ?? layerType(main.length > 0 ? main : operators, graph, composites),
      ancestors: scope.slice(0, -1),
      operators: indices,
    };
  });
}

/** One key per operator; operators with the same key are one layer. */
function keysOfOperators(
  graph: Graph,
  composites: Composites,
  givenName: (source: number) => string | undefined,
  isAuxiliary: (index: number) => boolean,
): readonly string[] {
  const keyOfModule = new Map<string, string>();
  for (const { index, scope } of graph.operators) {
    const module = scope.at(-1);
    if (module === undefined || isAuxiliary(index) || keyOfModule.has(module)) continue;
    keyOfModule.set(module, `module ${module}`);
  }
  const keys: string[] = new Array(graph.operators.length);
  for (let index = graph.operators.length - 1; index >= 0; index -= 1) {
    const operator = graph.operators[index];
    if (operator === undefined) continue;
    const given = givenName(operator.source);
    const ofModule = keyOfModule.get(operator.scope.at(-1) ?? '');
    if (given !== undefined) keys[index] = `provided ${given}`;
    else if (ofModule !== undefined) keys[index] = ofModule;
    else {
      const first = isAuxiliary(index) ? firstConsumer(operator, graph) : undefined;
      // Consumers come later in the order, so that their keys are known; on a cycle they may not be. What nothing
      // reads belongs to the operator it was written in front of.
      const host = isAuxiliary(index) ? keys[first ?? index + 1] : undefined;
      keys[index] = host ?? ownKey(operator, composites);
    }
  }
  return keys;
}

function ownKey({ index, scope }: Operator, composites: Composites): string {
  const module = scope.at(-1);
  return module === undefined
    ? `operator ${composites.get(index)?.operators.at(-1) ?? index}`
    : `module ${module}`;
}

function firstConsumer(operator: Operator, graph: Graph): number | undefined {
  let first: number | undefined;
  for (const name of operator.outputs) {
    const consumer = graph.values.get(name)?.consumers[0];
    if (consumer !== undefined && (first === undefined || consumer < first)) first = consumer;
  }
  return first;
}

/** Modules that have submodules. */
function parentModules(graph: Graph): ReadonlySet<string> {
  const parents = new Set<string>();
  for (const scope of new Set(graph.operators.map((operator) => operator.scope))) {
    for (const path of scope.slice(0, -1)) parents.add(path);
  }
  return parents;
}

/** `name`, or `name (2)` and so on where it is taken; `taken` counts how often a name was asked for. */
function uniqueName(name: string, taken: Map<string, number>): string {
  let candidate = name;
  let count = taken.get(name) ?? 0;
  while (taken.has(candidate)) {
    count += 1;
    candidate = `${name} (${count})`;
  }
  taken.set(name, Math.max(1, count));
  taken.set(candidate, 1);
  return candidate;
}
