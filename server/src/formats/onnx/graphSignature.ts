/** What the torch.export-based exporter records of the program that it exported. */

import type { OnnxGraph } from './syntax.ts';

/**
 * Names of all parameters that the exported program had, also of those that the exporter's optimizer took out of the graph;
 * `undefined` where nothing is recorded (`torch.export.ExportGraphSignature`, PyTorch 2.5 and later).
 */
export const parametersOfProgram = (graph: OnnxGraph): ReadonlySet<string> | undefined =>
  targetsIn(graph, /: PARAMETER target=["']([^"'\n]*)["']/g);

/** Names of all that the exported program had stored: parameters, buffers and constants. */
export const storedInProgram = (graph: OnnxGraph): ReadonlySet<string> | undefined =>
  targetsIn(graph, /: (?:PARAMETER|BUFFER|CONSTANT_TENSOR) target=["']([^"'\n]*)["']/g);

function targetsIn({ metadata }: OnnxGraph, kind: RegExp): ReadonlySet<string> | undefined {
  const signature = metadata?.get('pkg.torch.export.ExportedProgram.graph_signature');
  if (signature === undefined) return undefined;
  const names = new Set<string>();
  for (const [, name = ''] of signature.matchAll(kind)) names.add(name);
  return names.size === 0 ? undefined : names;
}
