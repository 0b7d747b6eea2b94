/**
 * Runs tests for StrykerJS in its own process. Vitest loads a test file and all that it imports anew for each fault, which takes
 * longer than the tests. Here all is one script: it is loaded once for each fault, so that no value of another fault is kept.
 */

import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { root } from '../setup/project.mjs';
import { plainBundle } from './plainBundle.mjs';
import { collectedFrom } from './plainTests.mjs';

const require = createRequire(import.meta.url);

class PlainRunner {
  /** By file: how long its tests took. */
  #spent = new Map();
  #load;

  capabilities() {
    return { reloadEnvironment: true };
  }

  async init() {
    // A property that fails has done what it is for: a smaller case is of no use here.
    require('fast-check').configureGlobal({ seed: 1_729, endOnFailure: true });
    const files = process.env.MUTANT_TESTS.split(',');
    const entries = files.map(
      (file) => `[${JSON.stringify(file)}, () => require(${JSON.stringify(resolve(file))})]`,
    );
    this.#load = await plainBundle(`module.exports = new Map([${entries}]);`, process.cwd());
  }

  async dryRun() {
    faults().activeMutant = undefined;
    const tests = [];
    for (const file of this.#load().keys()) {
      // What a file keeps for the next would hide which tests reach it.
      const loaded = this.#load();
      const started = performance.now();
      await runFile(file, loaded, () => true, {
        around: (id, run) => {
          faults().currentTestId = id;
          return thenAlways(run, () => {
            faults().currentTestId = undefined;
          });
        },
        told: (result) => tests.push(result),
      });
      this.#spent.set(file, performance.now() - started);
    }
    return { status: 'complete', tests, mutantCoverage: faults().mutantCoverage };
  }

  async mutantRun({ activeMutant, testFilter, hitLimit, mutantActivation }) {
    const active = faults();
    Object.assign(active, { hitCount: 0, hitLimit, activeMutant: undefined });
    const loaded = this.#load();
    const asked = testFilter && new Set(testFilter);
    const files = asked ? [...new Set(testFilter.map((id) => id.split('#')[0]))] : [...loaded.keys()];
    const spent = (file) => this.#spent.get(file) ?? 0;
    const begun = process.cpuUsage();
    const isSpent = () => process.cpuUsage(begun).user > 1e6 * Number(process.env.MUTANT_SECONDS);
    let nrOfTests = 0;
    for (const file of files.sort((one, other) => spent(one) - spent(other))) {
      if (isSpent()) break;
      const atRest = mutantActivation === 'static' ? activeMutant.id : undefined;
      active.activeMutant = atRest;
      const inSuites = asked?.has(suitesOf(file)) ?? true;
      const failed = await runFile(file, loaded, (id) => !isSpent() && (inSuites || asked.has(id)), {
        around: (_, run) => {
          active.activeMutant = activeMutant.id;
          return thenAlways(run, () => {
            active.activeMutant = atRest;
          });
        },
        told: () => {
          nrOfTests += 1;
        },
        stopsAtFailure: true,
      });
      if (active.hitCount > hitLimit) return { status: 'timeout', reason: `ran ${hitLimit} times` };
      if (failed)
        return { status: 'killed', killedBy: [failed.id], failureMessage: failed.failureMessage, nrOfTests };
    }
    return { status: 'survived', nrOfTests };
  }
}

/** What the changed source reads and counts in. */
const faults = () => {
  globalThis.__stryker__ ??= {};
  return globalThis.__stryker__;
};

/** What stands in suites beside tests, and before all of them: every test of the file may rest on it. */
const suitesOf = (file) => `${file}#suites`;

/** Calls `last` when `run` has ended, which may give a promise. */
function thenAlways(run, last) {
  let result;
  try {
    result = run();
  } catch (error) {
    last();
    throw error;
  }
  if (typeof result?.then === 'function') return result.finally(last);
  last();
  return result;
}

/** Runs those tests of a file that are `asked`, and gives the last that fails. */
async function runFile(file, loaded, isAsked, { around, told, stopsAtFailure = false }) {
  let failed;
  const fails = (id, error) => {
    failed = { id, name: id, status: 1, timeSpentMs: 0, failureMessage: String(error?.message ?? error) };
    return failed;
  };
  let collected;
  const suites = suitesOf(file);
  const begun = performance.now();
  try {
    collected = collectedFrom(resolve(file), loaded.get(file), (run) => around(suites, run));
    await around(suites, collected.begin);
    told({ id: suites, name: suites, status: 0, timeSpentMs: performance.now() - begun });
  } catch (error) {
    told(fails(`${file}#load`, error));
    return failed;
  }
  for (const [index, { name, run }] of collected.tests.entries()) {
    const id = `${file}#${index} ${name}`;
    if (!isAsked(id)) continue;
    const started = performance.now();
    try {
      await around(id, run);
      told({ id, name, fileName: resolve(file), status: 0, timeSpentMs: performance.now() - started });
    } catch (error) {
      told(fails(id, error));
      if (stopsAtFailure) break;
    }
  }
  await collected.end();
  return failed;
}

/** Names each fault that survives as soon as that is known. */
class Survivors {
  onMutantTested({ status, fileName, location, replacement = '' }) {
    if (status !== 'Survived') return;
    const { line, column } = location.start;
    const change = replacement.replace(/\s+/g, ' ').slice(0, 90);
    console.log(`${fileName.slice(root.length + 1)}:${line}:${column} → ${change}`);
  }
}

export const strykerPlugins = [
  { kind: 'TestRunner', name: 'plain', injectableClass: PlainRunner },
  { kind: 'Reporter', name: 'survivors', injectableClass: Survivors },
];
