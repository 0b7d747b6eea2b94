/** Test files and what they import as one script, which runs without vitest (`plainTests.mjs`). */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import vm from 'node:vm';
import { build } from 'esbuild';

const require = createRequire(import.meta.url);

/** Gives what `contents`, a module, exports: each call loads it and all that it imports anew. */
export async function plainBundle(contents, resolveDir) {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir },
    bundle: true,
    write: false,
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    logLevel: 'error',
    external: ['fast-check'],
    plugins: [plainTests],
  });
  const program = new vm.Script(
    `(require) => { const module = { exports: {} }; const exports = module.exports; ${outputFiles[0].text}; return module.exports; }`,
    { filename: 'plain.js' },
  );
  return () => program.runInThisContext()(require);
}

const plainTests = {
  name: 'plain-tests',
  setup(builder) {
    builder.onResolve({ filter: /^vitest$/ }, () => ({ path: 'vitest', namespace: 'plain' }));
    builder.onLoad({ filter: /.*/, namespace: 'plain' }, () => ({
      contents: 'module.exports = globalThis.plainVitest;',
    }));
    builder.onLoad({ filter: /\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8')
        .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href)),
      loader: 'ts',
    }));
  },
};
