/** A scenario as a map of values, such as YAML and JSON have it, as options of the command line. */

import type { ScenarioOption } from './checkFile.ts';

export type ScenarioValue =
  | string
  | number
  | readonly (string | number)[]
  | Readonly<Record<string, string | number>>;

/** `dim: { seq: 512 }` is `--dim seq=512`; of `input`, `workers` and `run` all pairs are one value. */
export function scenarioOptionsOf(
  scenario: Readonly<Record<string, ScenarioValue>>,
): readonly ScenarioOption[] {
  return Object.entries(scenario).flatMap(([name, value]): readonly ScenarioOption[] => {
    if (typeof value === 'string' || typeof value === 'number') return [{ name, value: String(value) }];
    if (isList(value)) return value.map((each) => ({ name, value: String(each) }));
    const pairs = Object.entries(value).map(([key, each]) => `${key}=${each}`);
    const isRepeated = name === 'dim' || name === 'threshold';
    return (isRepeated ? pairs : [pairs.join(',')]).map((each) => ({ name, value: each }));
  });
}

const isList = (value: unknown): value is readonly (string | number)[] => Array.isArray(value);
