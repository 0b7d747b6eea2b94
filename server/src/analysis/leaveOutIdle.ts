/** Operators that give nothing: a file that holds very many of them was damaged, or made to fill the memory. */

import type { Issue } from '../model/issue.ts';
import type { FlatNode } from './expandFunctions.ts';

/** So many are costed as they are: what they were meant to be may still be read from them. */
const mostIdle = 1_000;

/** The nodes without the operators that have no named output, where those are more than a thousand; the issue counts them. */
export function leaveOutIdle(nodes: readonly FlatNode[]): {
  readonly nodes: readonly FlatNode[];
  readonly issues: readonly Issue[];
} {
  const idle = nodes.reduce((count, flat) => count + (isIdle(flat) ? 1 : 0), 0);
  if (idle <= mostIdle) return { nodes, issues: [] };
  const message = `${idle.toLocaleString('en-US')} operators have no output and are left out, so totals are without them; export the model again`;
  return {
    nodes: nodes.filter((flat) => !isIdle(flat)),
    issues: [{ code: 'graph/idle-operators', severity: 'error', message }],
  };
}

const isIdle = ({ node }: FlatNode): boolean => node.outputs.every((name) => name === '');
