/** The keys of a layer spec. */

import type { SpecBody } from './syntax.ts';
import { isNothing, type YamlNode } from './yamlTree.ts';

/** Keys of a model, in the order in which they are written. */
export const modelKeys = ['dims', 'inputs', 'blocks', 'layers', 'outputs', 'scenario'] as const;

/** Keys of the top level, in the order in which a spec is written. */
export const specKeys = ['name', 'include', ...modelKeys, 'models'] as const;

/** What stands below a key, as YAML has it. */
const formsOf: Readonly<Record<(typeof specKeys)[number], readonly YamlNode['kind'][]>> = {
  name: ['scalar'],
  include: ['scalar', 'list'],
  dims: ['map'],
  inputs: ['map'],
  blocks: ['map'],
  layers: ['list'],
  outputs: ['scalar', 'list'],
  scenario: ['map'],
  models: ['map'],
};

/** Whether a value can stand below a key; one that is missing or cannot be read can. */
export function fitsKey(key: string, value: YamlNode | undefined): boolean {
  if (value === undefined || value.kind === 'unreadable' || isNothing(value)) return true;
  const known = specKeys.find((each) => each === key);
  return known !== undefined && formsOf[known].includes(value.kind);
}

/** Keys that a model cannot do without, with what a person may write. */
export const neededKeys = {
  inputs: '`inputs: { x: "float32[batch, 768]" }`',
  layers: '`layers:` and below it lines such as `- fc: Linear(768, 3072)`',
} as const;

/** Whether a key is written. */
export const has = ({ sections }: SpecBody, key: string): boolean =>
  sections.some((section) => section.key.text === key);

/** Whether a text holds blocks alone, for other files to include. */
export const isLibrary = (body: SpecBody): boolean =>
  has(body, 'blocks') && !has(body, 'inputs') && !has(body, 'layers');
