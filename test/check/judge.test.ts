/** Budgets around the values of a real report: what is kept, broken, unknown, and what changed. */

import { expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { readBaseline, writeBaseline } from '../../server/src/check/acceptedFindings.ts';
import type { Check, FailOn } from '../../server/src/check/checkFile.ts';
import { failed, judge } from '../../server/src/check/judge.ts';
import { statusOfJudgements } from '../../server/src/check/judgement.ts';
import { type Quantity, quantities, quantityNames } from '../../server/src/check/quantities.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { makeReport } from '../../server/src/estimate/report/makeReport.ts';
import type { Report } from '../../server/src/estimate/report/report.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';

/** A chain whose first gradient is the largest, so that nothing hides it. */
function reportOf(
  width: number,
  more = '',
  run = 'samples=1000000,epochs=1,start-seconds=60,price=24',
): Report {
  const text = `name: chain
inputs:
  x: float32[batch, 4096]
layers:
  - first: Linear(4096, ${width})
  - act: ReLU()
  - second: Linear(10)
${more}scenario:
  cluster: p3-16xlarge
  batch: 8
  framework: pytorch-ddp
  run: '${run}'
`;
  const opened = openModel(byteSourceOfBuffer(new TextEncoder().encode(text)), 'chain.layers.yaml');
  const { cost, training, issues } = estimateModel(opened, [opened.scenario]);
  if (cost === undefined || training === undefined) throw new Error(JSON.stringify(issues));
  return makeReport(opened, training.analysis, cost, issues);
}

const report = reportOf(4096);
const wider = reportOf(8192);
const partly = reportOf(4096, '  - odd: onnx.Unheard()\n');

const checkOf = (parts: Partial<Check>): Check => ({
  name: 'chain',
  model: 'chain.layers.yaml',
  scenario: [],
  budgets: [],
  accept: [],
  failOn: 'never' satisfies FailOn,
  span: { start: 0, end: 5 },
  ...parts,
});

const judged = (parts: Partial<Check>, of: Report, base?: Report, hasBase = base !== undefined) =>
  judge({ check: checkOf(parts), report: of, base, hasBase, lineOf: (offset) => offset + 1, accepted: [] });

const budget = (quantity: (typeof quantityNames)[number], value: number) => ({
  quantity,
  text: 'as written',
  limit: { kind: 'absolute', value } as const,
  span: { start: 6, end: 7 },
});

test.each(quantityNames)(
  '%s is kept at its value and a little beyond, and broken a little before',
  (name) => {
    const quantity: Quantity = quantities[name];
    const value = quantity.of(report);
    if (value === null) throw new Error(`the report has no ${name}`);
    const sign = quantity.limit === 'at most' ? 1 : -1;
    // Sums in another order differ in their last digits.
    const beyond = [0, 0.01, -0.01, -1e-12];
    const limits = beyond.map((share) => budget(name, value * (1 + sign * share)));
    const { budgets } = judged({ budgets: limits }, report);
    expect(budgets.map(({ verdict }) => verdict)).toEqual(['kept', 'kept', 'broken', 'kept']);
    expect(budgets[2]?.message).toMatch(sign > 0 ? /, over the limit of / : /, under the limit of /);
    expect(budgets[0]?.line).toBe(7);
  },
);

/** What each quantity is of a report, and whether it is exact where a layer is unknown, and where a run's start is. */
test('quantities are what their names say, as exact as what they are made of', () => {
  const { totals, model } = report;
  const { time, memory, flops, run } = totals;
  const expected: Readonly<Record<(typeof quantityNames)[number], unknown>> = {
    step: [time.step, false, true],
    exposed: [time.exposedCommunication, false, true],
    throughput: [totals.throughput, false, true],
    efficiency: [totals.scalingEfficiency, false, true],
    mfu: [totals.mfu, false, true],
    memory: [memory.needed, false, true],
    parameters: [model.parameters, false, true],
    flops: [flops.forward + flops.backward, false, true],
    'run-time': [run?.time, false, false],
    'run-cost': [run?.price, false, false],
  };
  const unstarted = reportOf(4096, '', 'samples=1000000,epochs=1,price=24');
  const found = quantityNames.map((name) => {
    const quantity: Quantity = quantities[name];
    return [name, [quantity.of(report), quantity.isExact(partly), quantity.isExact(unstarted)]];
  });
  expect(Object.fromEntries(found)).toEqual(expected);
  expect(quantityNames.every((name) => quantities[name].isExact(report))).toBe(true);
});

test('a bound beyond the limit breaks it, and one before it shows nothing', () => {
  const step = partly.totals.time.step ?? 0;
  expect(partly.totals.time.exact).toBe(false);
  const { budgets } = judged({ budgets: [budget('step', step * 0.9), budget('step', step * 2)] }, partly);
  expect(budgets.map(({ verdict }) => verdict)).toEqual(['broken', 'unknown']);
  expect(budgets[1]?.message).toMatch(/^step: ≥ .*, which does not show whether it is within the limit/);
});

test('a change is held against the base', () => {
  const growth = (wider.model.parameters - report.model.parameters) / report.model.parameters;
  const change = (share: number) => ({
    ...budget('parameters', 0),
    limit: { kind: 'relative', share } as const,
  });
  const { budgets, changes, isNew } = judged(
    { budgets: [change(growth * 1.01), change(growth * 0.99)] },
    wider,
    report,
  );
  expect(budgets.map(({ verdict }) => verdict)).toEqual(['kept', 'broken']);
  expect(isNew).toBe(false);
  // 4097 · 4096 + 10 · 4097, and the same with 8192 hidden units.
  expect(changes.find(({ quantity }) => quantity === 'parameters')).toEqual({
    quantity: 'parameters',
    before: 16_822_282,
    after: 33_644_554,
    better: false,
  });
});

test('what grows is better where more is', () => {
  const { changes } = judged({}, wider, report);
  for (const { quantity, before, after, better } of changes)
    expect(better, quantity).toBe(
      quantities[quantity].limit === 'at least' ? after > before : after < before,
    );
  const sides = new Set(changes.map(({ quantity }) => quantities[quantity].limit));
  expect(sides).toEqual(new Set(['at most', 'at least']));
});

test('a model that is the same changes nothing, and a new one has nothing to compare with', () => {
  expect(judged({}, report, report).changes).toEqual([]);
  const relative = { ...budget('step', 0), limit: { kind: 'relative', share: 0.05 } as const };
  const fresh = judged({ budgets: [relative] }, report, undefined, true);
  expect(fresh.isNew).toBe(true);
  expect(fresh.budgets[0]?.verdict).toBe('not compared');
});

test('findings fail from their severity on, unless they are accepted', () => {
  const codes = report.findings.map(({ code }) => code.replace('findings/', ''));
  expect(codes.length).toBeGreaterThan(0);
  const failing = (parts: Partial<Check>) =>
    judged(parts, report).findings.flatMap(({ fails, code }) => (fails ? [code] : []));
  expect(failing({ failOn: 'information' })).toEqual(codes);
  expect(failing({ failOn: 'error' })).toEqual([]);
  expect(failing({ failOn: 'information', accept: codes })).toEqual([]);
});

const unfailing = <Found extends object>(finding: Found) => ({ ...finding, fails: false });

test('a baseline accepts what was there when it was written', () => {
  const before = judged({ failOn: 'information' }, report);
  const accepted = readBaseline(writeBaseline([before]));
  if (accepted === undefined) throw new Error('the baseline cannot be read again');
  const after = judge({
    check: checkOf({ failOn: 'information' }),
    report,
    hasBase: false,
    lineOf: () => 1,
    accepted,
  });
  expect(after.findings).toEqual([]);
  // Neither what was accepted of another check or layer, nor another finding of this one.
  const [first] = accepted;
  if (first === undefined) throw new Error('nothing was accepted');
  for (const other of [{ check: 'other' }, { layer: 'other' }, { code: 'other' }]) {
    const own = { check: checkOf({}), report, hasBase: false, lineOf: () => 1 };
    expect(judge({ ...own, accepted: [{ ...first, ...other }] }).findings).toEqual(
      before.findings.map(unfailing),
    );
  }
  expect(readBaseline('{"version":2}')).toBeUndefined();
  expect(readBaseline('no JSON')).toBeUndefined();
});

test('the exit status says the worst', () => {
  const kept = judged({ budgets: [budget('parameters', 1e9)] }, report);
  const broken = judged({ budgets: [budget('parameters', 1)] }, report);
  const unknown = judged({ budgets: [budget('step', 1e9)] }, partly);
  const failure = failed(checkOf({}), 1, 'no such file');
  expect(
    [[kept], [kept, unknown], [kept, unknown, broken], [broken, failure]].map(statusOfJudgements),
  ).toEqual([0, 1, 3, 1]);
});
