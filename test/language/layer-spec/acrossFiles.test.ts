import { expect, it } from 'vitest';
import {
  foreignWord,
  placesAcross,
  renameAcross,
} from '../../../server/src/language/layer-spec/acrossFiles.ts';
import { readSpecText } from '../../../server/src/language/layer-spec/specText.ts';
import { applyEdits } from '../../../server/src/language/textEdit.ts';
import type { RelatedTexts } from '../../../server/src/language/textFeatures.ts';

const files: Readonly<Record<string, string>> = {
  'parts/mlp.yaml': `blocks:
  mlp(width, ratio=4):
    - up: Linear(width, ratio*width)
  twice(width):
    - one: mlp(width)
`,
  'model.yaml': `include: parts/mlp.yaml
inputs:
  x: float32[8, 64]
layers:
  - a: mlp(width=64)
  - b: mlp(64, ratio=2)
`,
  'other.yaml': `include: parts/mlp.yaml
blocks:
  own:
    - fc: Linear(8)
layers:
  - c: mlp(32)
  - d: own()
`,
  'hiding.yaml': `include: parts/mlp.yaml
blocks:
  mlp:
    - fc: Linear(8)
layers:
  - e: mlp()
`,
};

const related = (self: string): RelatedTexts => ({
  self,
  texts: Object.entries(files).map(([address, text]) => ({ address, text })),
  resolve: (_, path) => path,
});

/** Renames the word of `file` at `at`; gives the texts that change, or why none does. */
function rename(file: string, at: string, newName: string): Readonly<Record<string, string>> | string {
  const text = files[file] ?? '';
  const outcome = renameAcross(readSpecText(text), text.indexOf(at) + 1, newName, related(file));
  if (outcome === undefined) return 'of this file alone';
  if (outcome.kind === 'refused') return outcome.reason;
  return Object.fromEntries(
    outcome.result.map(({ address, edits }) => [address, applyEdits(files[address] ?? '', edits)]),
  );
}

const replaced = (
  names: readonly string[],
  from: string | RegExp,
  to: string,
): Readonly<Record<string, string>> =>
  Object.fromEntries(names.map((name) => [name, (files[name] ?? '').replaceAll(from, to)]));

it.each([
  ['from its definition', 'parts/mlp.yaml', 'mlp(width, r'],
  ['from a use in its own file', 'parts/mlp.yaml', 'mlp(width)'],
  ['from a file that includes it', 'model.yaml', 'mlp(64'],
])('renames a block in every file, %s', (_, file, at) => {
  expect(rename(file, at, 'ffn')).toEqual(
    replaced(['parts/mlp.yaml', 'model.yaml', 'other.yaml'], /\bmlp\(/g, 'ffn('),
  );
});

it.each([
  ['from its definition', 'parts/mlp.yaml', 'ratio=4'],
  ['from a keyword', 'model.yaml', 'ratio=2'],
])('renames a parameter in every file, %s', (_, file, at) => {
  expect(rename(file, at, 'factor')).toEqual(replaced(['parts/mlp.yaml', 'model.yaml'], 'ratio', 'factor'));
});

it('refuses a name that a calling file has a block of', () => {
  expect(rename('model.yaml', 'mlp(64', 'own')).toBe(
    '`own` is already a block in other.yaml, which calls `mlp`; choose another name',
  );
  expect(rename('model.yaml', 'mlp(64', 'twice')).toBe(
    '`twice` is already a block here; choose another name',
  );
});

it('leaves what is of one file alone to it', () => {
  expect(rename('other.yaml', 'own()', 'mine')).toBe('of this file alone');
  expect(rename('hiding.yaml', 'mlp()', 'mine')).toBe('of this file alone');
  expect(rename('model.yaml', 'a: mlp', 'mine')).toBe('of this file alone');
});

it('finds every use, and the word that another file defines', () => {
  const text = files['model.yaml'] ?? '';
  const document = readSpecText(text);
  const offset = text.indexOf('mlp(64');
  const places = placesAcross(document, offset, related('model.yaml'), true) ?? [];
  expect(places.map(({ address, spans }) => [address, spans.length])).toEqual([
    ['parts/mlp.yaml', 2],
    ['model.yaml', 2],
    ['other.yaml', 1],
  ]);
  expect(foreignWord(document, offset, related('model.yaml'))).toEqual({ start: offset, end: offset + 3 });
});
