/** `npm run fuzz [-- --seconds N --seed S]`: the engine against hostile, changed and arbitrary files. */

import { pathToFileURL } from 'node:url';
import { bundleSource, root } from '../../scripts/loadSource.mjs';

const bundle = await bundleSource('test/fuzz/fuzz.ts');
const { fuzz } = await import(pathToFileURL(bundle).href);
process.exitCode = (await fuzz(root, bundle, process.argv.slice(2))) ? 0 : 1;
