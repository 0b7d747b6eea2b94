/**
 * Operators that give nothing anybody could read: they have no named output, or others define all of their outputs
 * before them. A file that holds very many of either was damaged, or made to fill the memory.
 */

import type { OnnxGraph } from '../formats/onnx/syntax.ts';
import type { Issue } from '../model/issue.ts';
import type { FlatNode } from './expandFunctions.ts';

/** So many are costed as they are: what they were meant to be may still be read from them. */
const mostIdle = 1_000;

export interface UsefulNodes {
  readonly nodes: readonly FlatNode[];
  readonly issues: readonly Issue[];
}

/** The nodes of `graph` without those that give nothing, where these are more than a thousand; the issues count them. */
export function dropDeadNodes(nodes: readonly FlatNode[], graph: OnnxGraph): UsefulNodes {
  if (nodes.length <= mostIdle) return { nodes, issues: [] };
  const named = leaveOut(nodes, isIdle, (count) => ({
    code: 'graph/idle-operators',
    severity: 'error',
    message: `${count} operators have no output and are left out, so totals are without them; export the model again`,
  }));
  const defined = new Set<string>();
  for (const infos of [graph.inputs, graph.initializers, graph.sparseInitializers]) {
    for (const { name } of infos) defined.add(name);
  }
  const isDefinedBefore = ({ node }: FlatNode): boolean => {
    const before = defined.size;
    const { outputs } = node;
    for (let index = 0; index < outputs.length; index += 1) {
      const name = outputs[index] ?? '';
      if (name !== '') defined.add(name);
    }
    return defined.size === before && outputs.some((name) => name !== '');
  };
  const first = leaveOut(named.nodes, isDefinedBefore, (count, { node }) => ({
    code: 'graph/duplicate-value',
    severity: 'error',
    message: `${count} operators, the first of them ${node.type} \`${node.name || node.outputs[0]}\`, only define again what is defined before them, and are left out, so totals are without them; give their outputs names of their own`,
  }));
  return { nodes: first.nodes, issues: [...named.issues, ...first.issues] };
}

function leaveOut(
  nodes: readonly FlatNode[],
  isLeftOut: (node: FlatNode) => boolean,
  issueOf: (count: string, first: FlatNode) => Issue,
): UsefulNodes {
  const left = nodes.filter(isLeftOut);
  const [first] = left;
  if (first === undefined || left.length <= mostIdle) return { nodes, issues: [] };
  const without = new Set(left);
  return {
    nodes: nodes.filter((node) => !without.has(node)),
    issues: [issueOf(left.length.toLocaleString('en-US'), first)],
  };
}

const isIdle = ({ node }: FlatNode): boolean => node.outputs.every((name) => name === '');
