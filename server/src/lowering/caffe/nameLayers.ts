/** Names of the layers of a Caffe net, each given once, and the modules they are in. */

import type { CaffeLayer } from '../../formats/caffe/syntax.ts';

export interface NamedLayer {
  readonly name: string;
  readonly ancestors: readonly string[];
}

/** Names the layers of a net, which are given in order. A name that is taken gets a number. */
export function nameLayers(layers: readonly CaffeLayer[]): (layer: CaffeLayer) => NamedLayer {
  const names = new Set(layers.map(({ name }) => name));
  const taken = new Map<string, number>();
  const unique = (name: string): string => {
    const times = (taken.get(name) ?? 0) + 1;
    taken.set(name, times);
    return times === 1 ? name : unique(`${name} (${times})`);
  };
  return (layer) => {
    const name = unique(layer.name || layer.type);
    return { name, ancestors: ancestorsOf(name, names) };
  };
}

/** Names with slashes are modules and what is in them, unless a layer has the name of the module. */
function ancestorsOf(name: string, names: ReadonlySet<string>): readonly string[] {
  const steps = name.split('/').slice(0, -1);
  const paths = steps.map((_, index) => steps.slice(0, index + 1).join('/'));
  return paths.filter((path) => path !== '' && !names.has(path)).slice(0, deepestModule);
}

/** Names with more steps are no modules anyone wrote. */
const deepestModule = 16;
