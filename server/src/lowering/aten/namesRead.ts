/** Which tensors the calls of a program read. */

import type { AtenGraph, AtenNode } from '../../formats/pt2/syntax.ts';

/** What calls or the results need. Counts of batches and checks of sizes are read by nothing. */
export function namesRead(graph: AtenGraph, outputs: readonly string[]): ReadonlySet<string> {
  const names = new Set(outputs);
  for (const node of graph.nodes) for (const name of operandsOf(node)) names.add(name);
  return names;
}

/** Names of the tensors that a call is given, those of its lists too. */
export const operandsOf = ({ arguments: given }: AtenNode): readonly string[] =>
  [...given.values()].flatMap((argument) =>
    argument.kind === 'tensor'
      ? [argument.name]
      : argument.kind === 'tensors'
        ? argument.names.flatMap((name) => name ?? [])
        : [],
  );
