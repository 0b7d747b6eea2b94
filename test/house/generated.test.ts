/** Generated files are up to date with their source of truth. */

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { generatedFiles } from '../../scripts/generated.ts';

const root = resolve(import.meta.dirname, '../..');

it.each(generatedFiles())('%s is what npm run generate writes', (path, text) => {
  expect(readFileSync(join(root, path), 'utf8')).toBe(text);
});
