/** A template keeps the marks of a merge without complaint, and a generated page then shows them. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../..');

it('no file has the marks of an unfinished merge', () => {
  const files = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' })
    .split('\0')
    .filter((path) => /\.(?:ts|mjs|json|md|yaml|yml|py|csv)$/.test(path));
  expect(files.length).toBeGreaterThan(100);
  const marked = files.filter((path) => /^(?:<{7}|>{7}) /m.test(readFileSync(join(root, path), 'utf8')));
  expect(marked).toEqual([]);
});
