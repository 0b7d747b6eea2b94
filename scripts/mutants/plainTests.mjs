/** As much of vitest as most tests use, without its processes: tests are collected and run in a loop. */

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { JestAsymmetricMatchers, JestChaiExpect, JestExtend } from '@vitest/expect';
import * as chai from 'chai';

chai.use(JestExtend);
chai.use(JestChaiExpect);
chai.use(JestAsymmetricMatchers);
/** Of the file that is collected or run. */
let current = { file: '', suites: [], tests: [], hooks: {}, within: (run) => run() };
chai.Assertion.addMethod('toMatchFileSnapshot', function (name) {
  const written = readFileSync(join(dirname(current.file), name), 'utf8');
  if (this._obj !== written) throw new Error(`${name} differs`);
});
chai.Assertion.addMethod('toMatchInlineSnapshot', function (written) {
  const indent = /^\n( *)/.exec(written)?.[1] ?? '';
  const text = written.trim().replaceAll(`\n${indent}`, '\n');
  if (text !== `"${this._obj}"`) throw new Error(`${text} is written, ${this._obj} given`);
});
export const { expect } = chai;
expect.poll = poll;

/** A matcher tries again until what is asked for is so, for a second at most. */
function poll(ask) {
  const matching =
    (name, isNot) =>
    async (...expected) => {
      for (let tries = 20; ; tries -= 1) {
        try {
          const found = expect(await ask());
          return (isNot ? found.not : found)[name](...expected);
        } catch (error) {
          if (tries === 0) throw error;
          await pause(50);
        }
      }
    };
  const matchers = (isNot) => ({
    get: (_, name) => (name === 'not' ? new Proxy({}, matchers(!isNot)) : matching(name, isNot)),
  });
  return new Proxy({}, matchers(false));
}

const named = (name, values) =>
  [values].flat().reduce((text, value) => text.replace(/%[sdiof]/, String(value)), name);
const each = (add) => (cases) => (name, run) => {
  for (const values of cases)
    add(named(name, values), () => run(...(Array.isArray(values) ? values : [values])));
};
const skipped = Object.assign(() => {}, { each: () => () => {} });
const test = (name, ...given) => {
  const run = given.find((one) => typeof one === 'function');
  const { file, hooks } = current;
  current.tests.push({
    name: [...current.suites, name].join(' > '),
    run: async () => {
      current.file = file;
      for (const hook of hooks.beforeEach ?? []) await hook();
      try {
        await run();
      } finally {
        for (const hook of hooks.afterEach ?? []) await hook();
      }
    },
  });
};
test.each = each(test);
test.skip = skipped;
test.skipIf = (is) => (is ? skipped : test);
test.runIf = (is) => test.skipIf(!is);
const describe = (name, run) => {
  current.suites.push(name);
  current.within(run);
  current.suites.pop();
};
describe.each = each(describe);
describe.skip = skipped;
describe.skipIf = (is) => (is ? skipped : describe);
describe.runIf = (is) => describe.skipIf(!is);
const hook = (kind) => (run) => {
  if (current.suites.length > 0) throw new Error(`${kind} of a suite is not run here`);
  current.hooks[kind] = [...(current.hooks[kind] ?? []), run];
};
globalThis.plainVitest = {
  ...{ test, it: test, describe, expect },
  ...Object.fromEntries(
    ['beforeAll', 'afterAll', 'beforeEach', 'afterEach'].map((kind) => [kind, hook(kind)]),
  ),
};

/** The tests of a file, in order. */
export const testsOf = (file, load) => collectedFrom(file, load).tests;

/** The tests of a file, and what it does before and behind all of them. Each suite is collected `within`. */
export function collectedFrom(file, load, within = (run) => run()) {
  current = { file, suites: [], tests: [], hooks: {}, within };
  load();
  const { tests, hooks } = current;
  const all = (kind) => async () => {
    for (const run of hooks[kind] ?? []) await run();
  };
  return { tests, begin: all('beforeAll'), end: all('afterAll') };
}
