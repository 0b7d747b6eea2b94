/** A tensor whose end along an axis comes before its beginning, which ONNX has no operator for. */

import { knownShapeOf } from '../model/graph.ts';
import type { CompositePattern } from './composite.ts';
import { matchOf, producerOf, scalarOf, soleReader } from './flow.ts';

/**
 * [x[k:], x[:k]] along one axis: PyTorch `aten::roll`, one kernel for each axis, forward and backward
 * (aten/src/ATen/native/cuda/TensorTransformations.cu, `roll_cuda`), where parts that a program joins have a gradient each.
 */
export const roll: CompositePattern = {
  kind: 'taken-apart',
  name: 'Roll',
  anchors: ['Concat'],
  keeps: 'nothing',
  match: (graph, concat) => {
    const [last = '', first = ''] = concat.inputs;
    const [end, beginning] = [producerOf(graph, last), producerOf(graph, first)];
    if (concat.inputs.length !== 2 || end?.type !== 'Slice' || beginning?.type !== 'Slice') return undefined;
    const [source = ''] = end.inputs;
    if (beginning.inputs[0] !== source || scalarOf(graph, beginning.inputs[1]) !== 0) return undefined;
    if (scalarOf(graph, end.inputs[1]) === 0) return undefined;
    if (soleReader(graph, last) !== concat || soleReader(graph, first) !== concat) return undefined;
    const [whole, ...parts] = [source, last, first].map((name) => knownShapeOf(graph, name));
    const axes = whole?.flatMap((size, axis) => (parts.some((part) => part?.[axis] !== size) ? [axis] : []));
    const [axis] = axes ?? [];
    if (whole === undefined || axes?.length !== 1 || axis === undefined) return undefined;
    const [length, rest] = parts.map((part) => part?.[axis]);
    if (typeof length !== 'number' || typeof rest !== 'number' || length + rest !== whole[axis])
      return undefined;
    const order = [end, beginning, concat].toSorted((left, right) => left.index - right.index);
    return matchOf(order, { input: source }, 'assumed-one');
  },
};
