/**
 * Absence is not zero: `?? 0` may stand for what is optional, for a count that has not begun or for a sum of nothing, and not
 * for a read past the end (`model/at.ts` has checked reads) or for what is unknown. Every line
 * was read: what is left is optional, a count or a sum. Their number is held here, so that a new one is read, too.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const allowed: Readonly<Record<string, number>> = {
  analysis: 15,
  benchmark: 2,
  export: 0,
  browser: 0,
  charts: 0,
  check: 0,
  cli: 0,
  client: 4,
  communication: 0,
  composites: 2,
  estimate: 16,
  formats: 22,
  frameworks: 10,
  hardware: 0,
  language: 9,
  lowering: 24,
  lsp: 1,
  model: 6,
  node: 2,
  operators: 28,
  parallel: 0,
  schedule: 3,
};

const linesBelow = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .flatMap((path) => readFileSync(join(folder, path), 'utf8').split('\n'));

const rooms = readdirSync('server/src', { withFileTypes: true }).filter((entry) => entry.isDirectory());

test.each([
  ...rooms.map(({ name }) => [name, join('server/src', name)] as const),
  ['client', 'client/src'] as const,
])('%s reads no more absent values as zero than before', (room, folder) => {
  const found = linesBelow(folder).filter((line) => /\?\? 0\b(?!\.)/.test(line)).length;
  expect(found).toBeLessThanOrEqual(allowed[room] ?? -1);
});
