/** Reads lists of layers, each on a line of its own: `- name: call`. */

import { insertion, type Repair, type TextSpan } from '../../model/issue.ts';
import type { SpecReading } from './specReading.ts';
import type { LayerCall, Name, SpecLayer } from './syntax.ts';
import type { Parsed } from './tokenCursor.ts';
import {
  dividedAtBlank,
  isNothing,
  missingColon,
  type YamlEntry,
  type YamlList,
  type YamlScalar,
} from './yamlTree.ts';

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
  const taken = new Set<string>();
  for (const { value: item, span } of items) {
    if (item?.kind !== 'map') {
      if (item?.kind === 'unreadable' || (item?.kind === 'scalar' && item.broken)) continue;
      const divided = item?.kind === 'scalar' ? dividedAtBlank(reading.text, item) : undefined;
      if (divided !== undefined && /^[A-Za-z_]/.test(divided.value.text)) {
        reading.reportProblem(missingColon(divided.key));
        addLayer(reading, divided, layers, taken);
        continue;
      }
      const meant =
        item?.kind === 'scalar' && !item.quoted ? layerMeant(reading.text, item, taken) : undefined;
      const form = meant?.form ?? '`- name: Layer(…)`';
      reading.report('spec/structure', `a layer is written ${form}`, span, meant?.repair);
      if (meant !== undefined) takeLayer(reading, readCall(reading, meant), layers, taken);
      continue;
    }
    for (const line of item.entries) addLayer(reading, line, layers, taken);
  }
  return layers;
}

function addLayer(reading: SpecReading, line: YamlEntry, layers: SpecLayer[], taken: Set<string>): void {
  const layer = readLayer(reading, line);
  if (layer !== undefined) takeLayer(reading, layer, layers, taken);
}

function takeLayer(reading: SpecReading, layer: SpecLayer, layers: SpecLayer[], taken: Set<string>): void {
  for (const name of layer.names) {
    if (taken.has(name.text)) {
      const message = `a layer named \`${name.text}\` is already here; give this one another name`;
      reading.report('spec/duplicate-name', message, name.span);
    }
    taken.add(name.text);
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

/** A line that is no `name: call`, and the layer that a person means by it. */
interface MeantLayer {
  /** How it is written, for a message. */
  readonly form: string;
  readonly repair: Repair;
  readonly name: Name;
  readonly call: TextSpan;
}

/** The layer of a line that assigns a call, `conv = Conv2d(…)`, or has no name before it; `taken` are names above it. */
function layerMeant(
  text: string,
  { content }: YamlScalar,
  taken: ReadonlySet<string>,
): MeantLayer | undefined {
  const written = text.slice(content.start, content.end);
  const shown = (call: string): string => (call.length < longestShown ? call : 'Layer(…)');
  const [all, before, assigned, between] =
    /^((?:self\.)?)([A-Za-z_]\w*)(\s*=\s*)(?=[A-Za-z_][\w.]*\()/.exec(written) ?? [];
  if (all !== undefined && before !== undefined && assigned !== undefined && between !== undefined) {
    const start = content.start + before.length;
    const call = { start: content.start + all.length, end: content.end };
    const span = { start: content.start, end: call.start };
    return {
      form: `with \`:\` after its name: \`- ${assigned}: ${shown(text.slice(call.start, call.end))}\``,
      repair: { title: 'Write `:` after the name', span, text: `${assigned}: ` },
      name: { text: assigned, span: { start, end: start + assigned.length } },
      call,
    };
  }
  const callee = /^([A-Za-z_][\w.]*)\(/.exec(written)?.[1];
  if (callee === undefined) return undefined;
  const name = freeName(callee.slice(callee.lastIndexOf('.') + 1).toLowerCase(), taken);
  return {
    form: `with a name before it: \`- ${name}: ${shown(written)}\``,
    repair: insertion(`${name}: `, content.start),
    name: { text: name, span: { start: content.start, end: content.start } },
    call: content,
  };
}

function freeName(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name;
  let count = 2;
  while (taken.has(`${name}${count}`)) count += 1;
  return `${name}${count}`;
}

function readCall(reading: SpecReading, { name, call }: MeantLayer): SpecLayer {
  const { result, issues } = reading.memory.parseCall(call.start, call.end);
  reading.issues.push(...issues.map((issue) => ({ ...issue, code: 'spec/call' as const })));
  return { name, names: [name], call: result, span: { start: name.span.start, end: call.end } };
}

/** A longer call is not repeated in a message. */
const longestShown = 80;
