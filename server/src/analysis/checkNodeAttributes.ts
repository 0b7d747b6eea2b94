/** Attributes of the nodes of an ONNX file held against what its operators take. */

import type { OnnxModel, OnnxNode } from '../formats/onnx/syntax.ts';
import type { Issue } from '../model/issue.ts';
import { type AttributeProblem, checkAttributes } from '../operators/checkAttributes.ts';
import { holdsGraph } from './subgraphs.ts';

/**
 * One issue for each attribute that is unknown, of another type or missing, on nodes of the graph, of the graphs inside
 * them, and of functions.
 *
 * A domain of which the file imports no version is not checked: nothing says what its operators take.
 */
export function checkNodeAttributes(model: OnnxModel): readonly Issue[] {
  const { graph, functions } = model;
  const issues = new Map<string, Issue>();
  const called = new Set(functions.map(({ domain, name, overload }) => keyOf(domain, name, overload)));
  const check = (node: OnnxNode, { versions, operator, depth }: Place): void => {
    const isCall = called.size > 0 && called.has(keyOf(node.domain, node.type, node.overload));
    for (const { attribute, message } of isCall ? [] : problemsOf(node, versions)) {
      const name = node.name || node.outputs.find((output) => output !== '');
      const whole = `${node.type}${name === undefined ? '' : ` \`${name}\``} ${message}`;
      const where = operator === undefined ? {} : { operator, ...(attribute && { attribute }) };
      issues.set(`${operator} ${whole}`, {
        code: 'graph/attribute',
        severity: 'error',
        message: whole,
        ...where,
      });
    }
    if (depth === deepestNesting || !holdsGraph(node.attributes)) return;
    for (const attribute of node.attributes.values()) {
      const graphs =
        attribute.kind === 'graph' ? [attribute.value] : attribute.kind === 'graphs' ? attribute.value : [];
      for (const inner of graphs.flatMap(({ nodes }) => nodes)) {
        check(inner, { versions, operator, depth: depth + 1 });
      }
    }
  };
  const versions = versionsOf(model.operatorSets);
  const areSound = soundAttributes(versions);
  for (const [operator, node] of graph.nodes.entries()) {
    if (!areSound(node)) check(node, { versions, operator, depth: 0 });
  }
  for (const body of functions) {
    const place = { versions: versionsOf(body.operatorSets), operator: undefined, depth: 0 };
    for (const node of body.nodes) check(node, place);
  }
  return [...issues.values()];
}

interface Place {
  readonly versions: ReadonlyMap<string, number>;
  /** Index of the node in the graph that it is, or is inside of; `undefined` in a function. */
  readonly operator: number | undefined;
  /** How many graphs it is inside of. */
  readonly depth: number;
}

/** What is wrong with the attributes of a node: nothing where the file imports no version of its domain. */
function problemsOf(
  { domain, type, attributes }: OnnxNode,
  versions: Place['versions'],
): readonly AttributeProblem[] {
  const opset = versions.get(domain === 'ai.onnx' ? '' : domain);
  return opset === undefined ? [] : checkAttributes(domain, type, opset, attributes);
}

/**
 * Tells of nodes, one after another, whether nothing is wrong with them. A model repeats its operators, which share their
 * attributes: what was found sound once is not looked at again.
 */
function soundAttributes(versions: Place['versions']): (node: OnnxNode) => boolean {
  const sound = new Map<OnnxNode['attributes'], Set<string>>();
  return (node) => {
    const { domain, type, attributes } = node;
    const kind = domain === '' ? type : `${domain}:${type}`;
    const known = sound.get(attributes);
    if (known?.has(kind) === true) return true;
    if (holdsGraph(attributes) || problemsOf(node, versions).length > 0) return false;
    if (known === undefined) sound.set(attributes, new Set([kind]));
    else known.add(kind);
    return true;
  };
}

/** As deep as inference looks. */
const deepestNesting = 32;

const versionsOf = (operatorSets: OnnxModel['operatorSets']): ReadonlyMap<string, number> =>
  new Map(operatorSets.map(({ domain, version }) => [domain === 'ai.onnx' ? '' : domain, version]));

const keyOf = (domain: string, name: string, overload: string): string =>
  `${domain === 'ai.onnx' ? '' : domain}:${name}:${overload}`;
