/** Zeros and ones by chance, which ONNX exporters write as numbers below a limit. */

import { isFloatingPoint } from '../model/elementType.ts';
import type { Graph, Operator } from '../model/graph.ts';
import type { CompositePattern } from './composite.ts';
import { matchOf, readersOf, soleReader } from './flow.ts';

/** U < p, as a number: PyTorch `aten::bernoulli_`, one kernel, as in layers that drop whole channels, rows or branches. */
export const bernoulli: CompositePattern = {
  kind: 'taken-apart',
  name: 'Bernoulli',
  anchors: ['RandomUniformLike'],
  keeps: 'nothing',
  match: (graph, drawn) => {
    const [numbers = ''] = drawn.outputs;
    const readers = readersOf(graph, numbers);
    const less = readers.find(({ type, inputs }) => type === 'Less' && inputs[0] === numbers);
    // The limit is turned to the type of what is drawn.
    const limit = readers.find(({ type, inputs }) => type === 'CastLike' && inputs[1] === numbers);
    if (less === undefined || readers.some((reader) => reader !== less && reader !== limit)) return undefined;
    const result = soleReader(graph, less.outputs[0]);
    if (result === undefined || !isNumber(graph, result)) return undefined;
    return matchOf([drawn, ...(limit === undefined ? [] : [limit]), less, result], {}, 'assumed-one');
  },
};

/** Whether truth values become numbers. */
const isNumber = (graph: Graph, { type, outputs }: Operator): boolean => {
  const result = graph.values.get(outputs[0] ?? '')?.type;
  return (
    (type === 'Cast' || type === 'CastLike') &&
    result?.kind === 'tensor' &&
    isFloatingPoint(result.elementType)
  );
};
