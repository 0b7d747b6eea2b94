/**
 * `npm run mutants -- PATH…`: changes the source by one small fault at a time, and lists the faults that no test notices.
 * PATH is a folder or a file of `server/src`. The tests of its room run, or those that `--tests PATH,PATH` names.
 * `--sample N` tries about so many faults: those of random lines, by `--seed`. A fault of several lines is in no sample.
 * For one fault, tests run for `--seconds` of the processor, the quick ones first: what they miss until then survives.
 * Tests run without vitest (`mutants/plainRunner.mjs`): a room's sample of a hundred takes minutes.
 */

import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Stryker } from '@stryker-mutator/core';
import { filesBelow, sampleLines } from './mutants/sampleLines.mjs';
import { cacheFolder, root } from './setup/project.mjs';

const { values, positionals: paths } = parseArgs({
  allowPositionals: true,
  options: {
    tests: { type: 'string' },
    concurrency: { type: 'string', default: '2' },
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '15' },
  },
});
if (paths.length === 0) {
  console.error(
    'npm run mutants -- PATH… [--tests PATH,PATH] [--concurrency N] [--sample N [--seed S]] [--seconds N]',
  );
  process.exit(2);
}

const rooms = new Set(paths.map((path) => path.split('/')[2]));
/**
 * Beside those of its own name: pages of findings are tests of what an estimate says, models that ONNX and PyTorch recorded of what
 * operators infer and frameworks keep.
 */
const furtherTests = {
  estimate: ['test/finding-pages'],
  operators: ['test/validation/conformance.test.ts', 'test/validation/shapeInference.test.ts'],
  frameworks: ['test/estimate/savedByCheckpoint.test.ts'],
};
const tests =
  values.tests?.split(',') ?? [...rooms].flatMap((room) => [`test/${room}`, ...(furtherTests[room] ?? [])]);
/** A fault is turned on in one process: not in those that these start, which run a bundle. */
const ofProcesses = ['test/lsp/bundle.test.ts', 'test/lsp/neovim.test.ts'];
/** They ask for everything at every place of every sample: longer for one fault than all other tests of their room. */
const ofEveryPlace = [
  'test/language/layer-spec/oneMistake.test.ts',
  'test/language/layer-spec/survives.test.ts',
];
/** Half the time of all tests of an estimate: searches of whole plans, models as large as limits allow, laws and measurements of many models. */
const ofWholeSearches = [
  'test/estimate/planner/searchLayouts.test.ts',
  'test/estimate/planner/firstLine.test.ts',
  'test/estimate/leftOut.test.ts',
  'test/estimate/keptWithModel.test.ts',
  'test/estimate/timeProperties.test.ts',
  'test/estimate/peakMemory.test.ts',
  'test/estimate/savedActivations.test.ts',
];
const leftOut = [...ofProcesses, ...ofEveryPlace, ...ofWholeSearches];
process.env.MUTANT_TESTS = tests
  .flatMap(filesBelow)
  .filter((file) => file.endsWith('.test.ts') && !leftOut.includes(file))
  .join(',');
process.env.MUTANT_SECONDS = values.seconds;

// A string names a type, and then an empty one does not compile, or it is prose, whose tests are of words.
const excludedMutations = ['StringLiteral'];

const results = await new Stryker({
  mutate:
    values.sample === undefined
      ? paths.map((path) => (/\.ts(:|$)/.test(path) ? path : `${path}/**/*.ts`))
      : await sampleLines(paths, Number(values.sample), Number(values.seed), excludedMutations),
  testRunner: 'plain',
  plugins: [join(root, 'scripts/mutants/plainRunner.mjs')],
  dryRunTimeoutMinutes: 20,
  coverageAnalysis: 'perTest',
  mutator: { excludedMutations },
  // Of tables made when a file is loaded: every test would run again for each of their mutants.
  ignoreStatic: true,
  // TypeScript 7 has not what Stryker would rewrite it with, and nothing here depends on where it lies.
  tsconfigFile: 'none',
  reporters: ['progress-append-only', 'survivors'],
  tempDirName: join(cacheFolder, 'mutants'),
  ignorePatterns: ['dist', 'media', '.cache', 'coverage'],
  concurrency: Number(values.concurrency),
  timeoutMS: 20_000,
  logLevel: 'warn',
}).runMutationTest();

const files = new Map();
for (const mutant of results) files.set(mutant.fileName, [...(files.get(mutant.fileName) ?? []), mutant]);
console.log(`${'killed'.padStart(8)}${'covered'.padStart(9)}${'uncovered'.padStart(11)}  file`);
let [allKilled, allCovered, allUncovered] = [0, 0, 0];
for (const [file, mutants] of files) {
  const killed = mutants.filter(({ status }) => status === 'Killed' || status === 'Timeout').length;
  const survived = mutants.filter(({ status }) => status === 'Survived').length;
  const uncovered = mutants.filter(({ status }) => status === 'NoCoverage').length;
  allKilled += killed;
  allCovered += killed + survived;
  allUncovered += uncovered;
  console.log(row(killed, killed + survived, uncovered, file.slice(root.length + 1)));
}
console.log(row(allKilled, allCovered, allUncovered, `all of ${paths.join(' ')}`));
console.log(`\nThe tests that ran: ${tests.join(', ')}`);

function row(killed, covered, uncovered, name) {
  const share = covered === 0 ? '–' : `${Math.round((100 * killed) / covered)} %`;
  return `${share.padStart(8)}${`${killed}/${covered}`.padStart(9)}${String(uncovered).padStart(11)}  ${name}`;
}
