/** A map by name whose entries are found when they are first asked for: most of those of a large graph never are. */

import { lazy } from './lazy.ts';

/** `find` gives `undefined` for what the map does not have; `names` are asked for only where someone goes through all of them. */
export function foundEntries<Value extends object>(
  find: (name: string) => Value | undefined,
  names: () => Iterable<string>,
): ReadonlyMap<string, Value> {
  return new FoundEntries(find, names);
}

class FoundEntries<Value extends object> implements ReadonlyMap<string, Value> {
  private readonly known = new Map<string, Value | undefined>();
  private readonly all = lazy(() => {
    const all = new Map<string, Value>();
    for (const name of this.names()) {
      const value = this.get(name);
      if (value !== undefined) all.set(name, value);
    }
    return all;
  });

  constructor(
    private readonly find: (name: string) => Value | undefined,
    private readonly names: () => Iterable<string>,
  ) {}

  get(name: string): Value | undefined {
    const known = this.known.get(name);
    if (known !== undefined || this.known.has(name)) return known;
    const found = this.find(name);
    this.known.set(name, found);
    return found;
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  get size(): number {
    return this.all().size;
  }

  forEach(each: (value: Value, name: string, all: ReadonlyMap<string, Value>) => void): void {
    for (const [name, value] of this.all()) each(value, name, this);
  }

  entries(): MapIterator<[string, Value]> {
    return this.all().entries();
  }

  keys(): MapIterator<string> {
    return this.all().keys();
  }

  values(): MapIterator<Value> {
    return this.all().values();
  }

  [Symbol.iterator](): MapIterator<[string, Value]> {
    return this.entries();
  }
}
