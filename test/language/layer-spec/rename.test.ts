import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { prepareRename, renameLayerSpec } from '../../../server/src/language/layer-spec/renameLayerSpec.ts';
import { namesOfSpec } from '../../../server/src/language/layer-spec/specNames.ts';
import { readSpecText } from '../../../server/src/language/layer-spec/specText.ts';
import { applyEdits } from '../../../server/src/language/textEdit.ts';
import { oneGpu } from '../fixture.ts';
import { atCursor } from './cursor.ts';

/** Renames what the cursor is on; gives the text, or `refused: ` and why. */
function rename(marked: string, newName: string): string {
  const { document, offset } = atCursor(marked);
  const outcome = renameLayerSpec(document, offset, newName);
  return outcome.kind === 'refused'
    ? `refused: ${outcome.reason}`
    : applyEdits(document.source, outcome.result);
}

const spec = `dims: { batch: 8, d: 64 }
inputs:
  x: float32[batch, d]
blocks:
  pair(width):
    - up: Linear(width, d)
    - sum: add(up, input)
layers:
  - first: Linear(d, d)
  - body: pair(width=d) from first
`;

it('renames the definition and every use', () => {
  expect(rename(spec.replace('up: L', 'u|p: L'), 'wide')).toBe(
    spec.replace('up: L', 'wide: L').replace('add(up', 'add(wide'),
  );
  expect(rename(spec.replace('pair(width=d)', 'pair(wid|th=d)'), 'size')).toBe(
    spec.replaceAll('width', 'size'),
  );
  expect(rename(spec.replace('d: 64', '|d: 64'), 'model')).toBe(spec.replace(/\bd\b/g, 'model'));
  expect(rename(spec.replace('body: pair', 'body: p|air'), 'couple')).toBe(spec.replaceAll('pair', 'couple'));
});

it('renames a layer inside a block where its weight is shared', () => {
  const tied = `${spec}  - last: Linear(d, d, weight=body.up)\n`;
  expect(rename(tied.replace('up: L', 'u|p: L'), 'wide')).toBe(
    tied.replace('up: L', 'wide: L').replace('add(up', 'add(wide').replace('body.up', 'body.wide'),
  );
  expect(rename(tied.replace('body.up', 'bo|dy.up'), 'trunk')).toBe(tied.replaceAll('body', 'trunk'));
});

it.each([
  ['a name with a blank', '|d: 64', 'my size', 'is not a name'],
  ['a name that begins with a digit', '|d: 64', '2d', 'is not a name'],
  ['a word of the language', '|d: 64', 'from', 'is a reserved word'],
  ['the name of another dim', '|d: 64', 'batch', 'is already a dim'],
  ['a parameter that would hide it', '|d: 64', 'width', 'is already a block parameter'],
  ['the name of a layer', '|d: 64', 'first', 'is already a layer'],
  ['a layer of PyTorch, for a block', 'p|air(width):', 'Linear', 'is a layer of PyTorch'],
])('refuses %s', (_, marked, newName, reason) => {
  expect(rename(spec.replace(marked.replace('|', ''), marked), newName)).toMatch(
    new RegExp(`^refused: \`${newName}\` ${reason}`),
  );
});

it('refuses what is not a name of the file', () => {
  const { document, offset } = atCursor(spec.replace('Linear(d, d)', 'Lin|ear(d, d)'));
  expect(prepareRename(document, offset)).toMatchObject({ kind: 'refused' });
});

const samples = resolve(import.meta.dirname, '../../../samples');
const files = readdirSync(samples).filter((name) => name.endsWith('.layers.yaml'));

it.each(files)('renames every name of %s without changing what the model costs', (name) => {
  const source = readFileSync(resolve(samples, name), 'utf8');
  const totals = (text: string): unknown => {
    const opened = openLayerSpec(text, name);
    const { cost } = estimateModel(opened, [oneGpu]);
    return [cost?.totals.time.step, cost?.totals.memory.peak, opened.issues.length];
  };
  const before = totals(source);
  let text = source;
  for (const [index, { text: old }] of namesOfSpec(readSpecText(source)).entries()) {
    const document = readSpecText(text);
    const found = namesOfSpec(document).find((candidate) => candidate.text === old);
    const offset = found?.definitions[0]?.start;
    if (offset === undefined) continue;
    // The batch is known by its place and its name.
    if (old === 'batch') continue;
    const outcome = renameLayerSpec(document, offset, `${old}_${index}`);
    if (outcome.kind === 'refused') throw new Error(outcome.reason);
    text = applyEdits(text, outcome.result);
  }
  expect(text).not.toBe(source);
  expect(totals(text)).toEqual(before);
});
