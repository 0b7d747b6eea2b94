/**
 * `npm run bench`: the figures that people feel, measured and printed; nothing is asserted. `npm run bench -- start
 * keystrokes` measures these parts alone; `--built` takes `dist/` as it is.
 *
 * Whole processes are timed as a shell would start them; the engine is timed inside one process.
 */

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { loadSource, root } from '../../scripts/loadSource.mjs';

const given = process.argv.slice(2);
if (!given.includes('--built'))
  execFileSync(process.execPath, [join(root, 'esbuild.mjs'), '--production'], { stdio: 'inherit' });

const { bench } = await loadSource('test/bench/bench.ts');
await bench(
  root,
  given.filter((argument) => argument !== '--built'),
);
