/** As much of vitest as tests of definitions use, without its processes: they are collected and run in a loop. */

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { JestAsymmetricMatchers, JestChaiExpect, JestExtend } from '@vitest/expect';
import * as chai from 'chai';

chai.use(JestExtend);
chai.use(JestChaiExpect);
chai.use(JestAsymmetricMatchers);
let [collected, currentFile] = [[], ''];
chai.Assertion.addMethod('toMatchFileSnapshot', function (name) {
  const written = readFileSync(join(dirname(currentFile), name), 'utf8');
  if (this._obj !== written) throw new Error(`${name} differs`);
});
export const expect = Object.assign(
  (value, message) => chai.expect(value, message),
  globalThis[Symbol.for('expect-global')],
);

const named = (name, values) =>
  [values].flat().reduce((text, value) => text.replace(/%[sdo]/, String(value)), name);
const each = (add) => (cases) => (name, run) => {
  for (const values of cases)
    add(named(name, values), () => run(...(Array.isArray(values) ? values : [values])));
};
const test = (name, ...given) =>
  collected.push({ name, run: given.find((one) => typeof one === 'function') });
test.each = each(test);
test.skip = () => {};
test.skipIf = (is) => (is ? Object.assign(() => {}, { each: () => () => {} }) : test);
test.runIf = (is) => test.skipIf(!is);
const describe = (_, run) => run();
describe.each = each(describe);
describe.skipIf = (is) => (is ? Object.assign(() => {}, { each: () => () => {} }) : describe);
globalThis.plainVitest = { test, it: test, describe, expect };

/** The tests of a file, in order. */
export function testsOf(file, load) {
  collected = [];
  currentFile = file;
  load();
  return collected;
}
