/** Tensors that lie in memory between steps without being trained: masks and tables, as against what every step makes. */

import type { Graph, Value } from '../model/graph.ts';
import { hasTrait } from '../operators/operatorFacts.ts';

/** Whether a value is stored, or another layout of what is stored, as a line `Buffer` of a layer spec is. */
export function isStoredTable({ operators, values }: Graph, value: Value): boolean {
  let read: Value | undefined = value;
  while (read?.role === 'constant' || read?.role === 'buffer') {
    const producer = read.producer === undefined ? undefined : operators[read.producer];
    // What constant folding took out of the step is made in it all the same.
    if (producer === undefined) return read.literal?.origin?.isMadeInStep !== true;
    if (hasTrait(producer, 'constant')) return true;
    if (!hasTrait(producer, 'layout') || producer.isCopy) return false;
    read = values.get(producer.inputs[0] ?? '');
  }
  return false;
}
