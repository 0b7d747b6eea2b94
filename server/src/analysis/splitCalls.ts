/** Calls of the program that an exporter merged, as operators of their own again, by what it recorded, and by names. */

import type { OnnxModel } from '../formats/onnx/syntax.ts';
import type { FlatNode } from './expandFunctions.ts';
import { isOfGeneratedGraph, traceKey } from './regionsWithoutGradients.ts';
import { namesOfLostModules } from './restoration/namesOfLostModules.ts';
import { splitDetachedCalls } from './splitDetachedCalls.ts';
import { splitMergedCalls } from './splitMergedCalls.ts';
import { splitRecordedCalls } from './splitRecordedCalls.ts';
import { splitRepeatedCalls } from './splitRepeatedCalls.ts';
import { splitSharedParts } from './splitSharedParts.ts';

/** The same nodes where none was merged. */
export function splitCalls(nodes: readonly FlatNode[], model: OnnxModel): readonly FlatNode[] {
  const { graph } = model;
  const lost = namesOfLostModules(model);
  const recorded = splitMergedCalls(splitRecordedCalls(nodes, graph, lost), graph);
  const all = splitRepeatedCalls(splitDetachedCalls(splitSharedParts(recorded), graph), graph, lost);
  return all === nodes ? nodes : withTracesOfTheirOwn(all, nodes);
}

/**
 * A call that was merged into one of a region without gradients has the traces of that, and is none of the region: what reads it may
 * stand outside (a critic that judges the next action in the target and in the policy's loss).
 */
function withTracesOfTheirOwn(all: readonly FlatNode[], before: readonly FlatNode[]): readonly FlatNode[] {
  const known = new Set(before.flatMap(({ node }) => node.outputs));
  return all.map((flat) => {
    const { node } = flat;
    if (!isOfGeneratedGraph(node) || node.outputs.some((output) => known.has(output))) return flat;
    const metadata = new Map(node.metadata);
    metadata.delete(traceKey);
    return { ...flat, node: { ...node, metadata } };
  });
}
