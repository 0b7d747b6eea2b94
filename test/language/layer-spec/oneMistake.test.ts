/** One mistake makes one error, where it was made; a fix that is offered makes the spec readable again. */

import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Diagnostic, diagnostics } from '../../../server/src/language/diagnostics.ts';
import { layerSpecFixes } from '../../../server/src/language/layer-spec/fixes/layerSpecFixes.ts';
import { readSpecText } from '../../../server/src/language/layer-spec/specText.ts';
import { applyEdits } from '../../../server/src/language/textEdit.ts';
import { viewOf } from '../fixture.ts';
import { type Mistake, type MistakeKind, mistakeKinds, mistakesOf } from './mistakes.ts';

const samples = resolve(import.meta.dirname, '../../../samples');
const texts = ['.', 'more'].flatMap((folder) =>
  readdirSync(resolve(samples, folder))
    .filter((name) => name.endsWith('.layers.yaml'))
    .map((name) => readFileSync(resolve(samples, folder, name), 'utf8')),
);

const isError = ({ severity }: Diagnostic): boolean => severity === 'error';

interface Outcome {
  readonly mistake: Mistake;
  readonly errors: readonly Diagnostic[];
  /** Lines from the nearest error to the mistake. */
  readonly distance: number;
  readonly fix: 'none' | 'wrong' | 'valid';
}

function outcomeOf(mistake: Mistake): Outcome {
  const { source, line } = mistake;
  const view = viewOf(source);
  const errors = diagnostics(view).filter(isError);
  const [fix] = layerSpecFixes(readSpecText(source), view, errors, (text) => viewOf(text).estimate);
  const isWrong = fix !== undefined && diagnostics(viewOf(applyEdits(source, fix.edits))).some(isError);
  return {
    mistake,
    errors,
    distance: Math.min(...errors.map(({ range }) => Math.abs(range.start.line - line))),
    fix: fix === undefined ? 'none' : isWrong ? 'wrong' : 'valid',
  };
}

/** Places spread over a text, other ones in each text. */
const chosen = (all: readonly Mistake[], index: number, count: number): readonly Mistake[] =>
  Array.from({ length: Math.min(count, all.length) }, (_, each) => {
    const at = Math.floor(((each + ((index * 0.618) % 1)) * all.length) / count);
    return all[at % all.length];
  }).filter((mistake) => mistake !== undefined);

/**
 * The least share of mistakes that make exactly one error, and that a fix is offered for. What remains makes no error (a
 * name that nothing reads may be misspelt) or is a name that several lines read. A line that is cut off can seldom be
 * completed.
 */
const expected: Readonly<Record<MistakeKind, { readonly one: number; readonly fixed: number }>> = {
  comma: { one: 0.97, fixed: 0.95 },
  bracket: { one: 0.97, fixed: 0.9 },
  colon: { one: 0.97, fixed: 0.95 },
  quote: { one: 0.97, fixed: 0.95 },
  unnamed: { one: 0.97, fixed: 0.95 },
  assignment: { one: 0.97, fixed: 0.95 },
  type: { one: 0.97, fixed: 0.95 },
  tab: { one: 0.97, fixed: 0.95 },
  key: { one: 0.8, fixed: 0.8 },
  indent: { one: 0.95, fixed: 0.93 },
  unfinished: { one: 0.9, fixed: 0 },
};

describe.each(mistakeKinds)('a mistake with a %s', (kind) => {
  const outcomes = texts.flatMap((text, index) => chosen(mistakesOf(kind, text), index, 2).map(outcomeOf));
  const share = (holds: (outcome: Outcome) => boolean): number =>
    outcomes.filter(holds).length / outcomes.length;
  const bad = outcomes.filter(({ errors, fix }) => errors.length > 1 || fix === 'wrong');
  const shown = bad.map(({ mistake, errors }) => ({
    line: mistake.source.split('\n')[mistake.line],
    errors: errors.map(({ range, message }) => `${range.start.line - mistake.line} ${message}`),
  }));

  it('makes one error, on its line', () => {
    expect(
      share(({ errors }) => errors.length === 1),
      JSON.stringify(shown),
    ).toBeGreaterThan(expected[kind].one);
    expect(Math.max(...outcomes.map(({ errors }) => errors.length)), JSON.stringify(shown)).toBeLessThan(3);
    const distances = outcomes.filter(({ errors }) => errors.length > 0).map(({ distance }) => distance);
    const atPlace = distances.filter((distance) => distance === 0).length;
    // A misspelt definition is noticed where it is read.
    expect(atPlace / distances.length).toBeGreaterThan(kind === 'key' ? 0.7 : 0.97);
  });

  it('has a fix that makes the spec valid again', () => {
    expect(share(({ fix }) => fix === 'valid')).toBeGreaterThanOrEqual(expected[kind].fixed);
    expect(
      share(({ fix }) => fix === 'wrong'),
      JSON.stringify(shown),
    ).toBeLessThan(0.05);
  });
});

it('proposes the key that a part of its name stands for', () => {
  const source =
    'inputs: { x: "float32[8, 4]" }\nlayers:\n  - a: Linear(4, 4)\n  - b: ReLU()\nscenario: { prec: bf16 }\n';
  const view = viewOf(source);
  const errors = diagnostics(view).filter(isError);
  const fixes = layerSpecFixes(readSpecText(source), view, errors, (text) => viewOf(text).estimate);
  expect([errors.map(({ message }) => message), fixes.map(({ title }) => title)]).toEqual([
    ['`prec` is not a key of the scenario; did you mean `precision`?'],
    ['Change to `precision`'],
  ]);
});
