/** Two kept results side by side. Layers of two versions of a model are matched by name. */

import type { Seconds } from '../model/units.ts';
import type { SavedResult } from './savedResult.ts';

export interface ResultComparison {
  /** Layers of the second result in its order, then those that only the first has. */
  readonly rows: readonly ComparedResultLayer[];
  readonly step: ComparedResultTime;
}

export interface ComparedResultLayer {
  readonly name: string;
  readonly type: string;
  readonly forward: ComparedResultTime;
  readonly backward: ComparedResultTime;
}

export interface ComparedResultTime {
  readonly first: Seconds | null;
  readonly second: Seconds | null;
  /** Second over first; `null` where either is missing or the first is 0. */
  readonly ratio: number | null;
}

export function compareResults(first: SavedResult, second: SavedResult): ResultComparison {
  const before = new Map(first.layers.map((layer) => [layer.name, layer]));
  const after = new Set(second.layers.map(({ name }) => name));
  const gone = first.layers.filter(({ name }) => !after.has(name));
  const row = (
    { name, type }: { readonly name: string; readonly type: string },
    one: SavedResult['layers'][number] | undefined,
    other: SavedResult['layers'][number] | undefined,
  ): ComparedResultLayer => ({
    name,
    type,
    forward: compared(one?.forward, other?.forward),
    backward: compared(one?.backward, other?.backward),
  });
  return {
    rows: [
      ...second.layers.map((layer) => row(layer, before.get(layer.name), layer)),
      ...gone.map((layer) => row(layer, layer, undefined)),
    ],
    step: compared(first.step?.whole, second.step?.whole),
  };
}

const compared = (first: Seconds | undefined, second: Seconds | undefined): ComparedResultTime => ({
  first: first ?? null,
  second: second ?? null,
  ratio: first === undefined || first === 0 || second === undefined ? null : second / first,
});
