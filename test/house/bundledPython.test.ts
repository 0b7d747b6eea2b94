/**
 * The build takes comment lines and the text at the top out of the programs of Python that it ships: no text of them may hold a line that
 * looks like a comment, and no program may read such a text.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const folders = ['server/src/benchmark/runner', 'server/src/export/python'];
const files = folders.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.py'))
    .map((path) => join(folder, path)),
);

test.each(files)('%s', (file) => {
  const program = readFileSync(join(root, file), 'utf8');
  const texts = program.match(/("""|''')[\s\S]*?\1/g) ?? [];
  expect(texts.filter((text) => /^[ \t]*#/m.test(text))).toEqual([]);
  expect(program).not.toContain('__doc__');
});
