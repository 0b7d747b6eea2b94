/** The axis that an argument of a call names. */

import type { LayerLowering } from '../layerDefinition.ts';
import { printShape } from '../printShape.ts';
import { axisAt } from './parameters.ts';

/**
 * An axis of the first input, or `undefined`: where its rank is not known, or after an issue. `added` is 1 where a new
 * axis may stand behind the last.
 */
export function axisOf(call: LayerLowering, name = 'dim', added = 0): number | undefined {
  const [input] = call.inputs;
  const rank = input?.shape?.length;
  if (rank === undefined) return undefined;
  const given = call.integer(name);
  const axis = axisAt(given, rank + added);
  if (axis !== undefined) return axis;
  const message = `the input has no axis ${given}; it is ${printShape(input)}`;
  return call.problem('spec/argument', message, name);
}
