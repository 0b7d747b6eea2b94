/** Operators that repeat, crop, mask or reverse parts of a tensor, and the list of those beside them. */

import { multiplyDimensions, unknownDimension } from '../../model/dimension.ts';
import type { OperatorDefinition } from '../definition.ts';
import { likeInputBut, rowsMap } from '../dimensions/elementwise.ts';
import { reverseSequenceMap, tileMap } from '../dimensions/parts.ts';
import { normalizeAxes, numbersOf } from '../vocabulary/axes.ts';
import { gatherContent } from '../vocabulary/contents.ts';
import { define } from '../vocabulary/define.ts';
import { data, detached, host, noRule } from '../vocabulary/facts.ts';
import { copyCost } from '../vocabulary/movement.ts';
import {
  elementTypeOf,
  listedElements,
  mismatch,
  printShape,
  single,
  tensor,
  unknownBecause,
  whyUnknown,
} from '../vocabulary/types.ts';
import { concat } from './concat.ts';
import { pad } from './pad.ts';
import { slice } from './slice.ts';
import { split } from './split.ts';

const tile = define({
  type: 'Tile',
  documentation: 'the input repeated along axes (ONNX Operators, Tile-13)',
  inputs: [data('input'), host('repeats')],
  traits: ['copies-elements'],
  pytorch: { layer: 'Tile', autocast: 'widest' },
  runner: { rule: 'Tile' },
  infer: (context) => {
    const input = context.inputShape(0);
    const elementType = elementTypeOf(context, 0);
    if (input === undefined) return unknownBecause(context, 0);
    const unknown = unknownDimension(whyUnknown(context, 1));
    const repeats = listedElements(context, 1) ?? input.map(() => unknown);
    if (repeats.length !== input.length) {
      return mismatch(
        `${repeats.length} repeats do not fit the ${input.length} axes of ${printShape(input)}`,
      );
    }
    const shape = input.map((size, axis) => multiplyDimensions(size, repeats[axis] ?? 1));
    const sizes = numbersOf(input);
    const elements =
      sizes &&
      gatherContent(context.inputContent(0), shape, (coordinates) =>
        coordinates.map((coordinate, axis) => coordinate % (sizes[axis] ?? 1)),
      );
    return single(tensor(elementType, shape), elements);
  },
  dimensions: tileMap,
  cost: (context) => copyCost(context),
});

const centerCropPad = define({
  type: 'CenterCropPad',
  since: 18,
  documentation: 'cropped or padded around the centre to a given size (ONNX Operators, CenterCropPad-18)',
  inputs: [data('input_data'), host('shape')],
  pytorch: { layer: 'CenterCropPad', autocast: 'widest' },
  runner: noRule.unwritten,
  infer: (context) => {
    const input = context.inputShape(0);
    if (input === undefined) return unknownBecause(context, 0);
    const sizes = context.inputContent(1)?.elements;
    const axes = normalizeAxes(context.ints('axes') ?? input.map((_, axis) => axis), input.length);
    if (axes === undefined) return mismatch(`the axes lie outside the input ${printShape(input)}`);
    const reason = whyUnknown(context, 1);
    const shape = input.map((size, axis) => {
      const position = axes.indexOf(axis);
      return position < 0 ? size : (sizes?.[position] ?? unknownDimension(reason));
    });
    return single(tensor(elementTypeOf(context, 0), shape));
  },
  dimensions: (context) =>
    likeInputBut(context, context.ints('axes') ?? (context.inputShape(0) ?? []).map((_, axis) => axis)),
  cost: (context) => copyCost(context),
});

const trilu = define({
  type: 'Trilu',
  since: 14,
  documentation: 'upper or lower triangle of matrices (ONNX Operators, Trilu-14)',
  inputs: [data('input'), host('k')],
  pytorch: { layer: 'Trilu', autocast: 'widest' },
  runner: { rule: 'Trilu' },
  infer: (context) => {
    const type = context.inputType(0);
    const input = context.inputShape(0);
    if (type === undefined || input === undefined) return unknownBecause(context, 0);
    if (input.length < 2) return mismatch(`Trilu takes matrices, not ${printShape(input)}`, type);
    return single(type);
  },
  dimensions: (context) => rowsMap(context, -2),
  cost: (context) => copyCost(context),
});

const reverseSequence = define({
  type: 'ReverseSequence',
  since: 10,
  documentation: 'sequences of given lengths reversed (ONNX Operators, ReverseSequence-28)',
  inputs: [data('input'), detached('sequence_lens')],
  pytorch: { layer: 'ReverseSequence', autocast: 'widest' },
  runner: noRule.unwritten,
  infer: (context) =>
    single(context.inputType(0) ?? unknownBecause(context, 0).outputs[0] ?? tensor('undefined', [])),
  dimensions: reverseSequenceMap,
  cost: (context) => copyCost(context),
});

export const slicingOperators: readonly OperatorDefinition[] = [
  slice,
  split,
  concat,
  pad,
  tile,
  centerCropPad,
  trilu,
  reverseSequence,
];
