/** Checks of an input's number of axes, with a message that says what the layer takes. */

import type { LayerLowering } from '../layerDefinition.ts';

/** Reports an input of another rank than `[batch, channels, …]` of `spatial` axes; true where right or unknown. */
export function hasSpatialAxes(call: LayerLowering, spatial: number): boolean {
  return hasRank(call, [spatial + 2], '[batch, channels, …]');
}

/** Reports a first input whose rank is none of `ranks`; true where it is right or unknown. */
export function hasRank(call: LayerLowering, ranks: readonly number[], form: string): boolean {
  const shape = call.inputs[0]?.shape;
  if (shape === undefined || ranks.includes(shape.length)) return true;
  call.problem(
    'shape/mismatch',
    `the input needs ${ranks.join(' or ')} axes, ${form}, but has ${shape.length}`,
  );
  return false;
}
