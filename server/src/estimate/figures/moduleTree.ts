/** Layers under the modules that their names say, equal modules as one: `h.* × 12`. */

import type { IcicleNode } from '../../charts/icicleChart.ts';
import { sharedName } from '../report/foldLayers.ts';
import type { LayerReport } from '../report/report.ts';

/** The root holds all layers; `amountOf` is what a layer adds to its modules, 0 where it is unknown. */
export function moduleTree(
  model: string,
  layers: readonly LayerReport[],
  amountOf: (layer: LayerReport) => number,
): IcicleNode {
  const root = emptyModule('');
  for (const layer of layers) {
    const path = modulePath(layer.name);
    let module = root;
    for (const part of path.slice(0, -1)) module = childOf(module, part);
    childOf(module, path.at(-1) ?? layer.name).layers.push(layer);
  }
  return { ...nodeOf(collapsed(root), amountOf), name: model };
}

/**
 * `/model/h.0/attn` and `model.h.0.attn` as `model`, `h.0`, `attn`: a number belongs to the list before it. A part that says
 * again what is before it, as `layer1/layer1.0` does, is kept, as it reads well alone.
 */
export function modulePath(name: string): readonly string[] {
  const parts: string[] = [];
  for (const part of name.split('/').flatMap((each) => each.split('.'))) {
    const last = parts.at(-1);
    if (part === '') continue;
    if (/^\d+$/.test(part) && last !== undefined) parts[parts.length - 1] = `${last}.${part}`;
    else parts.push(part);
  }
  return parts.length === 0 ? [name] : parts;
}

interface Module {
  readonly name: string;
  readonly children: Map<string, Module>;
  /** Those that bear the name of the module itself. */
  readonly layers: LayerReport[];
}

const emptyModule = (name: string): Module => ({ name, children: new Map(), layers: [] });

function childOf(module: Module, name: string): Module {
  const known = module.children.get(name);
  if (known !== undefined) return known;
  const made = emptyModule(name);
  module.children.set(name, made);
  return made;
}

/** Modules that hold one module and nothing else say nothing. */
function collapsed(module: Module): Module {
  const [only, ...others] = module.children.values();
  return only === undefined || others.length > 0 || module.layers.length > 0 || only.children.size === 0
    ? module
    : collapsed(only);
}

interface Part extends IcicleNode {
  readonly children: readonly Part[];
  /** Equal for modules that do the same. */
  readonly kind: string;
}

function nodeOf(module: Module, amountOf: (layer: LayerReport) => number): Part {
  const own = module.layers.map((layer): Part => {
    const { type, output, parameters, flops } = layer;
    return {
      name: type === '' ? module.name : `${module.name} (${type})`,
      value: amountOf(layer),
      layer: layer.name,
      children: [],
      kind: JSON.stringify([withoutNumbers(module.name), type, output.shape, parameters, flops.forward]),
    };
  });
  const [only] = own;
  if (module.children.size === 0 && own.length === 1 && only !== undefined) {
    return { ...only, name: module.name };
  }
  const children = foldEqual([
    ...own,
    ...[...module.children.values()].map((child) => nodeOf(child, amountOf)),
  ]);
  return {
    name: module.name,
    value: sumOf(children),
    layer: children[0]?.layer ?? '',
    children,
    kind: JSON.stringify([withoutNumbers(module.name), ...children.map(({ kind }) => kind)]),
  };
}

const sumOf = (nodes: readonly IcicleNode[]): number => nodes.reduce((total, { value }) => total + value, 0);

const withoutNumbers = (name: string): string => name.replaceAll(/\d+/g, '*');

/** Nodes of one kind as one in the place of the first. */
function foldEqual(nodes: readonly Part[]): readonly Part[] {
  const groups = new Map<string, Part[]>();
  for (const node of nodes) {
    const group = groups.get(node.kind);
    if (group === undefined) groups.set(node.kind, [node]);
    else group.push(node);
  }
  const all = [...groups.values()];
  const shared = all.map((group) => sharedName(group.map(({ name }) => name)));
  return all.map((group, index) => {
    const [first, last] = [group[0], group.at(-1)];
    if (first === undefined || last === undefined) throw new Error('a group without nodes');
    if (group.length === 1) return first;
    // Blocks that take turns are several groups, which `*` would name alike.
    const isAlone = shared.filter((name) => name === shared[index]).length === 1;
    const name = isAlone ? shared[index] : `${first.name} … ${last.name}`;
    return { ...added(group), name: `${name} × ${group.length}` };
  });
}

/** Their sum, part by part: equal kinds have equal parts. */
function added(nodes: readonly Part[]): Part {
  const [first] = nodes;
  if (first === undefined) throw new Error('a sum of no nodes');
  return {
    ...first,
    value: sumOf(nodes),
    children: first.children.map((child, index) => ({
      ...added(nodes.flatMap(({ children }) => children[index] ?? [])),
      name: child.name,
    })),
  };
}
