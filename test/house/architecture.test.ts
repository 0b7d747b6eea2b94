/** The page a newcomer reads first: short, in the order of the imports, with paths that are there. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { folders } from './folders.ts';

const root = resolve(import.meta.dirname, '../..');
const read = (page: string): string => readFileSync(join(root, page), 'utf8');

it('is read in five minutes', () => {
  expect(read('ARCHITECTURE.md').split(/\s+/).length).toBeLessThanOrEqual(1200);
});

it('lists every folder of the server once', () => {
  const found = readdirSync(join(root, 'server/src'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  expect(folders.toSorted()).toEqual(found.toSorted());
});

it.each(['ARCHITECTURE.md', 'CONTRIBUTING.md', 'docs/where.md', 'docs/generated-files.md'])(
  'the paths of %s are there',
  (page) => {
    // `NAME` and `LANGUAGE` stand for what a contributor chooses.
    const paths = [...read(page).matchAll(/`((?:[\w.-]+\/)+[\w.-]*)`/g)]
      .map(([, path = '']) => path)
      .filter((path) => !/NAME|LANGUAGE/.test(path));
    const missing = paths.filter(
      (path) => !['', 'server/src'].some((base) => existsSync(join(root, base, path))),
    );
    expect(missing).toEqual([]);
  },
);
