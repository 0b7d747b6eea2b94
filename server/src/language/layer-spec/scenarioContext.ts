/** Where in a scenario the cursor is: at a key or a value, of the scenario itself or of its `framework` as a mapping. */

/** What is being written in a scenario, told from the text up to the cursor. */
export type ScenarioPlace =
  | { readonly kind: 'scenario-key' }
  | { readonly kind: 'scenario-value'; readonly key: string; readonly value: string }
  | ({ readonly kind: 'framework-key' } & FrameworkMapping)
  | ({ readonly kind: 'framework-value'; readonly key: string } & FrameworkMapping);

/** `{ name: pytorch-ddp, bucket-mb: 50 }`, as far as it is written. */
export interface FrameworkMapping {
  readonly framework: string;
  readonly written: readonly string[];
}

export interface FoundInScenario {
  readonly place: ScenarioPlace;
  /** The word that is being written; names of frameworks and options have hyphens. */
  readonly word: string;
}

/** In the braces of `scenario: {…`: the text from the brace to the cursor, and what follows the cursor. */
export function placeInBraces(written: string, after: string): FoundInScenario | undefined {
  const maps = openMaps(written);
  const [outer, inner, deeper] = maps;
  if (outer === undefined || deeper !== undefined) return undefined;
  if (inner === undefined) return placeInItem(outer.item);
  return keyOf(outer.item) === 'framework' ? placeInMapping(inner, after) : undefined;
}

/** On a line of a scenario without braces: what of it stands before the cursor. */
export function placeOnLine(item: string, after: string): FoundInScenario | undefined {
  const brace = /^\s*framework\s*:\s*(?=\{)/.exec(item);
  if (brace === null) return placeInItem(item);
  const [map, deeper] = openMaps(item.slice(brace[0].length));
  return map === undefined || deeper !== undefined ? undefined : placeInMapping(map, after);
}

/** On a line below `framework:`; `lines` are all lines of the mapping. */
export function placeBelowFramework(item: string, lines: string): FoundInScenario | undefined {
  return inFramework(item, mappingOf(lines));
}

function placeInItem(item: string): FoundInScenario | undefined {
  const entry = /^\s*([\w-]+)\s*:\s+(.*)$/s.exec(item);
  if (entry !== null) {
    const [, key = '', value = ''] = entry;
    return { place: { kind: 'scenario-value', key, value }, word: /[^\s,=]*$/.exec(value)?.[0] ?? '' };
  }
  const word = /^\s*([\w-]*)$/.exec(item)?.[1];
  return word === undefined ? undefined : { place: { kind: 'scenario-key' }, word };
}

interface OpenMap {
  /** From its brace to the cursor. */
  readonly text: string;
  /** The entry that is being written. */
  readonly item: string;
}

function placeInMapping({ text, item }: OpenMap, after: string): FoundInScenario | undefined {
  const rest = /^[^}\n]*/.exec(after)?.[0] ?? '';
  return inFramework(item, mappingOf(`${text}${rest}`));
}

function inFramework(item: string, mapping: FrameworkMapping): FoundInScenario | undefined {
  const entry = /^\s*([\w-]+)\s*:\s+['"]?([^\s'"]*)$/.exec(item);
  if (entry !== null) {
    const [, key = '', word = ''] = entry;
    return { place: { kind: 'framework-value', key, ...mapping }, word };
  }
  const word = /^\s*([\w-]*)$/.exec(item)?.[1];
  return word === undefined ? undefined : { place: { kind: 'framework-key', ...mapping }, word };
}

function mappingOf(text: string): FrameworkMapping {
  const entries = [...text.matchAll(/(?:^|[{,\n])[ \t]*([\w-]+)[ \t]*:[ \t]+['"]?([^\s,}'"#]*)/g)];
  const name = entries.find(([, key]) => key === 'name');
  return { framework: name?.[2] ?? '', written: entries.flatMap(([, key = '']) => key) };
}

const keyOf = (item: string): string | undefined => /^\s*([\w-]+)\s*:/.exec(item)?.[1];

/** The braces that are open at the end of the text, from the outermost. A comma of options belongs to its value. */
function openMaps(text: string): readonly OpenMap[] {
  const open: { start: number; item: number }[] = [];
  let quote = '';
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] ?? '';
    const last = open.at(-1);
    if (quote !== '') {
      if (character === quote) quote = '';
    } else if (character === '"' || character === "'") quote = character;
    else if (character === '{') open.push({ start: at, item: at + 1 });
    else if (character === '}') open.pop();
    else if (character === ',' && last !== undefined && /^(?:\s|$)/.test(text.slice(at + 1, at + 2))) {
      last.item = at + 1;
    }
  }
  return open.map(({ start, item }) => ({ text: text.slice(start), item: text.slice(item) }));
}
