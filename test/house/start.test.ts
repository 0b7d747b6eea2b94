/** What every command of `layercost` loads before it does anything: the modules of Node that start nothing else, no package. */

import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';

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

/** What a file imports as it is loaded: neither types alone, nor what it asks for later by `import()`. */
function valueImports(file: string): readonly string[] {
  const text = readFileSync(file, 'utf8');
  return [...text.matchAll(/^(?:import|export)\s+(?!type\b)(?:([^'";]*?)\s+from\s+)?'([^']+)'/gm)]
    .filter(([, names = '']) => !/^\{\s*(?:type\s+[\w\s]+,?\s*)+\}$/.test(names))
    .map(([, , target = '']) => target);
}
