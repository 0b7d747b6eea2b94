/** Test files and what they import as one script, which runs without vitest (`plainTests.mjs`). */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import vm from 'node:vm';
import { build } from 'esbuild';
import { root } from '../setup/project.mjs';

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
    plugins: [plainTests(resolveDir)],
  });
  const program = new vm.Script(
    `(require) => { const module = { exports: {} }; const exports = module.exports; ${outputFiles[0].text}; return module.exports; }`,
    { filename: 'plain.js' },
  );
  return () => program.runInThisContext()(require);
}

/** A copy of the project says it lies where the project does, beside `../shared`. */
const plainTests = (folder) => ({
  name: 'plain-tests',
  setup(builder) {
    builder.onResolve({ filter: /^vitest$/ }, () => ({ path: 'vitest', namespace: 'plain' }));
    builder.onLoad({ filter: /.*/, namespace: 'plain' }, () => ({
      contents: 'module.exports = globalThis.plainVitest;',
    }));
    builder.onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const original = join(root, relative(folder, path));
      return {
        contents: readFileSync(path, 'utf8')
          .replaceAll('import.meta.dirname', JSON.stringify(dirname(original)))
          .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(original).href)),
        loader: 'ts',
      };
    });
  },
});
