/** Runs TypeScript of the project from a script: bundled, because the sources import each other by their `.ts` names. */

import { basename, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

export const root = join(dirname(fileURLToPath(import.meta.url)), '..');

/** The module of a path below the project. */
export const loadSource = async (path) => import(pathToFileURL(await bundleSource(path)).href);

/** The path of its bundle, which lies two folders below the project, as what a bundle looks up beside itself expects. */
export async function bundleSource(path) {
  const bundle = join(root, '.cache/scripts', `${basename(path, '.ts')}.mjs`);
  await build({
    entryPoints: [join(root, path)],
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    outfile: bundle,
    logLevel: 'warning',
    sourcemap: 'inline',
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
  });
  return bundle;
}
