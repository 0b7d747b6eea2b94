/** Changes the scenario that a layer spec holds: its `scenario`, and the dims that stand for sizes of its inputs. */

import { selectModel } from '../../formats/layer-spec/selectModel.ts';
import type { SpecBody } from '../../formats/layer-spec/syntax.ts';
import { printGroup } from '../../formats/scenarioGroups.ts';
import type { ScenarioChange } from '../../model/scenarioChange.ts';
import { applyEdits, type TextEdit } from '../textEdit.ts';
import { scenarioEdit } from './fixes/scenarioEdit.ts';
import { readSpecText, type SpecText } from './specText.ts';

/** Whether the text sets a scenario of its own, for this model or for all. */
export function hasScenario({ spec }: SpecText, model: string | undefined): boolean {
  const bodies: readonly SpecBody[] = [...spec.models.filter(({ name }) => name.text === model), spec];
  return bodies.some(({ sections }) => sections.some(({ key }) => key.text === 'scenario'));
}

/** The text with the change. */
export function changeScenario(source: string, change: ScenarioChange, model: string | undefined): string {
  let changed = source;
  const apply = (edits: (document: SpecText) => readonly TextEdit[]): void => {
    changed = applyEdits(changed, edits(readSpecText(changed)));
  };
  const { dimensions = {}, batch, ...keys } = change;
  for (const [name, value] of Object.entries(dimensions))
    apply((document) => dimensionEdits(document, name, value, model));
  if (batch !== undefined) apply((document) => batchEdits(document, batch, model));
  for (const [setting, value] of Object.entries(keys)) {
    const key = setting === 'globalBatch' ? 'global-batch' : setting;
    apply((document) =>
      value === null ? removal(document, key, model) : [scenarioEdit(document, key, written(value), model)],
    );
  }
  return changed;
}

/** In YAML: what has more than a word in it is quoted. */
const written = (value: WrittenValue): string => {
  const text = textOf(value);
  return /^[\w.-]+$/.test(text) ? text : `"${text}"`;
};

type WrittenValue = NonNullable<ScenarioChange[Exclude<keyof ScenarioChange, 'dimensions'>]>;

function textOf(value: WrittenValue): string {
  if (typeof value !== 'object') return String(value);
  if (isList(value)) return value.join(', ');
  return printGroup(value);
}

const isList = (value: object): value is readonly string[] => Array.isArray(value);

/** The batch stands where it is set: in the scenario, as a number among the dims, or nowhere yet. */
function batchEdits(
  document: SpecText,
  batch: number | null,
  model: string | undefined,
): readonly TextEdit[] {
  if (batch === null) return removal(document, 'batch', model);
  const selected = selectModel(document.spec, model) ?? document.spec;
  const [size] = selected.inputs[0]?.dimensions ?? [];
  const isInScenario = selected.scenarioSpans.has('batch');
  const dim =
    size?.kind === 'name' && !isInScenario
      ? selected.dims.find(({ name }) => name.text === size.name)?.value
      : undefined;
  return dim?.kind === 'number'
    ? [{ span: dim.span, text: String(batch) }]
    : [scenarioEdit(document, 'batch', String(batch), model)];
}

/** The value is replaced, or written behind the name; a name that no dim declares is the batch of the inputs. */
function dimensionEdits(
  document: SpecText,
  name: string,
  value: number,
  model: string | undefined,
): readonly TextEdit[] {
  const selected = selectModel(document.spec, model) ?? document.spec;
  const dim = selected.dims.find((each) => each.name.text === name);
  if (dim === undefined) return batchEdits(document, value, model);
  if (dim.value !== undefined) return [{ span: dim.value.span, text: String(value) }];
  const { end } = dim.name.span;
  // `seq`, `seq:` and `seq: null` all leave it without a value.
  const [empty = ''] = /^[ \t]*(?::[ \t]*(?:null\b|~)?)?/.exec(document.source.slice(end)) ?? [];
  return [{ span: { start: end, end: end + empty.trimEnd().length }, text: `: ${value}` }];
}

/** Takes a key away, with its line or its comma. */
function removal({ spec, source }: SpecText, key: string, model: string | undefined): readonly TextEdit[] {
  const bodies: readonly SpecBody[] = [...spec.models.filter(({ name }) => name.text === model), spec];
  const body = bodies.find(({ scenarioSpans }) => scenarioSpans.has(key));
  const value = body?.scenarioSpans.get(key);
  const name = body?.scenarioKeySpans.get(key);
  if (value === undefined || name === undefined) return [];
  const before = source.slice(0, name.start);
  const after = source.slice(value.end);
  const indent = /(?:^|\n)[ \t]*$/.exec(before)?.[0];
  if (indent !== undefined) {
    const rest = /^[ \t]*(?:#[^\n]*)?\r?\n?/.exec(after)?.[0] ?? '';
    const start = name.start - indent.replace('\n', '').length;
    return [{ span: { start, end: value.end + rest.length }, text: '' }];
  }
  const next = /^\s*,\s*/.exec(after)?.[0];
  if (next !== undefined) return [{ span: { start: name.start, end: value.end + next.length }, text: '' }];
  const comma = /,?\s*$/.exec(before)?.[0] ?? '';
  return [{ span: { start: name.start - comma.length, end: value.end }, text: '' }];
}
