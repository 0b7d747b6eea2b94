/** The cost of a body that runs an unknown number of times: unknown in all, but known for each time. */

import { formatFlops, formatOperations } from '../../model/format.ts';
import { flops } from '../../model/units.ts';
import type { KnownCost, UnknownCost } from '../definition.ts';
import { unknownCost } from '../vocabulary/work.ts';

/** `reason` says why the count is unknown; `once` names one run, such as `one iteration`. */
export function unknownCount(reason: string, once: string, body: KnownCost | undefined): UnknownCost {
  return unknownCost(body === undefined ? reason : `${reason}; ${once} takes ${workOf(body)}`);
}

/** Backward is left out where there is none, as in a body without parameters. */
function workOf(body: KnownCost): string {
  const backward = body.backwardData.flops + body.backwardWeight.flops;
  if (body.forward.flops === 0) return `${formatOperations(body.forward.operations)} element-wise`;
  const forward = `${formatFlops(flops(body.forward.flops))} forward`;
  return backward === 0 ? forward : `${forward} and ${formatFlops(flops(backward))} backward`;
}
