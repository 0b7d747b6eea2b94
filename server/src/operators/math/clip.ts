/** Clip: elements limited to a range. */

import { unknownDimension } from '../../model/dimension.ts';
import type { OperatorDefinition } from '../definition.ts';
import { likeInputMap } from '../dimensions/elementwise.ts';
import { scalarOf } from '../vocabulary/contents.ts';
import { define } from '../vocabulary/define.ts';
import { elementwiseCost, inferLikeInput, readsInput } from '../vocabulary/elementwise.ts';
import { data, detached } from '../vocabulary/facts.ts';

/** The limits are inputs since version 11, attributes before; PyTorch keeps the input (`clamp`). */
export const clip: OperatorDefinition = define({
  type: 'Clip',
  documentation: 'elements limited to a range; ReLU6 is one (ONNX Operators, Clip-13)',
  inputs: [data('input'), detached('min'), detached('max')],
  traits: ['threshold'],
  pytorch: { layer: 'Hardtanh', autocast: 'widest' },
  runner: { rule: 'Clip' },
  infer: (context) => {
    const least =
      context.opset < 11
        ? context.float('min', Number.NEGATIVE_INFINITY)
        : limit(scalarOf(context, 1), Number.NEGATIVE_INFINITY);
    const most =
      context.opset < 11
        ? context.float('max', Number.POSITIVE_INFINITY)
        : limit(scalarOf(context, 2), Number.POSITIVE_INFINITY);
    return inferLikeInput(context, {
      combine: ([value]) => {
        if (typeof value === 'number' && typeof least === 'number' && typeof most === 'number') {
          return Math.min(Math.max(value, least), most);
        }
        // Limits of at most 1 below and nothing above leave a dimension what it is.
        const open = typeof least === 'number' && least <= 1 && most === Number.POSITIVE_INFINITY;
        return value !== undefined && open ? value : unknownDimension('a symbolic value limited to a range');
      },
    });
  },
  dimensions: likeInputMap,
  cost: (context) => elementwiseCost(context, 2, (index) => (index === 0 ? readsInput(2) : undefined)),
});

const limit = <T>(value: T | undefined, otherwise: number): T | number => value ?? otherwise;
