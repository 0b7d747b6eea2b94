/** The graph with the operators that an optimizer for inference fused, taken apart again: training runs them one by one. */

import type { OnnxGraph, OnnxModel, OnnxNode } from '../../formats/onnx/syntax.ts';
import { isKnownShape, type ValueType } from '../../model/graph.ts';
import { contribDomain } from '../../operators/vocabulary/define.ts';
import type { ModelAnalysis } from '../modelAnalysis.ts';
import { blockedDomain, withoutBlockedChannels } from './blockedChannels.ts';
import { fusedOperators } from './fusedOperators.ts';
import { startWriting } from './nodeWriter.ts';
import { withMatMuls, withSelects } from './rearranged.ts';

export interface WrittenOut {
  readonly model: OnnxModel;
  /** Nodes of the file that others stand for. */
  readonly count: number;
  /** The first of them. */
  readonly first: OnnxNode;
  /** Convolutions whose channels were filled up to whole blocks, by an unknown number. */
  readonly padded: number;
}

/** `undefined` where nothing was fused that a rule takes apart. `analysis` is of the model as it is. */
export function writeOutFused(model: OnnxModel, analysis: ModelAnalysis): WrittenOut | undefined {
  if (!model.operatorSets.some(({ domain }) => domain === contribDomain || domain === blockedDomain)) {
    return undefined;
  }
  const opset = model.operatorSets.find(({ domain }) => domain === '' || domain === 'ai.onnx')?.version;
  if (opset === undefined) return undefined;
  const numbered: OnnxGraph = {
    ...model.graph,
    nodes: model.graph.nodes.map((node, index) => ({ ...node, standsFor: node.standsFor ?? index })),
  };
  const shapeOf = (name: string) => {
    const type = analysis.graph.values.get(name)?.type;
    return type?.kind === 'tensor' && isKnownShape(type.shape) ? type.shape : undefined;
  };
  const unblocked = withoutBlockedChannels(numbered, shapeOf);
  const rankOf = (name: string): number | undefined => shapeOf(name)?.length;
  const rearranged = withSelects(withMatMuls(unblocked.graph, rankOf));
  const graph = withRules(rearranged, opset, (name) => analysis.graph.values.get(name)?.type);
  const changed = model.graph.nodes.filter((_, index) => isChanged(numbered, graph, index));
  const [first] = changed;
  if (first === undefined) return undefined;
  // The standard has attention as an operator since version 23, and nothing between 18 and 23 reads an older file otherwise.
  const newest = opset >= 18 ? Math.max(opset, 23) : opset;
  const operatorSets = model.operatorSets.map((set) =>
    set.domain === '' || set.domain === 'ai.onnx' ? { ...set, version: newest } : set,
  );
  return {
    model: { ...model, operatorSets, graph },
    count: changed.length,
    first,
    padded: unblocked.padded,
  };
}

function withRules(
  graph: OnnxGraph,
  opset: number,
  typeOf: (name: string) => ValueType | undefined,
): OnnxGraph {
  const { writer, take, added } = startWriting(graph, opset, typeOf);
  const nodes = graph.nodes.flatMap((node) => {
    const rule = node.domain === contribDomain ? fusedOperators[node.type] : undefined;
    const isWritten = rule?.(node, writer) === true;
    const written = take();
    return isWritten ? written : [node];
  });
  const read = new Set(nodes.flatMap(({ inputs }) => inputs));
  return {
    ...graph,
    nodes,
    initializers: [...graph.initializers, ...[...added.values()].filter(({ name }) => read.has(name))],
  };
}

/** Whether a node of the file is another one now, or several. */
function isChanged(before: OnnxGraph, after: OnnxGraph, index: number): boolean {
  const node = before.nodes[index];
  if (node === undefined) return false;
  const now = standingFor(after).get(index) ?? [];
  return now.length !== 1 || now[0]?.type !== node.type || now[0].domain !== node.domain;
}

const standing = new WeakMap<OnnxGraph, ReadonlyMap<number, readonly OnnxNode[]>>();

function standingFor(graph: OnnxGraph): ReadonlyMap<number, readonly OnnxNode[]> {
  const known = standing.get(graph);
  if (known !== undefined) return known;
  const nodes = new Map<number, OnnxNode[]>();
  for (const node of graph.nodes) {
    if (node.standsFor !== undefined) nodes.set(node.standsFor, [...(nodes.get(node.standsFor) ?? []), node]);
  }
  standing.set(graph, nodes);
  return nodes;
}
