/** Elements added, or removed, at both ends of axes. */

import { addDimensions, unknownDimension } from '../../model/dimension.ts';
import type { CostContext, Inference, InferenceContext } from '../definition.ts';
import { padMap } from '../dimensions/parts.ts';
import { integersOf, normalizeAxes, numbersOf } from '../vocabulary/axes.ts';
import { define } from '../vocabulary/define.ts';
import { data, detached, host } from '../vocabulary/facts.ts';
import { copyCost } from '../vocabulary/movement.ts';
import {
  elementTypeOf,
  mismatch,
  printShape,
  single,
  tensor,
  unknownBecause,
  whyUnknown,
} from '../vocabulary/types.ts';
import { savedInput } from '../vocabulary/work.ts';

export const pad = define({
  type: 'Pad',
  documentation: 'elements added, or removed, at both ends of axes (ONNX Operators, Pad-25)',
  inputs: [data('data'), host('pads'), detached('constant_value'), host('axes')],
  pytorch: { layer: 'Pad', autocast: 'widest' },
  runner: { rule: 'Pad' },
  infer: inferPad,
  dimensions: padMap,
  cost: (context) => copyCost(context, { saved: readsWhatItRepeats(context) ? [savedInput(0)] : [] }),
});

/** PyTorch 2.x tools/autograd/derivatives.yaml: `reflection_pad2d`, `replication_pad2d` and their kin keep their input. */
function readsWhatItRepeats(context: CostContext): boolean {
  const mode = context.string('mode', 'constant');
  return (mode === 'reflect' || mode === 'edge') && context.gradient(0) !== 'none';
}

/** ONNX Operators, Pad-21: `pads` is an attribute before version 11 (`paddings` in version 1), negative ones crop. */
function inferPad(context: InferenceContext): Inference {
  const elementType = elementTypeOf(context, 0);
  const input = context.inputShape(0);
  if (input === undefined) return unknownBecause(context, 0);
  const pads = integersOf(context, 1, context.opset < 2 ? 'paddings' : 'pads');
  const axesGiven = context.opset < 18 ? undefined : context.inputContent(3)?.elements;
  const axesUnknown = context.opset >= 18 && context.inputType(3) !== undefined && axesGiven === undefined;
  const axes =
    axesGiven === undefined
      ? input.map((_, axis) => axis)
      : normalizeAxes(numbersOf(axesGiven) ?? [Number.NaN], input.length);
  if (pads.kind !== 'known' || axesUnknown || axes === undefined) {
    const unknown = unknownDimension(whyUnknown(context, axesUnknown ? 3 : 1));
    const mayChange = (axis: number): boolean => axesUnknown || axes === undefined || axes.includes(axis);
    return single(
      tensor(
        elementType,
        input.map((size, axis) => (mayChange(axis) ? unknown : size)),
      ),
    );
  }
  const beyond = axes.findIndex((_, position) => {
    const [begin, end] = [pads.values[position], pads.values[position + axes.length]];
    return typeof begin === 'number' && typeof end === 'number' && begin + end > Number.MAX_SAFE_INTEGER;
  });
  if (beyond >= 0)
    return mismatch(`the pads of axis ${axes[beyond]} add up to more than a 64-bit size can count`);
  const type = tensor(
    elementType,
    input.map((size, axis) => {
      const position = axes.indexOf(axis);
      if (position < 0) return size;
      const begin = pads.values[position] ?? 0;
      return addDimensions(addDimensions(size, begin), pads.values[position + axes.length] ?? 0);
    }),
  );
  if (pads.values.length !== 2 * axes.length) {
    return mismatch(
      `${pads.values.length} pads do not fit ${axes.length} axes of ${printShape(input)}: two per axis`,
      type,
    );
  }
  return single(type);
}
