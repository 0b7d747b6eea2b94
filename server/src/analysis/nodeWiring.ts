/** Which node makes and which needs each value of a graph, and the order that follows. */

import type { OnnxGraph } from '../formats/onnx/syntax.ts';
import { capturedNamesOfNode } from './capturedNames.ts';
import type { FlatNode } from './expandFunctions.ts';
import type { IssueCollector } from './issueCollector.ts';
import { describeNode, nameOfNode, sourceOfNode } from './nodeNames.ts';
import { orderNodes } from './orderNodes.ts';

export interface NodeWiring {
  /** By value: the node that defines it first. */
  readonly producers: ReadonlyMap<string, number>;
  /** By node: values that its subgraphs take from this graph. */
  readonly captures: readonly (readonly string[])[];
  /** Numbers of nodes, each after those that it needs. */
  readonly order: readonly number[];
  /** Nodes that need what they make. */
  readonly onCycle: ReadonlySet<number>;
}

/** Values that are defined twice and cycles become issues. */
export function wireNodes(source: OnnxGraph, nodes: readonly FlatNode[], issues: IssueCollector): NodeWiring {
  const captures = nodes.map(({ node }) => capturedNamesOfNode(node));
  const producers = findProducers(source, nodes, issues);
  const { order, cycles } = orderNodes(dependenciesOf(nodes, captures, producers));
  reportCycles(cycles, nodes, issues);
  return { producers, captures, order, onCycle: new Set(cycles.flat()) };
}

function findProducers(
  source: OnnxGraph,
  nodes: readonly FlatNode[],
  issues: IssueCollector,
): ReadonlyMap<string, number> {
  const stored = new Set([
    ...source.inputs.map(({ name }) => name),
    ...source.initializers.map(({ name }) => name),
    ...source.sparseInitializers.map(({ name }) => name),
  ]);
  const producers = new Map<string, number>();
  nodes.forEach((flat, number) => {
    for (const name of flat.node.outputs) {
      if (name === '') continue;
      if (producers.has(name) || stored.has(name)) reportDuplicate(name, flat, issues);
      else producers.set(name, number);
    }
  });
  return producers;
}

function reportDuplicate(name: string, flat: FlatNode, issues: IssueCollector): void {
  issues.add(`duplicate ${name}`, () => ({
    code: 'graph/duplicate-value',
    severity: 'error',
    message: `${describeNode(flat)} defines \`${name}\` again; the first definition is used, rename this one`,
    ...sourceOfNode(flat),
    value: name,
  }));
}

function dependenciesOf(
  nodes: readonly FlatNode[],
  captures: readonly (readonly string[])[],
  producers: ReadonlyMap<string, number>,
): readonly (readonly number[])[] {
  // The last node that was found to need each: a node may name thousands, so that looking through them takes too long.
  const neededBy = new Int32Array(nodes.length).fill(-1);
  return nodes.map(({ node }, number) => {
    const needed: number[] = [];
    const need = (name: string): void => {
      const producer = producers.get(name);
      if (producer === undefined || neededBy[producer] === number) return;
      neededBy[producer] = number;
      needed.push(producer);
    };
    for (const name of node.inputs) need(name);
    for (const name of captures[number] ?? []) need(name);
    return needed;
  });
}

function reportCycles(
  cycles: readonly (readonly number[])[],
  nodes: readonly FlatNode[],
  issues: IssueCollector,
): void {
  for (const members of cycles) {
    const names = members.slice(0, 5).map((number) => `\`${nameOfNode(nodes[number])}\``);
    const rest = members.length - names.length;
    const list = `${names.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
    issues.add(`cycle ${members[0]}`, () => ({
      code: 'graph/cycle',
      severity: 'error',
      message: `The graph has a cycle through ${list}; export the model again, ONNX graphs are acyclic`,
      ...sourceOfNode(nodes[members[0] ?? -1]),
    }));
  }
}
