/** The same judgements in every form: what must be escaped is, and machines can read it. */

import Ajv from 'ajv';
import { expect, test } from 'vitest';
import type { Judgement } from '../../server/src/check/judgement.ts';
import { renderComment } from '../../server/src/check/render/renderComment.ts';
import { renderGithub } from '../../server/src/check/render/renderGithub.ts';
import { renderCheckJson } from '../../server/src/check/render/renderJson.ts';
import { renderJunit } from '../../server/src/check/render/renderJunit.ts';
import { renderSarif } from '../../server/src/check/render/renderSarif.ts';
import { renderCheckTable } from '../../server/src/check/render/renderTable.ts';

const check = (name: string): Judgement['check'] => ({
  name,
  model: `${name}.onnx`,
  scenario: [],
  budgets: [],
  accept: [],
  failOn: 'error',
  span: { start: 0, end: 1 },
});

const broken: Judgement = {
  check: check('a,b: <c>'),
  line: 2,
  budgets: [
    { quantity: 'step', limit: '10 ms', line: 5, verdict: 'broken', message: 'step: 12 % over\nthe "limit"' },
    { quantity: 'memory', limit: '70 GiB', line: 6, verdict: 'kept', message: 'memory: 1 GiB' },
    { quantity: 'mfu', limit: '-5 %', line: 7, verdict: 'not compared', message: 'mfu: 40 %' },
    { quantity: 'flops', limit: '1 T', line: 8, verdict: 'unknown', message: 'flops: ≥ 1 GFLOP' },
  ],
  findings: [
    { code: 'out-of-memory', severity: 'error', layer: 'fc|1', message: 'does not fit', fails: true },
    { code: 'late-gradient', severity: 'information', layer: '', message: 'is late', fails: false },
  ],
  changes: [{ quantity: 'step', before: 0.01, after: 0.0112, better: false }],
  isNew: false,
};

const quiet: Judgement = {
  check: check('quiet'),
  line: 9,
  budgets: [],
  findings: [],
  changes: [],
  isNew: false,
};
const failure: Judgement = {
  ...quiet,
  check: check('gone'),
  line: 12,
  failure: 'gone.onnx: it does not exist',
};

test('annotations: commands are escaped, each at its line', () => {
  expect(renderGithub([broken, quiet, failure], 'ci/layercost.yaml').split('\n')).toEqual([
    '::error file=ci/layercost.yaml,line=5,title=a%2Cb%3A <c>%3A budget/step::step: 12 %25 over%0Athe "limit"',
    '::warning file=ci/layercost.yaml,line=8,title=a%2Cb%3A <c>%3A budget/flops::flops: ≥ 1 GFLOP',
    '::error file=ci/layercost.yaml,line=2,title=a%2Cb%3A <c>%3A findings/out-of-memory::does not fit',
    '::notice file=ci/layercost.yaml,line=2,title=a%2Cb%3A <c>%3A findings/late-gradient::is late',
    '::error file=ci/layercost.yaml,line=12,title=gone%3A check/failed::gone.onnx: it does not exist',
    '3 checks: 1 could not be costed, 1 broken, 1 kept. The same files always give the same numbers.',
    '',
  ]);
});

/** The part of SARIF 2.1.0 (§3.13, 3.14, 3.27, 3.28) that is written here. */
const sarif = {
  type: 'object',
  required: ['version', 'runs'],
  properties: {
    version: { const: '2.1.0' },
    runs: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        required: ['tool', 'results'],
        properties: {
          tool: {
            type: 'object',
            required: ['driver'],
            properties: { driver: { type: 'object', required: ['name'] } },
          },
          results: {
            type: 'array',
            items: {
              type: 'object',
              required: ['message', 'ruleId', 'locations'],
              properties: {
                level: { enum: ['none', 'note', 'warning', 'error'] },
                message: { type: 'object', required: ['text'] },
                ruleIndex: { type: 'integer', minimum: 0 },
              },
            },
          },
        },
      },
    },
  },
};

test('SARIF: rules are listed once, and results point at them and at lines', () => {
  const log = JSON.parse(renderSarif([broken, failure], { path: 'a b/layercost.yaml', version: '1.2.3' }));
  expect(new Ajv({ strict: false }).validate(sarif, log)).toBe(true);
  const [{ tool, results }] = log.runs;
  const rules = tool.driver.rules.map(({ id }: { id: string }) => id);
  expect(new Set(rules).size).toBe(rules.length);
  for (const { ruleId, ruleIndex } of results) expect(rules[ruleIndex]).toBe(ruleId);
  expect(results[0].locations[0].physicalLocation).toEqual({
    artifactLocation: { uri: 'a%20b/layercost.yaml' },
    region: { startLine: 5 },
  });
});

test('JUnit: counts are those of the cases, and texts are escaped', () => {
  expect(renderJunit([broken, quiet, failure])).toBe(`<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="a,b: &#60;c&#62;" tests="6" failures="2" errors="1" skipped="1">
    <testcase classname="a,b: &#60;c&#62;" name="step 10 ms"><failure message="step: 12 % over\\u000athe &#34;limit&#34;"/></testcase>
    <testcase classname="a,b: &#60;c&#62;" name="memory 70 GiB"></testcase>
    <testcase classname="a,b: &#60;c&#62;" name="mfu -5 %"><skipped message="mfu: 40 %"/></testcase>
    <testcase classname="a,b: &#60;c&#62;" name="flops 1 T"><error message="flops: ≥ 1 GFLOP"/></testcase>
    <testcase classname="a,b: &#60;c&#62;" name="out-of-memory fc|1"><failure message="does not fit"/></testcase>
    <testcase classname="a,b: &#60;c&#62;" name="late-gradient"></testcase>
  </testsuite>
  <testsuite name="quiet" tests="0" failures="0" errors="0" skipped="0">
  </testsuite>
  <testsuite name="gone" tests="1" failures="0" errors="1" skipped="0">
    <testcase classname="gone" name="costed"><error message="gone.onnx: it does not exist"/></testcase>
  </testsuite>
</testsuites>
`);
});

test('a comment tells what changed, and nothing where nothing did', () => {
  expect(renderComment([quiet])).toBe('');
  const lines = renderComment([quiet, broken]).split('\n');
  expect(lines).toContain('- ❌ out-of-memory: does not fit');
  expect(lines).toContain('| step | 10.0\u00a0ms | 11.2\u00a0ms | +12.0\u00a0% | worse |');
  expect(lines.join('\n')).not.toContain('quiet');
});

test('JSON and table name every check', () => {
  const { status, checks } = JSON.parse(renderCheckJson([broken, quiet, failure]));
  expect(status).toBe(1);
  expect(checks.map(({ name, result }: { name: string; result: string }) => [name, result])).toEqual([
    ['a,b: <c>', 'broken'],
    ['quiet', 'kept'],
    ['gone', 'failed'],
  ]);
  expect(renderCheckTable([quiet, failure])).toMatch(
    /quiet +costed +no budget is set\ngone +failed +gone\.onnx/,
  );
});
