/**
 * The manual of layer specs is right: everything its pages state is so, and nothing else is wrong with their specs.
 * `UPDATE_PAGES=1` writes the values that are so into the pages; issues are stated by hand.
 */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkFence, fencesOf, withValues } from './specPage.ts';

const folder = join(import.meta.dirname, '../../docs');
const paths = [
  'layer-spec.md',
  ...readdirSync(join(folder, 'spec'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `spec/${name}`),
];

describe.each(paths)('docs/%s', (path) => {
  const page = readFileSync(join(folder, path), 'utf8');
  const fences = fencesOf(page);
  const files = new Map(fences.flatMap(({ file, text }) => (file === undefined ? [] : [[file, text]])));

  if (process.env.UPDATE_PAGES === '1') {
    it('is brought up to date', () => {
      const lines = page.split('\n');
      for (const fence of fences) {
        const text = withValues(fence, files).split('\n').slice(0, -1);
        lines.splice(fence.line - 1, text.length, ...text);
      }
      writeFileSync(join(folder, path), lines.join('\n'));
    });
  }

  it('has examples', () => expect(fences.length).toBeGreaterThan(0));

  it.each(fences.filter(({ file }) => file === undefined).map((fence) => [fence.line, fence] as const))(
    'the example at line %i',
    (_, fence) => {
      const { stated, found } = checkFence(fence, files);
      expect(found).toEqual(stated);
    },
  );
});

it('fails a page that states what is not so, or leaves an issue out', () => {
  const [fence] = fencesOf(
    '```yaml\ninputs: { x: "float32[2, 8]" }\nlayers:\n  - a: Linear(4) # shape: [2, 5]\n  - b: Linear(3, 3)\n```\n',
  );
  if (fence === undefined) throw new Error('no fence was found');
  const { stated, found } = checkFence(fence, new Map());
  expect(stated).toEqual(['line 4 shape: [2, 5]']);
  expect(found).toEqual([
    'line 4 shape: [2, 4]',
    'line 5 unstated error: [shape/mismatch] "`in_features` is 3, but the last axis of the input is 4 (the input is float32[2, 4])"',
  ]);
});
