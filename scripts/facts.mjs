/**
 * `npm run facts -- [--tests FILE,FILE] [--only TEXT]`: takes one fact of one definition away at a time, of operators and
 * composites, and lists those that no test notices. Thousands take minutes: all run in one process, without vitest's. A fact that
 * is read when a file is loaded shows only where a test asks for it later.
 */

import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { plainBundle } from './mutants/plainBundle.mjs';
import { testsOf } from './mutants/plainTests.mjs';
import { root } from './setup/project.mjs';

const { values } = parseArgs({
  options: { tests: { type: 'string' }, only: { type: 'string', default: '' } },
});
// By where a test lies, so that each fact is tried on those of its kind alone.
const ownTests = (name) =>
  collected.filter(({ file }) => file.includes('composites') === name.startsWith('composite '));
const composites = ['forms', 'patterns', 'takenApart'].map((name) => `test/composites/${name}.test.ts`);
const tests = values.tests?.split(',') ?? ['test/operators/definitions.test.ts', ...composites];

const entry = tests.map(
  (file) => `{ file: ${JSON.stringify(file)}, load: () => require(${JSON.stringify(join(root, file))}) }`,
);
const source = JSON.stringify(join(root, 'scripts/mutants/facts.ts'));
const load = await plainBundle(
  `module.exports = { facts: require(${source}).allFacts(), files: [${entry}] };`,
  root,
);
const { facts, files } = load();
const collected = files.flatMap(({ file, load }) => testsOf(file, load).map((each) => ({ ...each, file })));
for (const { name, run } of collected) {
  try {
    await run();
  } catch (error) {
    console.error(`fails without a change: ${name}: ${error.message.slice(0, 300)}`);
    collected.splice(0, collected.length, ...collected.filter((each) => each.run !== run));
  }
}
const chosen = facts.filter(({ name }) => name.includes(values.only));
const started = performance.now();
const survivors = [];
for (const fact of chosen) {
  const restore = fact.remove();
  const noticed = await fails(ownTests(fact.name));
  restore();
  if (!noticed) survivors.push(fact.name);
}
console.log(
  `${chosen.length} facts, ${survivors.length} not noticed by ${collected.length} tests, ${Math.round((performance.now() - started) / 1000)} s`,
);
for (const name of survivors) console.log(name);

async function fails(all) {
  for (const { run } of all) {
    try {
      await run();
    } catch {
      return true;
    }
  }
  return false;
}
