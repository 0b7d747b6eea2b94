/** The operators Layercost knows, by domain, type and operator-set version. */

import type { OperatorDefinition } from './definition.ts';

/**
 * The definition that holds for `type` in version `opset` of `domain`: the newest that is not newer than it.
 * `undefined` where the operator is not known. 'ai.onnx' is the default domain's other name.
 */
export function findOperator(domain: string, type: string, opset: number): OperatorDefinition | undefined {
  const versions = definitionsByName.get(nameOf(domain, type));
  return versions?.find((definition) => definition.since <= opset) ?? versions?.at(-1);
}

/** Every operator with a definition, each version once, sorted by domain, type and version. */
export function knownOperators(): readonly OperatorDefinition[] {
  return [...definitionsByName.entries()]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .flatMap(([, versions]) => versions.toReversed());
}

const definitions: readonly OperatorDefinition[] = [];

const nameOf = (domain: string, type: string): string => `${domain === 'ai.onnx' ? '' : domain}:${type}`;

const definitionsByName: ReadonlyMap<string, readonly OperatorDefinition[]> = (() => {
  const byName = new Map<string, OperatorDefinition[]>();
  for (const definition of definitions) {
    const name = nameOf(definition.domain, definition.type);
    byName.set(name, [...(byName.get(name) ?? []), definition]);
  }
  for (const versions of byName.values()) versions.sort((left, right) => right.since - left.since);
  return byName;
})();
