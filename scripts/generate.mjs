/**
 * Writes the files that are generated from the source: `npm run generate`. With `--check`, writes nothing and
 * fails where one is out of date.
 */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { loadSource, root } from './loadSource.mjs';

const { generatedFiles } = await loadSource('scripts/generated.ts');

let stale = 0;
for (const [path, text] of generatedFiles()) {
  const target = join(root, path);
  if (readIfPresent(target) === text) continue;
  stale += 1;
  if (process.argv.includes('--check')) {
    console.error(`${path} is out of date; run npm run generate and commit it`);
  } else {
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
    console.log(`wrote ${path}`);
  }
}
if (process.argv.includes('--check') && stale > 0) process.exitCode = 1;

function readIfPresent(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
