/**
 * The end of a file that crowds more operators into its bytes than any exporter: those of real files have names,
 * attributes and declared types, 123 bytes an operator at least (densenet121 of onnx's own tests). A megabyte made of
 * smaller ones would keep an editor busy for seconds.
 */

import type { OnnxModel } from '../formats/onnx/syntax.ts';
import { formatBytes } from '../model/format.ts';
import type { Issue } from '../model/issue.ts';
import { bytes } from '../model/units.ts';

/** As many as the largest models have; a file of fewer is small, however crowded. */
export const mostCrowded = 30_000;

const fewestBytes = 64;

/** Whether so many operators in a file of `size` bytes (or characters) are more than anybody writes. */
const hasTooManyNodes = (count: number, size: number): boolean =>
  count > mostCrowded && size < count * fewestBytes;

/** The model as a file of `size` bytes (or characters) holds it, cut after 30,000 operators where they are crowded. */
export function limitNodeCount(
  model: OnnxModel,
  size: number,
): { readonly model: OnnxModel; readonly issues: readonly Issue[] } {
  const { graph } = model;
  const count = graph.nodes.length;
  if (!hasTooManyNodes(count, size)) return { model, issues: [] };
  const message = `The file has ${count.toLocaleString('en-US')} operators in ${formatBytes(bytes(size))}, more than any exporter writes: those after the first ${mostCrowded.toLocaleString('en-US')} are left out, so totals are without them; export the model again`;
  return {
    model: { ...model, graph: { ...graph, nodes: graph.nodes.slice(0, mostCrowded) } },
    issues: [{ code: 'graph/crowded-operators', severity: 'error', message }],
  };
}
