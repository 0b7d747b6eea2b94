import { broadcastMap } from '../dimensions/elementwise.ts';
import { contradict } from '../vocabulary/broadcast.ts';
import { define } from '../vocabulary/define.ts';
import { elementwiseCost, inferBroadcast, readsInput } from '../vocabulary/elementwise.ts';
import { data, noRule } from '../vocabulary/facts.ts';
import { mismatch, printShape } from '../vocabulary/types.ts';
import { savedInput } from '../vocabulary/work.ts';

/** The gate and the value have one shape: unlike other operators of two tensors this one does not broadcast. */
export const swiGlu = define({
  type: 'SwiGLU',
  since: 28,
  documentation: 'swish of a gate times a value (ONNX Operators, SwiGLU-28)',
  inputs: [data('A'), data('B')],
  pytorch: { layer: 'SwiGLU', autocast: 'widest' },
  runner: noRule.unwritten,
  infer: (context) => {
    const gate = context.inputShape(0);
    const value = context.inputShape(1);
    const differ =
      gate !== undefined &&
      value !== undefined &&
      (gate.length !== value.length || gate.some((size, axis) => contradict(size, value[axis] ?? size)));
    if (differ) return mismatch(`gate ${printShape(gate)} and value ${printShape(value)} differ in shape`);
    return inferBroadcast(context);
  },
  dimensions: (context) => broadcastMap(context),
  cost: (context) =>
    elementwiseCost(context, 6, () => ({ ...readsInput(6), reads: [savedInput(0), savedInput(1)] })),
});
