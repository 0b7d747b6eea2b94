/** What people call a parameter where they name some of them by a pattern. */

import { matchesGlob } from '../model/glob.ts';
import type { ModelAnalysis, Parameter } from './modelAnalysis.ts';
import { qualifiedName } from './moduleScope.ts';

/** Whether a pattern matches a name, or what the name is inside of. */
export const isInside = (glob: string, name: string): boolean =>
  [name, ...modulesAround(name)].some((candidate) => matchesGlob(glob, candidate));

/** `encoder.0` and `encoder` of `encoder.0.weight`; `h[3]` and `h` of `h[3].fc`. */
export const modulesAround = (name: string): readonly string[] =>
  [...name.matchAll(/[./[]/g)].flatMap(({ index }) => (index > 0 ? [name.slice(0, index)] : []));

/** Its name, that of the parameter it was folded from, and one by the module that uses it. */
export function namesOf(
  { name, operators }: Pick<Parameter, 'name' | 'operators'>,
  { graph }: Pick<ModelAnalysis, 'graph'>,
): readonly string[] {
  const sources = graph.values.get(name)?.literal?.origin?.foldedFrom ?? [];
  const [first] = operators;
  const scope = first === undefined ? [] : (graph.operators[first]?.scope ?? []);
  const module = qualifiedName({ paths: scope, moduleClass: undefined });
  return [
    ...(sources.length === 0 ? [name] : sources.filter((source) => source.includes('.'))),
    ...(module === '' || name.startsWith(`${module}.`)
      ? []
      : [`${module}.${name.split('.').at(-1) ?? name}`]),
  ];
}
