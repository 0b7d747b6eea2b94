/** Folders of the server in the order of ARCHITECTURE.md: each imports itself and those before it. */

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const page = readFileSync(join(resolve(import.meta.dirname, '../..'), 'ARCHITECTURE.md'), 'utf8');
const [, section = ''] = page.split('\n## Folders\n');
const [table = ''] = section.split('\n## ');

export const folders: readonly string[] = table.split('\n').flatMap((line) => {
  const [cell = ''] = /^\| *`[^|]*/.exec(line) ?? [];
  return [...cell.matchAll(/`([a-z]+)\/`/g)].map(([, folder = '']) => folder);
});
