/** Reads lists of layers, each on a line of its own: `- name: call`. */

import { isNothing, type SpecReading } from './specReading.ts';
import type { LayerCall, SpecLayer } from './syntax.ts';
import type { Parsed } from './tokenCursor.ts';
import { dividedAtBlank, missingColon, type YamlEntry, type YamlList } from './yamlTree.ts';

/** The layers below `layers`, or below the key of a block. */
export function readLayers(reading: SpecReading, entry: YamlEntry | undefined): readonly SpecLayer[] {
  if (entry === undefined) return [];
  const { key, value } = entry;
  if (value?.kind === 'list') return readItems(reading, value);
  if (value?.kind === 'unreadable') return [];
  const hint = value?.kind === 'map' ? '; put `- ` before every name' : '';
  const message = `\`${key.text}\` is a list of layers, each \`- name: Layer(…)\`${hint}`;
  reading.report('spec/structure', message, value?.span ?? key.span);
  return [];
}

function readItems(reading: SpecReading, { items }: YamlList): readonly SpecLayer[] {
  const layers: SpecLayer[] = [];
  const names = new Set<string>();
  for (const { value: item, span } of items) {
    if (item?.kind !== 'map') {
      if (item?.kind === 'unreadable' || (item?.kind === 'scalar' && item.broken)) continue;
      const divided = item?.kind === 'scalar' ? dividedAtBlank(reading.text, item) : undefined;
      if (divided !== undefined && /^[A-Za-z_]/.test(divided.value.text)) {
        reading.reportProblem(missingColon(divided.key));
        addLayer(reading, divided, layers, names);
        continue;
      }
      const written = item?.kind === 'scalar' ? item.text : '';
      reading.report('spec/structure', `a layer is written ${layerMeant(written)}`, span);
      continue;
    }
    for (const line of item.entries) addLayer(reading, line, layers, names);
  }
  return layers;
}

function addLayer(reading: SpecReading, line: YamlEntry, layers: SpecLayer[], names: Set<string>): void {
  const layer = readLayer(reading, line);
  if (layer === undefined) return;
  for (const name of layer.names) {
    if (names.has(name.text)) {
      const message = `a layer named \`${name.text}\` is already here; give this one another name`;
      reading.report('spec/duplicate-name', message, name.span);
    }
    names.add(name.text);
  }
  layers.push(layer);
}

function readLayer(reading: SpecReading, { key, value }: YamlEntry): SpecLayer | undefined {
  const { memory } = reading;
  const { result: names, issues } = memory.parseNames(key.content.start, key.content.end);
  reading.issues.push(...issues.map((issue) => ({ ...issue, code: 'spec/structure' as const })));
  const [name] = names ?? [];
  if (names === undefined || name === undefined) return undefined;
  const span = { start: name.span.start, end: value?.span.end ?? key.span.end };
  if (value === undefined || isNothing(value)) {
    const message = `\`${key.text}\` has no call; write one such as \`Linear(768, 3072)\``;
    reading.report('spec/call', message, key.span);
    return { name, names, call: undefined, span };
  }
  const form = 'a layer is one call on one line, such as `Linear(768, 3072)`';
  const parseCall = (_: string, start: number, end: number): Parsed<LayerCall> =>
    memory.parseCall(start, end);
  return { name, names, call: reading.parsed(value, parseCall, form, 'spec/call'), span };
}

/** The line that a person means who writes an assignment, or a call without a name. */
function layerMeant(written: string): string {
  const [, name, call] = /^(?:self\.)?([A-Za-z_]\w*)\s*=\s*([A-Za-z_][\w.]*\(.*)$/s.exec(written) ?? [];
  if (name !== undefined && call !== undefined && written.length < longestShown) {
    return `with \`:\` after its name: \`- ${name}: ${call}\``;
  }
  const isCall = /^[A-Za-z_][\w.]*\(.*\)$/s.test(written) && written.length < longestShown;
  return isCall ? `with a name before it: \`- name: ${written}\`` : '`- name: Layer(…)`';
}

/** A longer call is not repeated in a message. */
const longestShown = 80;
