/** What a file or a lowering says of where an operator came from, for composites. */

import type { OperatorOrigin } from '../composites/composite.ts';
import type { GivenLayers } from '../lowering/providedStructure.ts';
import type { ModuleScope } from './moduleScope.ts';

/** `source`: index of the node in the file. A call goes before a layer that a lowering gives, and that before a scope. */
export function originOf(
  scope: ModuleScope | undefined,
  source: number | undefined,
  given: GivenLayers,
): OperatorOrigin {
  const known = given.calls.get(source ?? -1);
  if (known !== undefined)
    return { call: known, ...(known.moduleClass === undefined ? {} : { moduleClass: known.moduleClass }) };
  const index = given.ofNode[source ?? -1] ?? -1;
  const layer = given.layers[index];
  if (layer !== undefined) return { layer: index, moduleClass: layer.type };
  if (scope === undefined) return nothingSaid;
  const { moduleClass, call } = scope;
  if (moduleClass === undefined && call === undefined) return nothingSaid;
  return {
    ...(moduleClass === undefined ? {} : { moduleClass }),
    ...(call === undefined ? {} : { call }),
  };
}

const nothingSaid: OperatorOrigin = {};
