/** Where a node came from: the module path that the exporter recorded. */

import type { OnnxNode } from '../formats/onnx/syntax.ts';

export interface ModuleScope {
  /** Full module paths, outermost first; empty at the root or where nothing is recorded. */
  readonly paths: readonly string[];
  /** Class of the innermost module with its package, where it is recorded. */
  readonly moduleClass: string | undefined;
  /** The call that the operator is a part of, unique in the model, and what was called, where they are recorded. */
  readonly call?: { readonly name: string; readonly function: string };
}

export const rootScope: ModuleScope = { paths: [], moduleClass: undefined };

/**
 * The path that PyTorch knows the innermost module by, as in the names of its parameters; empty at the root.
 *
 * The newer exporter records it, with `@1` behind where a module is called again. The TorchScript exporter joins names of
 * attributes (`/layer1/layer1.0/conv1`), where what stands in a container has the container's name in front.
 */
export function qualifiedName({ paths }: ModuleScope): string {
  const innermost = paths.at(-1) ?? '';
  if (!innermost.startsWith('/')) return innermost.replace(/@\d+(?=\.|$)/g, '');
  const parts: string[] = [];
  for (const segment of innermost.slice(1).split('/')) {
    const container = parts.at(-1);
    if (container !== undefined && segment.startsWith(`${container}.`)) parts.pop();
    parts.push(segment);
  }
  return parts.join('.');
}

/** Scopes of the nodes of one model; nodes that stand in the same module by their names share theirs. */
export function collectScopes(): (node: OnnxNode) => ModuleScope {
  const byModule = new Map<string, ModuleScope>();
  let lastModule = '';
  let lastScope: ModuleScope | undefined;
  return (node) => {
    if (node.metadata.size > 0) return withinReason(scopeOfNode(node));
    const length = Math.max(0, node.name.lastIndexOf('/'));
    // Nodes of a module mostly stand together.
    if (lastScope !== undefined && length === lastModule.length && node.name.startsWith(lastModule)) {
      return lastScope;
    }
    const module = node.name.slice(0, length);
    let scope = byModule.get(module);
    if (scope === undefined) {
      scope = withinReason(scopeOfNode(node));
      byModule.set(module, scope);
    }
    lastModule = module;
    lastScope = scope;
    return scope;
  };
}

/** Modules in modules; exporters nest a dozen. */
const deepestScope = 64;

/** Of a scope nested deeper than anybody nests modules, the outermost ones and the innermost. */
const withinReason = (scope: ModuleScope): ModuleScope =>
  scope.paths.length <= deepestScope
    ? scope
    : { ...scope, paths: [...scope.paths.slice(0, deepestScope - 1), ...scope.paths.slice(-1)] };

/**
 * The scope of a node: metadata of the torch.export-based exporter (`pkg.torch.onnx.name_scopes`,
 * `pkg.torch.onnx.class_hierarchy`, or `namespace`; PyTorch 2.5 and later), else the path in a TorchScript
 * exporter's node name (`/layer1/layer1.0/conv1/Conv`).
 */
export function scopeOfNode(node: OnnxNode): ModuleScope {
  const recorded = scopeListOf(node);
  if (recorded !== undefined && recorded.names.length > 0) {
    const { names, classes } = recorded;
    const paths = names.slice(0, -1).filter((name) => name !== '');
    const innermost = names.length >= 2 ? classes[names.length - 2] : undefined;
    const [name = '', called = ''] = [names.at(-1), classes[names.length - 1]];
    return {
      paths,
      moduleClass: paths.length === 0 ? undefined : innermost,
      ...(called === '' ? {} : { call: { name, function: called } }),
    };
  }
  const namespace = node.metadata.get('namespace') ?? node.metadata.get('pkg.torch.onnx.namespace');
  if (namespace !== undefined) return scopeOfNamespace(namespace);
  return { paths: pathsOfName(node.name), moduleClass: undefined };
}

/** The node's name with the modules around it, outermost first, and the class of each, where they are recorded. */
export function scopeListOf(
  node: OnnxNode,
): { readonly names: readonly string[]; readonly classes: readonly string[] } | undefined {
  const names = listLiteral(node.metadata.get('pkg.torch.onnx.name_scopes'));
  if (names === undefined) return undefined;
  return { names, classes: listLiteral(node.metadata.get('pkg.torch.onnx.class_hierarchy')) ?? [] };
}

/** The paths above the last segment of a slashed name: `/a/b/Conv` gives `/a`, `/a/b`. */
function pathsOfName(name: string): readonly string[] {
  if (!name.startsWith('/')) return [];
  const paths: string[] = [];
  for (let slash = name.indexOf('/', 1); slash > 0; slash = name.indexOf('/', slash + 1)) {
    paths.push(name.slice(0, slash));
  }
  return paths;
}

/** `: pkg.Model/layer1: pkg.Sequential/layer1.0: pkg.Block/conv2d_1: aten.conv2d.default`. */
function scopeOfNamespace(namespace: string): ModuleScope {
  const parts = namespace.split('/').map((part) => part.split(': ', 2));
  const [name, called] = parts.at(-1) ?? [];
  const modules = parts.slice(0, -1).filter(([name]) => name !== undefined && name !== '' && name !== ':');
  return {
    paths: modules.map(([name]) => name ?? ''),
    moduleClass: modules.at(-1)?.[1],
    ...(name === undefined || called === undefined ? {} : { call: { name, function: called } }),
  };
}

/** Elements of a Python list of strings, as the exporter prints it. */
function listLiteral(text: string | undefined): readonly string[] | undefined {
  if (text === undefined || !text.trim().startsWith('[')) return undefined;
  return [...text.matchAll(/'([^']*)'|"([^"]*)"/g)].map((match) => match[1] ?? match[2] ?? '');
}

/** The name of a class without its package. */
export const withoutPackage = (qualified: string | undefined): string | undefined =>
  qualified?.split('.').at(-1);
