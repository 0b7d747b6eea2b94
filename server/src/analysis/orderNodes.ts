/**
 * Topological order of nodes, and the cycles that stand in its way.
 *
 * R. Tarjan, "Depth-first search and linear graph algorithms", 1972: components come out dependencies first.
 * Roots are taken in file order, so that a file in topological order keeps its order. Iterative and linear.
 */

import { intAt } from '../model/at.ts';

export interface NodeOrder {
  /** Node numbers, every node after those it depends on (inside a cycle, in the order found). */
  readonly order: readonly number[];
  /** Nodes of each cycle, ascending. */
  readonly cycles: readonly (readonly number[])[];
}

/** Orders the nodes 0 … `dependencies.length − 1`; `dependencies[n]` are the nodes that `n` needs. */
export function orderNodes(dependencies: readonly (readonly number[])[]): NodeOrder {
  const count = dependencies.length;
  // Exporters write nodes behind those that they need.
  if (dependencies.every((needed, node) => needed.every((other) => other < node))) {
    return { order: dependencies.map((_, node) => node), cycles: [] };
  }
  const found = new Int32Array(count).fill(-1);
  const lowest = new Int32Array(count);
  const next = new Int32Array(count);
  const pending = new Int32Array(count);
  const order: number[] = [];
  const cycles: number[][] = [];
  const component: number[] = [];
  const path: number[] = [];
  let time = 0;

  const enter = (node: number): void => {
    found[node] = time;
    lowest[node] = time;
    time += 1;
    pending[node] = 1;
    component.push(node);
    path.push(node);
  };

  for (let root = 0; root < count; root += 1) {
    if (intAt(found, root) >= 0) continue;
    enter(root);
    for (let node = path.at(-1); node !== undefined; node = path.at(-1)) {
      const edge = intAt(next, node);
      const dependency = dependencies[node]?.[edge];
      if (dependency !== undefined) {
        next[node] = edge + 1;
        if (intAt(found, dependency) < 0) enter(dependency);
        else if (intAt(pending, dependency) === 1) {
          lowest[node] = Math.min(intAt(lowest, node), intAt(found, dependency));
        }
        continue;
      }
      path.pop();
      const parent = path.at(-1);
      if (parent !== undefined) lowest[parent] = Math.min(intAt(lowest, parent), intAt(lowest, node));
      if (intAt(lowest, node) !== intAt(found, node)) continue;
      const members = component.splice(component.lastIndexOf(node)).sort((a, b) => a - b);
      for (const member of members) pending[member] = 0;
      for (const member of members) order.push(member);
      if (members.length > 1 || dependencies[node]?.includes(node)) cycles.push(members);
    }
  }
  return { order, cycles };
}
