/** What every command of `layercost` loads before it does anything: the modules of Node that start nothing else, no package. */

import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { valueImports } from './valueImports.ts';

const entry = resolve(import.meta.dirname, '../../server/src/cli/main.ts');

/** Modules of Node that its own start has loaded, or that load nothing more. */
const quick = ['node:fs', 'node:module', 'node:path', 'node:url', 'node:util'];

test('the start of the command line loads nothing that only some commands need', () => {
  const { files, others } = loadedBy(entry);
  expect(files.size).toBeGreaterThan(100);
  expect([...others].filter(([target]) => !quick.includes(target))).toEqual([]);
});

/** Files that are loaded with `file`, and what else they name, by who names it first. */
function loadedBy(file: string): { readonly files: Set<string>; readonly others: Map<string, string> } {
  const files = new Set([file]);
  const others = new Map<string, string>();
  for (const known of files) {
    if (!known.endsWith('.ts')) continue;
    for (const target of valueImports(known)) {
      if (target.startsWith('.')) files.add(join(dirname(known), target));
      else if (!others.has(target)) others.set(target, known);
    }
  }
  return { files, others };
}
