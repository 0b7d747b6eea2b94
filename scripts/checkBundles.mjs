/**
 * Checks what was built: `node scripts/checkBundles.mjs`, after a production build.
 *
 * Each bundle has a budget in bytes and exports what VS Code calls. The bundles of the web ask for no module of Node, and
 * the others for Node hold nothing that the engine has.
 * (`test/lsp/bundle.test.ts` runs the worker with a browser's globals only.) The command line starts from its code cache.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const dist = join(dirname(fileURLToPath(import.meta.url)), '..', 'dist');

/** Bytes of the production build, with a little to spare. */
const budgets = {
  'client.js': 520_000,
  'client-web.js': 480_000,
  'server.js': 1_000,
  'engine.js': 3_000_000,
  'cli.js': 2_000,
  'main.js': 280_000,
  'mcp.js': 335_000,
};
const webBundles = ['client-web.js', 'engine.js'];
const clients = ['client.js', 'client-web.js'];

const problems = [];
const metafiles = JSON.parse(readFileSync(join(dist, 'meta.json'), 'utf8'));
const outputs = Object.assign({}, ...metafiles.map(({ outputs }) => outputs));

for (const [name, budget] of Object.entries(budgets)) {
  const path = join(dist, name);
  if (!existsSync(path)) {
    problems.push(`dist/${name} is missing; run npm run build`);
    continue;
  }
  const { size } = statSync(path);
  const minified = !existsSync(`${path}.map`);
  console.log(
    `${String(size).padStart(9)} of ${String(budget).padStart(9)}  ${name}${minified ? '' : '  (not minified, budget not checked)'}`,
  );
  if (minified && size > budget)
    problems.push(
      `dist/${name} has ${size} bytes, its budget is ${budget}; find what grew in dist/meta.json`,
    );
}

const builtin = new Set(builtinModules.flatMap((name) => [name, `node:${name}`]));
for (const name of webBundles) {
  const imports = outputs[`dist/${name}`]?.imports ?? [];
  for (const { path } of imports)
    if (path !== 'vscode') problems.push(`dist/${name} asks for ${path}, which a browser does not have`);
  const text = existsSync(join(dist, name)) ? readFileSync(join(dist, name), 'utf8') : '';
  for (const [, required = ''] of text.matchAll(/\brequire\("([^"]+)"\)/g))
    if (builtin.has(required))
      problems.push(`dist/${name} requires ${required}, which a browser does not have`);
}
for (const name of clients) {
  const text = existsSync(join(dist, name)) ? readFileSync(join(dist, name), 'utf8') : '';
  if (!/\bactivate\b/.test(text)) problems.push(`dist/${name} does not export activate`);
  const inputs = Object.keys(outputs[`dist/${name}`]?.inputs ?? {}).filter((path) =>
    path.startsWith('server/'),
  );
  for (const path of inputs)
    if (path !== 'server/src/protocol.ts')
      problems.push(`dist/${name} holds ${path}; the client has no cost knowledge`);
}

for (const name of ['main.js', 'mcp.js'])
  for (const path of Object.keys(outputs[`dist/${name}`]?.inputs ?? {}))
    if (path in (outputs['dist/engine.js']?.inputs ?? {}))
      problems.push(
        `dist/${name} holds ${path}, which dist/engine.js has; see scripts/setup/engineBundle.mjs`,
      );

/** V8 says whether it took the cache; where it did not, nothing but time would tell. */
const askForCache = `
  const vm = require('node:vm');
  let rejected;
  vm.Script = class extends vm.Script {
    constructor(...given) {
      super(...given);
      rejected = this.cachedDataRejected;
    }
  };
  process.argv = [process.execPath, 'layercost', 'help'];
  process.on('exit', () => {
    process.exitCode = rejected === false ? 0 : 1;
  });
  require(${JSON.stringify(join(dist, 'cli.js'))});
`;
if (spawnSync(process.execPath, ['-e', askForCache], { stdio: 'ignore' }).status !== 0)
  problems.push('dist/cli.js starts without its code cache, half as fast; see scripts/makeCodeCache.mjs');

for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
