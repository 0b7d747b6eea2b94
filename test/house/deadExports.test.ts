/** Code that no program runs is deleted: an export has a user, and not tests alone. */

import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../..');

/** What tests alone ask for: a program has it inside a larger answer, where a test could not state its value. */
const forTestsAlone = ['ggufArchitectures', 'knownTypes', 'openOnnxText', 'ownCalls'];

const programs = filesOf('server/src', 'client/src', 'scripts').map((file) => ({
  file: relative(root, file),
  words: wordsOf(readFileSync(file, 'utf8')),
  values: valuesExportedBy(readFileSync(file, 'utf8')),
}));
const others = new Map<string, number>();
for (const { words } of programs)
  for (const word of words.keys()) others.set(word, (others.get(word) ?? 0) + 1);

it('every exported function and value of a program is used by a program', () => {
  const unused = programs
    .filter(({ file }) => !file.startsWith('scripts'))
    .flatMap(({ words, values }) => values.filter((name) => words.get(name) === 1 && others.get(name) === 1))
    .sort();
  expect(unused).toEqual(forTestsAlone);
});

it('what only its own file uses is not exported, unless a test states its value', () => {
  const tested = new Set(filesOf('test').flatMap((file) => [...wordsOf(readFileSync(file, 'utf8')).keys()]));
  const internal = programs
    .filter(({ file }) => !file.startsWith('scripts'))
    .flatMap(({ file, values }) =>
      values.filter((name) => others.get(name) === 1 && !tested.has(name)).map((name) => `${file}: ${name}`),
    );
  expect(internal).toEqual([]);
});

function filesOf(...folders: readonly string[]): string[] {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(ts|mts|mjs)$/.test(name))
      .map((name) => join(root, folder, name)),
  );
}

/** How often each word stands in a text outside its comments. */
function wordsOf(text: string): ReadonlyMap<string, number> {
  const words = new Map<string, number>();
  const code = text.replace(/^\s*(?:\/\*\*|\*|\/\/).*$/gm, '');
  for (const [word] of code.matchAll(/[A-Za-z_$][\w$]*/g)) words.set(word, (words.get(word) ?? 0) + 1);
  return words;
}

function valuesExportedBy(text: string): string[] {
  return [...text.matchAll(/^export (?:async )?(?:function\*?|const|let|class) ([A-Za-z_$][\w$]*)/gm)].map(
    ([, name = '']) => name,
  );
}
