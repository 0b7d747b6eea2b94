/** Calls of the program that an exporter merged, as operators of their own again, by what it recorded, and by names. */

import type { OnnxModel } from '../formats/onnx/syntax.ts';
import type { FlatNode } from './expandFunctions.ts';
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
  return splitRepeatedCalls(splitDetachedCalls(splitSharedParts(recorded), graph), graph, lost);
}
