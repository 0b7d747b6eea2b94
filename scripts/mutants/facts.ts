/** The facts of definitions beside their rules, and how each is taken away for a while: what `npm run facts` tries one by one. */

import type { CompositePattern } from '../../server/src/composites/composite.ts';
import { compositePatterns } from '../../server/src/composites/patterns.ts';
import { knownOperators } from '../../server/src/operators/registry.ts';

export interface Fact {
  readonly name: string;
  /** Takes it away; what it gives puts it back. */
  readonly remove: () => () => void;
}

type Place = Record<string, unknown>;

/** Every property and every element of a list below each definition; a role, a flag or a number in another value. */
export const allFacts = (): readonly Fact[] => [
  ...knownOperators().flatMap(({ domain, type, since, ...definition }) => {
    const stated = {
      inputs: definition.inputs,
      traits: definition.traits ?? [],
      pytorch: definition.pytorch,
      runner: definition.runner,
    };
    return factsBelow(stated as unknown as Place, `${domain}:${type}-${since}`);
  }),
  ...compositePatterns.flatMap((pattern: CompositePattern) =>
    factsBelow(pattern as unknown as Place, `composite ${pattern.kind} ${pattern.name}`),
  ),
];

function factsBelow(place: Place, name: string): readonly Fact[] {
  return Object.entries(place).flatMap(([key, value]): readonly Fact[] => {
    const own = `${name} ${key}`;
    if (typeof value === 'function' || key === 'name' || key === 'kind') return [];
    if (Array.isArray(value)) return value.flatMap((_, index) => ofElement(value, index, own));
    if (typeof value === 'object' && value !== null)
      return [...deleted(place, key, own), ...factsBelow(value as Place, own)];
    if (typeof value === 'boolean' && key === 'gradient') return [changed(place, key, !value, own)];
    if (key === 'role') return [changed(place, key, value === 'data' ? 'weight' : 'data', own)];
    if (key === 'autocast') return [changed(place, key, value === 'widest' ? 'half' : 'widest', own)];
    if (key === 'layer' || key === 'rule' || key === 'reason') return [changed(place, key, '', own)];
    return deleted(place, key, own);
  });
}

function ofElement(list: unknown[], index: number, name: string): readonly Fact[] {
  const value = list[index];
  const isObject = typeof value === 'object' && value !== null;
  const label = isObject ? ((value as Place).name ?? index) : value;
  const remove = () => {
    list.splice(index, 1);
    return () => void list.splice(index, 0, value);
  };
  return [
    { name: `${name} ${label}`, remove },
    ...(isObject ? factsBelow(value as Place, `${name} ${label}`) : []),
  ];
}

const deleted = (place: Place, key: string, name: string): readonly Fact[] => [
  {
    name,
    remove: () => {
      const value = place[key];
      delete place[key];
      return () => {
        place[key] = value;
      };
    },
  },
];

const changed = (place: Place, key: string, other: unknown, name: string): Fact => ({
  name: `${name} → ${other}`,
  remove: () => {
    const value = place[key];
    place[key] = other;
    return () => {
      place[key] = value;
    };
  },
});
