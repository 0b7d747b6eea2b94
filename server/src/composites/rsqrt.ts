/**
 * The reciprocal square root, which ONNX has no operator for. The TorchScript exporter writes `1 / √x`, the other one the
 * reciprocal of the root; a program's `1 / x.sqrt()` is a reciprocal in both.
 */

import type { CompositePattern } from './composite.ts';
import { scalarOf, soleReader } from './flow.ts';

/** 1 / √x: PyTorch `aten::rsqrt`, whose backward reads its result. */
export const rsqrt: CompositePattern = {
  kind: 'rsqrt',
  name: 'Rsqrt',
  autocast: 'fp32',
  anchors: ['Sqrt'],
  keeps: 'result',
  match: (graph, root) => {
    const inverse = soleReader(graph, root.outputs[0]);
    const isQuotient =
      inverse?.type === 'Div' &&
      inverse.inputs[1] === root.outputs[0] &&
      scalarOf(graph, inverse.inputs[0]) === 1;
    if (inverse?.type !== 'Reciprocal' && !isQuotient) return undefined;
    const [input = ''] = root.inputs;
    // Scales of attention are such, and are computed on the host.
    if (graph.values.get(input)?.content !== undefined) return undefined;
    return { operators: [root.index, inverse.index], roles: { input }, launchedAs: 'assumed-one' };
  },
};
