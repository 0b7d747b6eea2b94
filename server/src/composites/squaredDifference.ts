/** The squared difference that the TorchScript exporter makes of a mean squared error: a product of two equal differences. */

import type { CompositePattern } from './composite.ts';
import { matchOf, producerOf, soleReader } from './flow.ts';

/** (a − b)·(a − b): PyTorch `aten::mse_loss`, which keeps what it compares (torch/onnx/symbolic_opset9.py, `mse_loss`). */
export const squaredDifference: CompositePattern = {
  kind: 'taken-apart',
  name: 'MseLoss',
  autocast: 'fp32',
  anchors: ['Mul'],
  keeps: 'inputs',
  match: (graph, product) => {
    const [left, right] = product.inputs.map((name) => producerOf(graph, name));
    if (left?.type !== 'Sub' || right?.type !== 'Sub' || left === right) return undefined;
    if (left.inputs.join() !== right.inputs.join()) return undefined;
    const isPrivate = [left, right].every(({ outputs }) => soleReader(graph, outputs[0]) === product);
    return isPrivate ? matchOf([left, right, product], {}, 'assumed-one') : undefined;
  },
};
