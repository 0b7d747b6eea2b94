/**
 * Holds predictions against the measured steps in `measured/`, prints the table and writes `docs/ACCURACY.md`:
 * `npm run validate`. Needs the graphs that are too large to be kept with the project.
 */

import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const bundle = join(root, 'node_modules/.cache/layercost/validate.mjs');

await build({
  entryPoints: [join(root, 'scripts/validate/validate.ts')],
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  outfile: bundle,
  logLevel: 'warning',
  banner: {
    js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
  },
});
const { validate } = await import(pathToFileURL(bundle).href);
const { page, table, absent } = validate(root, join(root, '../shared'), {
  rows: process.argv.includes('--rows'),
});
console.log(table);
if (absent.length > 0) {
  console.error(`Graphs are absent, so docs/ACCURACY.md stays as it is: ${absent.join('; ')}`);
  process.exitCode = 1;
} else {
  writeFileSync(join(root, 'docs/ACCURACY.md'), page);
}
