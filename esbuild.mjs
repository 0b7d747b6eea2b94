/**
 * Builds every bundle into `dist/`: `npm run build`, with `--production` (smaller, for packaging) or `--watch`.
 *
 * Types are checked by `tsc`, sizes and contents by `scripts/checkBundles.mjs`.
 */

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build as buildOnce, context, transform } from 'esbuild';
import { withEngine } from './scripts/setup/engineBundle.mjs';
import { thirdPartyNotices } from './scripts/thirdPartyNotices.mjs';

const root = dirname(fileURLToPath(import.meta.url));
const dist = join(root, 'dist');
const production = process.argv.includes('--production');
const watch = process.argv.includes('--watch');

/** VS Code loads CommonJS; `import.meta.url` of a bundle is then the address of the bundle's own file. */
const node = {
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  define: { 'import.meta.url': 'bundleAddress', 'import.meta.dirname': '__dirname' },
};
const bundleAddress = "const bundleAddress = require('node:url').pathToFileURL(__filename).href;";
const browser = { platform: 'browser', target: 'es2022' };

const bundles = [
  {
    ...node,
    entryPoints: { client: 'client/src/node/main.ts' },
    external: ['vscode'],
    banner: { js: bundleAddress },
  },
  {
    ...browser,
    format: 'cjs',
    entryPoints: { 'client-web': 'client/src/browser/main.ts' },
    external: ['vscode'],
  },
  { ...node, entryPoints: { server: 'server/src/cli/launchServer.ts' }, banner: { js: bundleAddress } },
  // They call `engine.js`, which is the worker of the web as well.
  {
    ...node,
    entryPoints: { main: 'server/src/cli/main.ts', mcp: 'server/src/cli/mcp/serveTools.ts' },
    banner: { js: bundleAddress },
    sharesEngine: true,
  },
  {
    ...node,
    entryPoints: { cli: 'server/src/cli/launch.ts' },
    banner: { js: '#!/usr/bin/env node' },
  },
];

/** Prints what the problem matcher of `.vscode/tasks.json` waits for. */
const problemMatcher = {
  name: 'problem-matcher',
  setup(build) {
    build.onStart(() => console.log('[watch] build started'));
    build.onEnd((result) => {
      for (const { text, location } of result.errors) {
        console.error(`✘ [ERROR] ${text}`);
        if (location) console.error(`    ${location.file}:${location.line}:${location.column}:`);
      }
      console.log('[watch] build finished');
    });
  },
};

/** The schema library brings its messages in fifty languages; ours are not its own, so one is enough. */
const oneLocale = {
  name: 'one-locale',
  setup(build) {
    build.onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js';",
    }));
  },
};

/** What definitions of operators say for `docs/operators.md` no program reads. */
const withoutOperatorPages = {
  name: 'without-operator-pages',
  setup(build) {
    build.onLoad({ filter: /[\\/]server[\\/]src[\\/]operators[\\/].*\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replace(/(\n\s+documentation:\s*)'(?:[^'\\]|\\.)*',/g, "$1'',"),
      loader: 'ts',
    }));
  },
};

/** Script and style of a report's page are texts, which nobody else makes smaller. */
const smallPages = {
  name: 'small-pages',
  setup(build) {
    const texts = { pageScript: 'js', reportStyle: 'css' };
    build.onLoad({ filter: /[\\/]report[\\/](pageScript|reportStyle)\.ts$/ }, async ({ path }) => {
      const name = basename(path, '.ts');
      // A text is made of texts of other files.
      const { outputFiles } = await buildOnce({
        entryPoints: [path],
        bundle: true,
        format: 'esm',
        write: false,
      });
      const address = `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`;
      const { [name]: text } = await import(address);
      const { code } = await transform(text, { loader: texts[name], minify: true, charset: 'utf8' });
      return { contents: `export const ${name} = ${JSON.stringify(code)};`, loader: 'ts' };
    });
  },
};

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
/** Programs of Python that run beside the bundles. */
for (const [from, to] of [
  ['server/src/benchmark/runner', 'runner'],
  ['server/src/export/python', 'export'],
]) {
  cpSync(join(root, from), join(dist, to), {
    recursive: true,
    filter: (path) => !/__pycache__|\.pyc$/.test(path),
  });
  if (production) for (const file of programsIn(join(dist, to))) writeFileSync(file, withoutComments(file));
}

function programsIn(folder) {
  return readdirSync(folder, { recursive: true })
    .filter((path) => path.endsWith('.py'))
    .map((path) => join(folder, path));
}

/** Comments on lines of their own and the text at the top, as bundles lose theirs (`test/house/bundledPython.test.ts` holds what that asks). */
function withoutComments(file) {
  return readFileSync(file, 'utf8')
    .replace(/^"""[\s\S]*?"""\n+/, '')
    .replace(/^[ \t]*#.*\n/gm, '');
}

const common = {
  absWorkingDir: root,
  bundle: true,
  outdir: dist,
  sourcemap: production ? false : 'linked',
  minify: production,
  metafile: true,
  legalComments: 'none',
  logLevel: watch ? 'silent' : 'warning',
};
const contents = [oneLocale, ...(production ? [withoutOperatorPages, smallPages] : [])];
const engine = withEngine({
  root,
  worker: 'server/src/browser/serverMain.ts',
  options: { ...common, ...browser, plugins: contents },
});

const contexts = await Promise.all(
  bundles.map(({ sharesEngine = false, ...bundle }) =>
    context({
      ...common,
      plugins: [...(sharesEngine ? [engine] : []), ...contents, ...(watch ? [problemMatcher] : [])],
      ...bundle,
    }),
  ),
);

if (watch) {
  await Promise.all(contexts.map((each) => each.watch()));
} else {
  const results = await Promise.allSettled(contexts.map((each) => each.rebuild()));
  await Promise.all(contexts.map((each) => each.dispose()));
  if (results.some(({ status }) => status === 'rejected')) process.exitCode = 1;
  const metafiles = results.flatMap((result) =>
    result.status === 'fulfilled' ? [result.value.metafile] : [],
  );
  writeFileSync(join(dist, 'meta.json'), JSON.stringify(metafiles));
  writeFileSync(join(dist, 'THIRD-PARTY-NOTICES.txt'), thirdPartyNotices(root, metafiles));
  if (process.exitCode === undefined) {
    execFileSync(process.execPath, [join(root, 'scripts/makeCodeCache.mjs')], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  }
}
