/** Distances of each row of one matrix from each of another, as the TorchScript exporter writes them. */

import type { CompositePattern } from './composite.ts';
import { isNear, matchOf, producerOf, scalarOf, soleReader } from './flow.ts';

/** (Σ (aᵢ − bⱼ)²)^½: PyTorch `aten::cdist`, which keeps both matrices and the distances (torch/onnx/symbolic_opset9.py, `cdist`). */
export const pairwiseDistances: CompositePattern = {
  kind: 'taken-apart',
  name: 'CDist',
  autocast: 'fp32',
  anchors: ['Sub'],
  keeps: 'both',
  match: (graph, difference) => {
    const sides = difference.inputs.map((name) => producerOf(graph, name));
    const [left, right] = sides;
    if (left?.type !== 'Unsqueeze' || right?.type !== 'Unsqueeze' || left === right) return undefined;
    const power = soleReader(graph, difference.outputs[0]);
    const sum = soleReader(graph, power?.outputs[0]);
    const root = soleReader(graph, sum?.outputs[0]);
    if (power?.type !== 'Pow' || sum?.type !== 'ReduceSum' || root?.type !== 'Pow') return undefined;
    const exponent = scalarOf(graph, power.inputs[1]);
    // A root of hand is `Sqrt`.
    if (exponent === undefined || !isNear(scalarOf(graph, root.inputs[1]), 1 / exponent)) return undefined;
    const isPrivate = [left, right].every(({ outputs }) => soleReader(graph, outputs[0]) === difference);
    return isPrivate ? matchOf([left, right, difference, power, sum, root], {}, 'assumed-one') : undefined;
  },
};
