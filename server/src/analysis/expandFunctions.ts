/**
 * Calls of model-local functions replaced by the nodes of their bodies, so that the rooms below see operators only.
 *
 * ONNX IR specification, "Functions": a function named like a call's domain, type and overload takes the place of
 * the operator; names inside the body are its own, attributes are passed by reference.
 */

import type { OnnxFunction, OnnxGraph, OnnxModel, OnnxNode } from '../formats/onnx/syntax.ts';
import type { Attribute } from '../model/attribute.ts';
import type { Issue } from '../model/issue.ts';
import { collectScopes, type ModuleScope } from './moduleScope.ts';
import { renameNode } from './renameNode.ts';

/** A node of the flattened graph. */
export interface FlatNode {
  readonly node: OnnxNode;
  /** Index of the node, or of the call it was expanded from, in the file's own order. */
  readonly source: number;
  readonly scope: ModuleScope;
  /** Operator sets of the function it stands in; absent at the top. */
  readonly operatorSets?: ReadonlyMap<string, number>;
}

/** Flattened nodes, and the graph that holds what they read. */
export interface StoredGraph {
  readonly nodes: readonly FlatNode[];
  readonly graph: OnnxGraph;
}

/** Top-level nodes with every call expanded. Calls that never end, or that make too many nodes, stay calls. */
export function expandFunctions(model: OnnxModel): {
  readonly nodes: readonly FlatNode[];
  readonly issues: readonly Issue[];
} {
  const expansion: Expansion = {
    functions: new Map(
      model.functions.map((body) => [functionKey(body.domain, body.name, body.overload), body]),
    ),
    operatorSets: new Map(
      model.functions.map((body) => [
        body,
        new Map(body.operatorSets.map(({ domain, version }) => [domain, version])),
      ]),
    ),
    nodes: [],
    issues: [],
    calls: 0,
    mostNodes: mostNodesOf(model),
    refused: new Set(),
  };
  const scopeOf = collectScopes();
  model.graph.nodes.forEach((node, index) => {
    const source = node.standsFor ?? index;
    const flat: FlatNode = { node, source, scope: scopeOf(node) };
    const body = functionOf(expansion, node);
    if (body === undefined) expansion.nodes.push(flat);
    else expandCall(expansion, flat, body, []);
  });
  return { nodes: expansion.nodes, issues: expansion.issues };
}

interface Expansion {
  readonly functions: ReadonlyMap<string, OnnxFunction>;
  readonly operatorSets: ReadonlyMap<OnnxFunction, ReadonlyMap<string, number>>;
  readonly nodes: FlatNode[];
  readonly issues: Issue[];
  calls: number;
  readonly mostNodes: number;
  /** Functions reported as not expanded, once for each call at the top. */
  readonly refused: Set<string>;
}

/**
 * Expansion makes a small model many times longer, since bodies are shared, and a large one hardly longer; a chain of
 * functions that doubles at each step passes any such limit at once. Calls count like nodes, so that functions without
 * content end too.
 */
function mostNodesOf(model: OnnxModel): number {
  const nodes = model.functions.reduce((total, body) => total + body.nodes.length, model.graph.nodes.length);
  return Math.min(20_000 + 30 * nodes, Math.max(50_000, 2 * nodes));
}

const noOperatorSets: ReadonlyMap<string, number> = new Map();

/** Deeper than any exporter nests modules. */
const greatestDepth = 100;

function expandCall(
  expansion: Expansion,
  call: FlatNode,
  body: OnnxFunction,
  callers: readonly OnnxFunction[],
): void {
  const why = whyNotExpanded(expansion, body, callers);
  if (why !== undefined) {
    const key = `${call.source} ${body.name}`;
    if (!expansion.refused.has(key)) {
      expansion.refused.add(key);
      expansion.issues.push({
        code: 'graph/unsupported-operator',
        severity: 'error',
        message: `Function \`${body.name}\` ${why}, so it cannot be expanded; export the model without it`,
        operator: call.source,
      });
    }
    expansion.nodes.push(call);
    return;
  }
  expansion.calls += 1;
  const prefix = call.node.name || call.node.outputs[0] || `${body.name}_${expansion.calls}`;
  const names = new Map<string, string>();
  body.inputs.forEach((name, index) => {
    names.set(name, call.node.inputs[index] ?? '');
  });
  body.outputs.forEach((name, index) => {
    const given = call.node.outputs[index];
    if (given !== undefined && given !== '' && !names.has(name)) names.set(name, given);
  });
  const local = (name: string): string => {
    if (name === '') return '';
    const known = names.get(name);
    if (known !== undefined) return known;
    const fresh = `${prefix}/${name}#${expansion.calls}`;
    names.set(name, fresh);
    return fresh;
  };
  const path = `${call.scope.paths.at(-1) ?? ''}/${lastSegment(prefix)}`;
  const inner: ModuleScope = {
    paths: [...call.scope.paths, path],
    moduleClass: undefined,
    // Functions of the library of operators, each of which the model called once.
    ...(body.domain === torchLibrary ? { call: { name: path, function: body.name } } : {}),
  };
  const operatorSets = expansion.operatorSets.get(body) ?? noOperatorSets;
  const attributeOf = (name: string): Attribute<OnnxGraph> | undefined =>
    call.node.attributes.get(name) ?? body.defaults.get(name);

  for (const node of body.nodes) {
    const renamed = renameNode(node, local, attributeOf);
    const flat: FlatNode = {
      node: { ...renamed, name: `${path}/${node.name || node.type}` },
      source: call.source,
      scope: inner,
      operatorSets,
    };
    const nested = functionOf(expansion, node);
    if (nested === undefined) expansion.nodes.push(flat);
    else expandCall(expansion, flat, nested, [...callers, body]);
  }
  // An output that hands an input straight through has no node; an Identity stands for it.
  body.outputs.forEach((name, index) => {
    const given = call.node.outputs[index];
    if (given === undefined || given === '' || names.get(name) === given) return;
    expansion.nodes.push({
      node: {
        name: `${path}/${name}`,
        type: 'Identity',
        domain: '',
        overload: '',
        inputs: [local(name)],
        outputs: [given],
        attributes: new Map(),
        metadata: new Map(),
      },
      source: call.source,
      scope: inner,
      operatorSets,
    });
  });
}

/** Where PyTorch's exporters of 2.1 to 2.4 keep what they make of a function of ATen. */
const torchLibrary = 'pkg.onnxscript.torch_lib';

function whyNotExpanded(
  { nodes, calls, mostNodes }: Expansion,
  body: OnnxFunction,
  callers: readonly OnnxFunction[],
): string | undefined {
  if (callers.includes(body)) return 'calls itself';
  if (callers.length >= greatestDepth) return `is called ${greatestDepth} functions deep`;
  const made = nodes.length + calls + body.nodes.length;
  return made > mostNodes ? `makes the model longer than ${mostNodes} nodes` : undefined;
}

const functionOf = (expansion: Expansion, node: OnnxNode): OnnxFunction | undefined =>
  expansion.functions.size === 0
    ? undefined
    : expansion.functions.get(functionKey(node.domain, node.type, node.overload));

/** What a function is called by. */
export const functionKey = (domain: string, name: string, overload: string): string =>
  `${domain === 'ai.onnx' ? '' : domain}:${name}:${overload}`;

const lastSegment = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
