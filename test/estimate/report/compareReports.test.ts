/** Two reports side by side: what is compared, and what is not. */

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { openModel } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { compareLayers, compareTotals } from '../../../server/src/estimate/report/compareReports.ts';
import { layerTime } from '../../../server/src/estimate/report/layerCells.ts';
import { makeReport } from '../../../server/src/estimate/report/makeReport.ts';
import { comparisonTable } from '../../../server/src/estimate/report/renderComparison.ts';
import type { Report } from '../../../server/src/estimate/report/report.ts';
import { byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';
import type { ScenarioRequest } from '../../../server/src/model/scenario.ts';
import { smallReport } from '../../support/smallReport.ts';

function reportOf(text: string | Buffer, name: string, request: ScenarioRequest): Report {
  const opened = openModel(byteSourceOfBuffer(Buffer.from(text)), name);
  const { cost, issues } = estimateModel(opened, [request, opened.scenario]);
  if (opened.analysis === undefined || cost === undefined) throw new Error(name);
  return makeReport(opened, opened.analysis, cost, issues);
}

/** Forward, backward and exposed communication of all layers. */
const wholeTime = ({ layers }: Report): number =>
  layers.reduce((sum, layer) => {
    const time = layerTime(layer);
    const { exposedCommunication } = layer.time;
    if (time === null || exposedCommunication === null) throw new Error(`${layer.name} has no time`);
    return sum + time + exposedCommunication;
  }, 0);

it.each(['resnet50.onnx', 'gpt2.layers.yaml', 'googlenet.onnx'])(
  'the layers of %s make up the difference of two scenarios',
  (sample) => {
    const bytes = readFileSync(`samples/${sample}`);
    const left = reportOf(bytes, sample, { cluster: 'dgx-a100', gpus: 8, batch: 16 });
    const right = reportOf(bytes, sample, { cluster: 'dgx-h100', gpus: 32, batch: 16 });
    const { layers, onlyIn } = compareLayers(left, right);
    expect(onlyIn).toEqual({ left: 0, right: 0 });
    const sum = layers.reduce((total, { more }) => total + more, 0);
    expect(sum).toBeCloseTo(wholeTime(right) - wholeTime(left), 12);
    expect(layers.map(({ more }) => Math.abs(more))).toEqual(
      layers.map(({ more }) => Math.abs(more)).toSorted((one, other) => other - one),
    );
  },
);

const spec = (last: string): string =>
  `dims: { batch: 8192 }\ninputs:\n  x: float32[batch, 512]\nlayers:\n  - fc1: Linear(512, 512)\n  - act: ReLU()\n  - ${last}\n`;

it('compares layers by name, and counts those of one model alone', () => {
  const request = { cluster: 'v100-sxm2-16gb', precision: 'fp32', gpus: 1 } as const;
  const left = reportOf(spec('fc2: Linear(512, 512)'), 'a.layers.yaml', request);
  const right = reportOf(spec('head: Linear(512, 64)'), 'a.layers.yaml', request);
  expect(compareLayers(left, right).onlyIn).toEqual({ left: 1, right: 1 });
  const wider = reportOf(spec('fc2: Linear(512, 4096)'), 'a.layers.yaml', request);
  const { layers } = compareLayers(left, wider);
  expect(layers.map(({ name, type }) => [name, type])).toEqual([['fc*', 'Linear × 2']]);
  expect(layers[0]?.more).toBeGreaterThan(0);
});

it('lists the layers of one revision alone, and what a layer trains and keeps more', () => {
  const request = { cluster: 'v100-sxm2-16gb', precision: 'fp32', gpus: 1 } as const;
  const before = reportOf(spec('fc2: Linear(512, 512)'), 'a.layers.yaml', request);
  const after = reportOf(spec('fc2: Linear(512, 64)\n  - act2: ReLU()'), 'a.layers.yaml', request);
  const { layers, onlyIn } = compareLayers(before, after);
  expect(onlyIn).toEqual({ left: 0, right: 1 });
  const rows = new Map(layers.map((layer) => [layer.name, layer]));
  // 512 · 448 weights and 448 biases less; both keep their input alone.
  expect(rows.get('fc*')).toMatchObject({ parameters: -(512 * 448 + 448), saved: 0 });
  // A ReLU keeps its output: 8192 · 64 numbers of 4 bytes.
  expect(rows.get('act2')).toMatchObject({ left: null, parameters: 0, saved: 8192 * 64 * 4 });
  expect(rows.get('act2')?.right).toBe(rows.get('act2')?.more);
  const text = comparisonTable(before, after, { left: 'main', right: 'now' });
  expect(text).toMatch(/^act2 +ReLU +absent +\S+ .s +\+\S+ .s +\+2\.00 MiB$/m);
  expect(text).toContain('Layers are compared by name: 1 layer only in now.');
  expect(comparisonTable(before, before)).toContain('No layer differs');
});

it('gives no ratio of a bound', () => {
  const request = { cluster: 'v100-sxm2-16gb', precision: 'fp32', gpus: 1 } as const;
  const whole = reportOf(spec('fc2: Linear(512, 512)'), 'a.layers.yaml', request);
  const cut = reportOf(spec('fc2: Liner(512, 512)'), 'a.layers.yaml', request);
  const flops = (left: Report, right: Report) =>
    compareTotals(left, right).find(({ name }) => name === 'forward FLOPs');
  expect(flops(whole, cut)).toMatchObject({ ratio: null, text: { right: expect.stringMatching(/^≥ /) } });
  expect(flops(whole, whole)).toMatchObject({ ratio: 1, text: { left: '8.59 GFLOP' } });
});

it.each([
  [undefined, undefined, undefined],
  [undefined, 8_190_735_360, ['0', '8.19 G', null]],
  [8_190_735_360, undefined, ['8.19 G', '0', 0]],
  [4_000_000, 2_000_000, ['4.00 M', '2.00 M', 0.5]],
])('frozen parameters of %s and %s have a row where there are any', (one, other, row) => {
  const report = (frozenParameters: number | undefined): Report => ({
    ...smallReport,
    model: { ...smallReport.model, ...(frozenParameters === undefined ? {} : { frozenParameters }) },
  });
  const found = compareTotals(report(one), report(other)).find(({ name }) => name === 'frozen parameters');
  expect(found && [found.text.left, found.text.right, found.ratio]).toEqual(row);
});

/** What is known and what is a bound of the same step: only a total that is none on either side has a ratio. */
it('marks bounds, and what they say nothing of', () => {
  const known: Report = {
    ...smallReport,
    totals: {
      ...smallReport.totals,
      time: { ...smallReport.totals.time, exact: true },
      unknown: [],
      exact: true,
    },
  };
  const table = (left: Report, right: Report) =>
    compareTotals(left, right).map(({ name, text, ratio }) => [name, text.left, text.right, ratio]);
  expect(table(smallReport, known)).toEqual([
    // All weights are known: what is unknown has none.
    ['parameters', '2.36 M', '2.36 M', 1],
    ['forward FLOPs', '≥ 2.42 GFLOP', '2.42 GFLOP', null],
    ['backward FLOPs', '≥ 4.83 GFLOP', '4.83 GFLOP', null],
    ['step', '≥ 170 µs', '170 µs', null],
    ['forward', '≥ 20.0 µs', '20.0 µs', null],
    ['backward', '≥ 40.0 µs', '40.0 µs', null],
    ['update', '30.0 µs', '30.0 µs', 1],
    ['communication', '120 µs', '120 µs', 1],
    // More work may hide more of it, or less: no bound.
    ['exposed', '80.0 µs', '80.0 µs', null],
    ['memory', '≥ 576 MiB', '576 MiB', null],
    ['activations', '≥ 3.00 MiB', '3.00 MiB', null],
    ['throughput', '≤ 188,235 samples/s', '188,235 samples/s', null],
    ['weak efficiency', '53 %', '53 %', null],
    ['MFU', '14 %', '14 %', null],
  ]);
  const { totals } = known;
  const other: Report = {
    ...known,
    totals: {
      ...totals,
      time: { ...totals.time, step: 85e-6, exposedCommunication: null, communication: 0 },
      mfu: null,
    },
  };
  const changed = table(known, other).filter(([, , , ratio]) => ratio !== 1);
  expect(changed).toEqual([
    ['step', '170 µs', '85.0 µs', 0.5],
    ['communication', '120 µs', '0 s', 0],
    ['exposed', '80.0 µs', '?', null],
    ['MFU', '14 %', '?', null],
  ]);
  // Nothing is so many times as long as 0 s.
  expect(table(other, known).find(([name]) => name === 'communication')).toEqual([
    'communication',
    '0 s',
    '120 µs',
    null,
  ]);
});
