/**
 * What is read beside a model: cluster profiles, descriptions of frameworks, layer traces and included specs are
 * answered whatever they hold.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { describedExample } from '../../scripts/frameworksPage.ts';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { readLayerTrace } from '../../server/src/estimate/plan/readLayerTrace.ts';
import { makeReport } from '../../server/src/estimate/report/makeReport.ts';
import { reportSchema } from '../../server/src/estimate/report/report.ts';
import { readFrameworkDescription } from '../../server/src/formats/framework/readFrameworkDescription.ts';
import { readClusterProfile } from '../../server/src/hardware/readClusterProfile.ts';
import type { Issue } from '../../server/src/model/issue.ts';
import { megabyte } from './hostile/rows.ts';
import { mutateText } from './mutate.ts';
import { randomOf } from './random.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const profiles = join(root, 'server/src/hardware/profiles/clusters');
const profileTexts = readdirSync(profiles).map((name) => readFileSync(join(profiles, name), 'utf8'));
const model = openLayerSpec(readFileSync(join(root, 'samples/gpt2.layers.yaml'), 'utf8'), 'gpt2.layers.yaml');

function checkIssues(issues: readonly Issue[], length: number): void {
  expect(issues.length).toBeLessThanOrEqual(110);
  for (const { message, span } of issues) {
    expect(message).toMatch(/[^.\s]$/);
    expect(message.length).toBeLessThanOrEqual(1000);
    if (span === undefined) continue;
    expect(span.start).toBeGreaterThanOrEqual(0);
    expect(span.end).toBeGreaterThanOrEqual(span.start);
    expect(span.end).toBeLessThanOrEqual(length);
  }
}

/** A profile that is read costs a model, or the scenario says why not. */
function checkProfile(text: string, costs = true): void {
  const { cluster, issues } = readClusterProfile(text);
  checkIssues(issues, text.length);
  if (cluster === undefined) {
    expect(issues).not.toEqual([]);
  } else if (costs) {
    const { cost, issues: found } = estimateModel(model, [{ batch: 2 }], cluster);
    if (cost === undefined) expect(found.some(({ severity }) => severity === 'error')).toBe(true);
    else expect(cost.totals.time.step).toBeGreaterThanOrEqual(0);
  }
}

const seeds = fc.nat({ max: 2 ** 31 });

describe('cluster profiles', () => {
  test('every built-in one, a few places changed', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...profileTexts),
        fc.constantFrom(...profileTexts),
        seeds,
        (text, other, seed) => checkProfile(mutateText(text, other, randomOf(seed))),
      ),
      { numRuns: 200 },
    );
  });

  test('every number of a built-in one, replaced', () => {
    const number = fc.constantFrom(
      '0',
      '-1',
      '1e308',
      '1e400',
      '-0',
      '0.1',
      'null',
      '"8"',
      '9007199254740993',
      '.nan',
    );
    fc.assert(
      fc.property(fc.constantFrom(...profileTexts), fc.nat(), number, (text, place, replaced) => {
        const numbers = [...text.matchAll(/(?<=: )[\d.]+/g)];
        const found = numbers[place % Math.max(1, numbers.length)];
        if (found === undefined) return;
        checkProfile(text.slice(0, found.index) + replaced + text.slice(found.index + found[0].length));
      }),
      { numRuns: 200 },
    );
  });

  const tokens = [
    '{',
    '[',
    '{"a":',
    '- ',
    '? ',
    ': ',
    '&a ',
    '*a ',
    '"',
    '!',
    '|\n',
    'a: *b\n',
    '<<: ',
    '%',
    '\t',
  ];
  test.each(tokens)('sixty thousand characters, and a megabyte, of %j', (token) => {
    for (const most of [60_000, 2 ** 20]) checkProfile(megabyte(token, most), false);
  });

  test('aliases that double thirty times, and one of itself', () => {
    const levels = Array.from(
      { length: 30 },
      (_, level) => `a${level + 1}: &a${level + 1} [*a${level}, *a${level}]`,
    );
    checkProfile(`a0: &a0 [x, x]\n${levels.join('\n')}\n`);
    checkProfile('name: &a [*a]\ngpu: *a\n');
  });
});

describe('descriptions of frameworks', () => {
  /** What is read costs a model on two servers, or the scenario says why not; every number of the report is one. */
  function checkFramework(text: string): void {
    const { description, issues } = readFrameworkDescription(text);
    checkIssues(issues, text.length);
    if (description === undefined) {
      expect(issues).not.toEqual([]);
      return;
    }
    const framework = { name: description.name, options: {}, description };
    const { training, cost, issues: found } = estimateModel(model, [{ batch: 2, gpus: 16, framework }]);
    if (cost === undefined || training === undefined) {
      expect(found.some(({ severity }) => severity === 'error')).toBe(true);
      return;
    }
    const report = makeReport(model, training.analysis, cost, found);
    expect(reportSchema.safeParse(JSON.parse(JSON.stringify(report))).error).toBeUndefined();
  }

  test('the example, a few places changed', () => {
    fc.assert(
      fc.property(seeds, (seed) =>
        checkFramework(mutateText(describedExample, describedExample, randomOf(seed))),
      ),
      { numRuns: 200 },
    );
  });

  const keys = ['bucketMiB', 'firstBucketMiB', 'partMiB', 'bytesPerElement', 'everySteps', 'stepsLater'];
  const extremes = ['0', '-1', '1', '1e-300', '1e-9', '1e9', '1e300', '1e999', '9007199254740991', '.nan'];
  test.each(keys.flatMap((key) => extremes.map((value) => [key, value])))('%s: %s', (key, value) => {
    for (const over of ['all-reduce', 'parameter-servers']) {
      checkFramework(`name: own\ngradients: { ${key}: ${value}, over: ${over}, neededBy: next-use }\n`);
    }
  });

  test.each(['count', 'splitFromElements'].flatMap((key) => extremes.map((value) => [key, value])))(
    'servers of %s: %s',
    (key, value) =>
      checkFramework(
        `name: own\ngradients: { over: parameter-servers }\nservers: { ${key}: ${value}, asynchronous: true }\n`,
      ),
  );
});

describe('layer traces', () => {
  const trace = 'layer,forward_ms,backward_ms\nwte,0.5,1\n"h[0].attn",2,\n"a ""b""",1e-3,0\n';

  function checkTrace(text: string): void {
    const { measurements, issues } = readLayerTrace(text, 'trace.csv');
    checkIssues(issues, text.length);
    for (const { forward, backward } of measurements?.layers.values() ?? []) {
      for (const time of [forward, backward]) if (time !== undefined) expect(time).toBeGreaterThanOrEqual(0);
    }
    if (measurements === undefined) expect(issues).not.toEqual([]);
  }

  test('a few places changed', () => {
    fc.assert(
      fc.property(seeds, (seed) => checkTrace(mutateText(trace, trace, randomOf(seed)))),
      { numRuns: 500 },
    );
  });

  test.each([',', '"', '\n', 'a,x,y\n', 'a,1e999,2\n', '"a', '""', '\r', '\u0000'])(
    'a megabyte of %j',
    (token) => {
      checkTrace(trace + megabyte(token));
      checkTrace(megabyte(token));
    },
  );
});

describe('included specs', () => {
  const names = [
    'a.layers.yaml',
    'b.layers.yaml',
    'sub/c.layers.yaml',
    '../d.layers.yaml',
    '/e.layers.yaml',
    '',
  ];
  const library = fc
    .record({
      includes: fc.array(fc.constantFrom(...names), { maxLength: 3 }),
      calls: fc.array(fc.constantFrom('x', 'y', 'z', 'Linear'), { minLength: 1, maxLength: 3 }),
      seed: fc.option(seeds, { nil: undefined, freq: 3 }),
    })
    .map(({ includes, calls, seed }) => {
      const blocks = ['x', 'y'].map(
        (name) => `  ${name}(d=4):\n${calls.map((call, index) => `    - l${index}: ${call}(d)\n`).join('')}`,
      );
      const text = `include: [${includes.map((path) => `"${path}"`).join(', ')}]\nblocks:\n${blocks.join('')}`;
      return seed === undefined ? text : mutateText(text, text, randomOf(seed));
    });

  test('files that include each other, changed in a few places', () => {
    fc.assert(
      fc.property(fc.array(library, { minLength: 3, maxLength: 3 }), library, (files, own) => {
        const text = `${own}inputs: { i: "float[2, 4]" }\nlayers:\n  - a: x()\n  - b: y(4) * 3\n`;
        const read = new Map(names.map((name, index) => [name, files[index]]));
        const opened = openLayerSpec(text, 'model.layers.yaml', { readInclude: (path) => read.get(path) });
        checkIssues(opened.issues, text.length);
        const { cost, issues } = estimateModel(opened, [{}]);
        if (cost === undefined) expect(issues).not.toEqual([]);
      }),
      { numRuns: 200 },
    );
  });

  test('a thousand files in a row, and one that includes itself', () => {
    const chain = (path: string): string =>
      `include: ["${Number.parseInt(path, 10) + 1}.layers.yaml"]\nblocks:\n  x: [ a: ReLU() ]\n`;
    for (const readInclude of [chain, () => 'include: ["0.layers.yaml"]\nblocks: {}\n']) {
      const text = 'include: ["0.layers.yaml"]\ninputs: { i: "float[2]" }\nlayers:\n  - a: x()\n';
      const opened = openLayerSpec(text, 'model.layers.yaml', { readInclude });
      checkIssues(opened.issues, text.length);
    }
  });
});
