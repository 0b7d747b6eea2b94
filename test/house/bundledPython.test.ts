/** The build takes comment lines out of the programs of Python that it ships: no text of them may hold a line that looks like one. */

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
  const texts = readFileSync(join(root, file), 'utf8').match(/("""|''')[\s\S]*?\1/g) ?? [];
  expect(texts.filter((text) => /^[ \t]*#/m.test(text))).toEqual([]);
});
