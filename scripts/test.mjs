/** `npm test`: brings what the tests need, runs every stage, and says in one line each how it went. */

import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { endWith, run, Trouble } from './setup/command.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { cacheFolder, nodeProblem, root } from './setup/project.mjs';
import { provideProgram } from './setup/systemPackages.mjs';

const help = `npm test: everything that is checked

  npm test                        all stages
  npm test -- --only unit,types   these stages
  npm test -- --list              the stages

Exit status: 0 all passed, 1 a stage failed, 2 none failed but one could not run, because a system package is
missing that could not be installed (under CI=true that is a failure). Logs: .cache/test-logs.
`;

/** @typedef {{ name: string, what: string, run: (log: string) => Promise<Outcome> }} Stage */
/** @typedef {{ status: number, output: string } | { missing: string }} Outcome */

const logs = join(cacheFolder, 'test-logs');
const underCi = /^(1|true)$/i.test(process.env.CI ?? '');

/** In an order in which a later stage may use what an earlier one built. */
const stages = [
  stage('lint', 'format and lint', [module('@biomejs/biome/bin/biome'), 'check', '.']),
  stage('types', 'types', [module('typescript/bin/tsc'), '--noEmit', '-p', 'tsconfig.json']),
  stage('build', 'bundles for production', ['esbuild.mjs', '--production']),
  stage('bundles', 'budgets and exports of the bundles', ['scripts/checkBundles.mjs']),
  { name: 'unit', what: 'unit, protocol, grammar and command-line tests', run: testUnits },
  { name: 'runner', what: 'the Python runner', run: testRunner },
  stage('package', 'the .vsix and the npm package, with their budgets', ['scripts/package.mjs']),
  stage('e2e-web', 'VS Code for the Web in Chromium', ['test/e2e/run.mjs', '--host', 'web', '--packaged']),
  stage('e2e-code-server', 'code-server in Chromium', [
    'test/e2e/run.mjs',
    '--host',
    'code-server',
    '--packaged',
  ]),
];

const problem = nodeProblem();
if (problem) {
  console.error(problem);
  process.exitCode = 1;
} else {
  await test(process.argv.slice(2)).catch(endWith);
}

async function test(commandArguments) {
  if (commandArguments.includes('--help')) {
    process.stdout.write(help);
    return;
  }
  if (commandArguments.includes('--list')) {
    for (const { name, what } of stages) console.log(`${name.padEnd(16)}${what}`);
    return;
  }
  const chosen = chooseStages(commandArguments);
  await ensureDependencies('npm test');
  rmSync(logs, { recursive: true, force: true });
  mkdirSync(logs, { recursive: true });

  const counts = { passed: 0, failed: 0, 'not run': 0 };
  const repeated = [];
  for (const { name, what, run: runStage } of chosen) {
    const log = join(logs, `${name}.log`);
    const started = Date.now();
    const outcome = await runStage(log);
    const seconds = ((Date.now() - started) / 1000).toFixed(1);
    const result = judge(outcome);
    counts[result] += 1;
    const line = `${result.padEnd(8)} ${name.padEnd(16)}${seconds.padStart(7)} s   ${what}${countOf(outcome)}`;
    console.log(line);
    if (result !== 'passed') {
      repeated.push(line);
      console.log(indent('missing' in outcome ? outcome.missing : endOf(outcome.output, log)));
    }
  }

  if (repeated.length > 0) console.log(`\n${repeated.join('\n')}`);
  if (counts['not run'] > 0) console.log(`\n${counts['not run']} not run`);
  console.log(`\n${counts.passed} passed, ${counts.failed} failed`);
  process.exitCode = counts.failed > 0 ? 1 : counts['not run'] > 0 ? 2 : 0;
}

function chooseStages(commandArguments) {
  const joined = commandArguments.join(' ').match(/^(?:--only[ =](.+))?$/);
  if (!joined) throw new Trouble(`${commandArguments.join(' ')}: unknown (npm test -- --help)`);
  if (joined[1] === undefined) return stages;
  const names = joined[1].split(/[\s,]+/).filter(Boolean);
  const unknown = names.filter((name) => !stages.some((candidate) => candidate.name === name));
  if (unknown.length > 0) {
    const known = stages.map(({ name }) => name).join(', ');
    throw new Trouble(`no stage is called ${unknown.join(', ')}; there are ${known}`);
  }
  return stages.filter(({ name }) => names.includes(name));
}

/** A stage that is one Node script. Exit status 3 means that a system package is missing. */
function stage(name, what, words) {
  return {
    name,
    what,
    run: async (log) => {
      const timeout = 20 * 60_000;
      const { status, output } = await run(process.execPath, words, { cwd: root, log, timeout });
      return status === 3 ? { missing: output.trim() } : { status, output };
    },
  };
}

function module(path) {
  return join(root, 'node_modules', path);
}

/** Some of them run the real runner where a Python with torch is at hand, or Neovim, and say so where none is. */
async function testUnits(log) {
  const python = await provideProgram('torch');
  const neovim = await provideProgram('neovim');
  if ('missing' in neovim) console.log(`  ${neovim.missing}`);
  const env = 'path' in python ? { LAYERCOST_PYTHON: python.path } : {};
  const words = [module('vitest/vitest.mjs'), 'run'];
  // They take about 15 minutes on two slow cores.
  return run(process.execPath, words, { cwd: root, log, timeout: 35 * 60_000, env });
}

/** The runner's tests use torch on the processor, so that a machine without a GPU checks it too. */
async function testRunner(log) {
  const python = await provideProgram('torch');
  if ('missing' in python) return python;
  const words = ['-m', 'unittest', 'discover', '-s', 'test/runner', '-p', 'test_*.py'];
  return run(python.path, words, {
    cwd: root,
    log,
    timeout: 5 * 60_000,
    env: { PYTHONDONTWRITEBYTECODE: '1' },
  });
}

function judge(outcome) {
  if ('missing' in outcome) return underCi ? 'failed' : 'not run';
  return outcome.status === 0 ? 'passed' : 'failed';
}

/** How many tests a stage ran, where its log says so. */
function countOf(outcome) {
  if ('missing' in outcome) return '';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the colours of the log are taken out
  const plain = outcome.output.replace(/\x1b\[[\d;]*m/g, '');
  const vitest = plain.match(/^\s*Tests\s+(.+?)\s*(?:\(\d+\))?$/m);
  const unittest = plain.match(/^Ran (\d+) tests?/m);
  const again = plain.match(/\(retry x\d+\)/g);
  if (vitest) return ` (${vitest[1]}${again ? ` | ${again.length} at the second try` : ''})`;
  return unittest ? ` (${unittest[1]} tests)` : '';
}

function endOf(output, log) {
  const lines = output.trimEnd().split('\n');
  const most = 120;
  if (lines.length <= most) return lines.join('\n');
  return [`… ${lines.length - most} earlier lines in ${log}`, ...lines.slice(-most)].join('\n');
}

function indent(text) {
  return text
    .split('\n')
    .map((line) => `    ${line}`)
    .join('\n');
}
