/** Blocks that the source of a model states to repeat: a layer spec by `* n`, an ONNX file by calls of one function. */

import type { OnnxModel } from '../../formats/onnx/syntax.ts';
import type { ProvidedStructure, StatedRepetition } from '../../lowering/providedStructure.ts';
import type { FlatNode } from '../expandFunctions.ts';
import { functionKey } from '../expandFunctions.ts';
import { fewestDropped, keptAtEnd, keptAtStart } from './foldGraph.ts';

/** By indices into `nodes`, in order, none within another. Those of too few blocks to leave any out are not among them. */
export function statedRepetitions(
  model: OnnxModel,
  nodes: readonly FlatNode[],
  provided: ProvidedStructure | undefined,
): readonly StatedRepetition[] {
  const stated = [...(provided?.repetitions ?? functionCalls(model))].filter(
    ({ count }) => count >= keptAtStart + keptAtEnd + fewestDropped,
  );
  if (stated.length === 0) return stated;
  const endOf = ({ start, period, count }: StatedRepetition): number => start + period * count;
  stated.sort((left, right) => left.start - right.start || endOf(right) - endOf(left));
  const outermost: StatedRepetition[] = [];
  let end = 0;
  for (const repetition of stated) {
    if (repetition.start < end) continue;
    outermost.push(repetition);
    end = endOf(repetition);
  }
  const longest = outermost
    .toSorted((left, right) => right.period * right.count - left.period * left.count)
    .slice(0, mostFolded);
  return outermost
    .filter((repetition) => longest.includes(repetition))
    .flatMap((repetition) => amongFlat(repetition, nodes));
}

/** Each costs a walk over the whole graph, which those that leave out little do not save. */
const mostFolded = 8;

/** Functions expand to several nodes, and nodes without use are dropped. */
function amongFlat(
  { start, period, count }: StatedRepetition,
  nodes: readonly FlatNode[],
): readonly StatedRepetition[] {
  const first = nodes.findIndex(({ source }) => source >= start);
  const behind = nodes.findIndex(({ source }) => source >= start + period * count);
  const length = ((behind < 0 ? nodes.length : behind) - first) / count;
  return first >= 0 && length > 0 && Number.isInteger(length)
    ? [{ start: first, period: length, count }]
    : [];
}

/** Calls of one function at even distances. */
function functionCalls({ functions, graph }: OnnxModel): readonly StatedRepetition[] {
  if (functions.length === 0) return [];
  const calls = new Map(
    functions.map((body) => [functionKey(body.domain, body.name, body.overload), [] as number[]]),
  );
  for (const [index, { domain, type, overload }] of graph.nodes.entries()) {
    calls.get(functionKey(domain, type, overload))?.push(index);
  }
  const repetitions: StatedRepetition[] = [];
  for (const places of calls.values()) {
    let [start] = places;
    for (let call = 1; start !== undefined && call < places.length; ) {
      const period = (places[call] ?? start) - start;
      let count = 1;
      while (places[call] === start + count * period) {
        count += 1;
        call += 1;
      }
      // Nobody says that what stands between the calls stands behind the last one too.
      repetitions.push({ start, period, count: period === 1 ? count : count - 1 });
      start = places[call - 1];
    }
  }
  return repetitions;
}
