/** Attributes of the nodes of an ONNX file held against what its operators take. */

import type { OnnxModel, OnnxNode } from '../formats/onnx/syntax.ts';
import type { Issue } from '../model/issue.ts';
import { checkAttributes } from '../operators/checkAttributes.ts';
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
    const opset = versions.get(node.domain === 'ai.onnx' ? '' : node.domain);
    const isCall = called.size > 0 && called.has(keyOf(node.domain, node.type, node.overload));
    const problems =
      opset === undefined || isCall ? [] : checkAttributes(node.domain, node.type, opset, node.attributes);
    for (const { attribute, message } of problems) {
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
  for (const [operator, node] of graph.nodes.entries()) check(node, { versions, operator, depth: 0 });
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

/** As deep as inference looks. */
const deepestNesting = 32;

const versionsOf = (operatorSets: OnnxModel['operatorSets']): ReadonlyMap<string, number> =>
  new Map(operatorSets.map(({ domain, version }) => [domain === 'ai.onnx' ? '' : domain, version]));

const keyOf = (domain: string, name: string, overload: string): string =>
  `${domain === 'ai.onnx' ? '' : domain}:${name}:${overload}`;
