/**
 * Reads a layer spec: YAML for the frame, calls in PyTorch style for the layers.
 *
 * Reading never fails as a whole because of one line: what cannot be read is left out and named by an issue at
 * its place. Nothing is evaluated here; names are looked up when the spec is lowered.
 */

import type { Issue } from '../../model/issue.ts';
import { issuesOfIndents, meantIndents } from './meantIndents.ts';
import { parseReference } from './parseNames.ts';
import { readBlocks } from './readBlocks.ts';
import { readDims, readInputs } from './readInputs.ts';
import { ReadingCache } from './readingCache.ts';
import { readLayers } from './readLayers.ts';
import { readScenario } from './readScenario.ts';
import { readYaml } from './readYaml.ts';
import { has, isLibrary, modelKeys, neededKeys, specKeys } from './specKeys.ts';
import { type IndentedSpec, nameOf, type ReadSpec, SpecReading, spanOf } from './specReading.ts';
import type { LayerSpec, Name, Reference, SpecBody, SpecInclude, SpecModel } from './syntax.ts';
import type { MeantIndents } from './yamlLines.ts';
import type { YamlEntry, YamlNode, YamlProblem } from './yamlTree.ts';

/** People write a few hundred lines; lines of a megabyte are no model anyone wrote. */
const longestSpec = 2 ** 20;
/** Each line becomes some objects, however short it is. */
const mostLines = 2 ** 16;

/** `memory` holds what was read of an earlier state of the text, and then what is read of this one. */
export function readLayerSpec(text: string, memory = new ReadingCache()): ReadSpec {
  const excess = excessOf(text);
  if (excess !== undefined) {
    const message = `the layer spec ${excess}; put repeated layers into blocks, or export the model as ONNX`;
    const span = { start: 0, end: 0 };
    return { spec: undefined, issues: [{ code: 'file/unreadable', severity: 'error', message, span }] };
  }
  memory.turnTo(text);
  const asWritten = readIndented(text, memory, new Map());
  if (!asWritten.isMisplaced) return asWritten;
  const meant = meantIndents(text, (indents) => readIndented(text, memory, indents));
  if (meant.size === 0) return asWritten;
  const { spec, issues } = readIndented(text, memory, meant);
  return { spec, issues: inOrder([...issuesOfIndents(text, meant), ...issues]) };
}

/** What a text has too much of to be read. */
function excessOf(text: string): string | undefined {
  if (text.length > longestSpec) return `is ${text.length} characters long, more than ${longestSpec}`;
  let lines = 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines += 1;
  return lines > mostLines ? `has ${lines} lines, more than ${mostLines}` : undefined;
}

function readIndented(text: string, memory: ReadingCache, meant: MeantIndents): IndentedSpec {
  const reading = new SpecReading(text, memory);
  const { root, problems } = readYaml(text, meant);
  const spec = readSpec(reading, root, problems);
  const keys = new Set(root?.kind === 'map' ? root.entries.map(({ key }) => key.text) : []);
  const isUnknownKey = (spec?.sections.length ?? 0) < keys.size;
  return {
    spec,
    issues: inOrder(reading.issues),
    isMisplaced: isUnknownKey || problems.some(({ misplaced }) => misplaced),
  };
}

const inOrder = (issues: readonly Issue[]): readonly Issue[] =>
  [...issues].sort((a, b) => (a.span?.start ?? 0) - (b.span?.start ?? 0));

function readSpec(
  reading: SpecReading,
  root: YamlNode | undefined,
  problems: readonly YamlProblem[],
): LayerSpec | undefined {
  const reported = new Set<string>();
  for (const problem of problems) {
    // Where one line stands in the wrong place, those after it seem to.
    if (!problem.misplaced || !reported.has(problem.message)) reading.reportProblem(problem);
    reported.add(problem.message);
  }
  if (root === undefined) {
    const message = 'the layer spec is empty; it needs `inputs` and `layers`';
    return reading.report('file/empty', message, { start: 0, end: reading.text.length });
  }
  if (root.kind !== 'map') {
    const message = 'a layer spec is a mapping with the keys `inputs` and `layers`';
    return reading.report('spec/structure', message, root.span);
  }
  const entries = reading.knownEntries(root.entries, specKeys, 'a layer spec');
  const body = readBody(reading, entries);
  const models = readModels(reading, entries.get('models'));
  expectKeys(reading, body, models, root.span.start);
  return {
    ...body,
    name: readName(reading, entries.get('name')),
    includes: readIncludes(reading, entries.get('include')),
    models,
  };
}

/** What a model says, be it at the top level or its own. */
function readBody(reading: SpecReading, entries: ReadonlyMap<string, YamlEntry>): SpecBody {
  const scenarioEntries = reading.mappingOf(entries.get('scenario'), 'scenario');
  const { scenario, spans, keySpans } = readScenario(scenarioEntries, reading.issues);
  const given = entries.get('inputs');
  const inputs = readInputs(reading, given);
  const written = given?.value?.kind === 'map' ? given.value.entries.length : 0;
  return {
    dims: readDims(reading, entries.get('dims')),
    inputs,
    hasAllInputs: given !== undefined && inputs.length === written,
    blocks: readBlocks(reading, entries.get('blocks')),
    layers: readLayers(reading, entries.get('layers')),
    outputs: readOutputs(reading, entries.get('outputs')),
    scenario,
    scenarioSpans: spans,
    scenarioKeySpans: keySpans,
    sections: [...entries.values()].map((entry) => ({ key: nameOf(entry.key), span: spanOf(entry) })),
  };
}

function readModels(reading: SpecReading, entry: YamlEntry | undefined): readonly SpecModel[] {
  const models: SpecModel[] = [];
  for (const model of reading.mappingOf(entry, 'models')) {
    const name = nameOf(model.key);
    if (!/^[\p{L}\p{N}_][\p{L}\p{N}_.-]*$/u.test(name.text)) {
      const message = `\`${name.text}\` is not a model name: use letters, digits, \`_\`, \`-\` and \`.\``;
      reading.report('spec/structure', message, name.span);
      continue;
    }
    const entries = reading.knownEntries(reading.mappingOf(model, name.text), modelKeys, 'a model');
    models.push({ ...readBody(reading, entries), name, span: spanOf(model) });
  }
  return models;
}

/** A model needs what goes in and what it is made of, be it at the top level or its own. */
function expectKeys(reading: SpecReading, body: SpecBody, models: readonly SpecModel[], start: number): void {
  if (models.length === 0 && isLibrary(body)) return;
  for (const [key, example] of Object.entries(neededKeys)) {
    if (has(body, key)) continue;
    if (models.length === 0) {
      const message = `the layer spec has no \`${key}\`; add ${example}`;
      reading.report('spec/structure', message, { start, end: start });
    }
    for (const model of models) {
      if (has(model, key)) continue;
      const message = `the model \`${model.name.text}\` has no \`${key}\`; add ${example}`;
      reading.report('spec/structure', message, model.name.span);
    }
  }
}

function readName(reading: SpecReading, entry: YamlEntry | undefined): Name | undefined {
  const value = entry?.value;
  if (value === undefined || value.kind === 'unreadable') return undefined;
  if (value.kind !== 'scalar') {
    return reading.report('spec/structure', '`name` is one word or phrase', value.span);
  }
  const { start, end } = value.content;
  return { text: reading.text.slice(start, end), span: value.content };
}

const readIncludes = (reading: SpecReading, entry: YamlEntry | undefined): readonly SpecInclude[] =>
  reading
    .scalarsOf(entry, '`include` is the path of a layer spec, or a list of paths')
    .map((path) => ({ path: nameOf(path) }));

function readOutputs(reading: SpecReading, entry: YamlEntry | undefined): readonly Reference[] {
  const form = '`outputs` is a list of layer names';
  return reading
    .scalarsOf(entry, form)
    .flatMap((node) => reading.parsed(node, parseReference, form, 'spec/structure') ?? []);
}
