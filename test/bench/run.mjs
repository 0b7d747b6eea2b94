/**
 * `npm run bench`: the figures that people feel, measured and printed; nothing is asserted.
 *
 * Whole processes are timed as a shell would start them; the engine is timed inside one process.
 */

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { loadSource, root } from '../../scripts/loadSource.mjs';

execFileSync(process.execPath, [join(root, 'esbuild.mjs'), '--production'], { stdio: 'inherit' });

const { bench } = await loadSource('test/bench/bench.ts');
await bench(root);
