/** What to write instead of a layer that is none. */

import { memoize } from '../../model/memoize.ts';
import { didYouMean } from '../../model/nearestName.ts';
import { knownOperators } from '../../operators/registry.ts';
import type { Home } from './blockTable.ts';
import { layerDefinitions } from './layerDefinitions.ts';
import { unsupportedLayers } from './unsupportedLayers.ts';

/** The end of a message that `name` is not a layer. Worked out once in a file, however often it is repeated. */
export function hintForUnknown(name: string, home: Home): string {
  let hints = hintsOf.get(home);
  if (hints === undefined) {
    hints = memoize((unknown: string) => makeHint(unknown, home));
    hintsOf.set(home, hints);
  }
  return hints(name);
}

const hintsOf = new WeakMap<Home, (name: string) => string>();

function makeHint(name: string, { blocks }: Home): string {
  const reason = unsupportedLayers.get(name);
  if (reason !== undefined) return `; ${reason}`;
  const layers = layerDefinitions.map((definition) => definition.name);
  const operators = knownOperators().flatMap(({ domain, type }) => (domain === '' ? [type] : []));
  return (
    didYouMean(name, [...blocks.keys(), ...layers, ...operators]) || '; it is no block of this file either'
  );
}
