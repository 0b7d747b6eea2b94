/** The few numbers that a reader sees first, and the sentence below them: each row, word for word. */

import { describe, expect, test } from 'vitest';
import { drawnGlance, glanceAt, limitSentence } from '../../../server/src/estimate/report/glance.ts';
import type { Report } from '../../../server/src/estimate/report/report.ts';
import { oneWorker } from '../../support/oneWorker.ts';
import { smallReport } from '../../support/smallReport.ts';

type Totals = Report['totals'];
interface Change {
  readonly totals?: Partial<Totals>;
  readonly time?: Partial<Totals['time']>;
  readonly memory?: Partial<Totals['memory']>;
  readonly scenario?: Partial<Report['scenario']>;
  readonly report?: Partial<Report>;
}

/** All of it is known, where nothing else is said. */
const reportOf = ({ totals, time, memory, scenario, report }: Change): Report => ({
  ...smallReport,
  scenario: { ...smallReport.scenario, ...scenario },
  totals: {
    ...smallReport.totals,
    exact: true,
    ...totals,
    time: { ...smallReport.totals.time, exact: true, ...time },
    memory: { ...smallReport.totals.memory, ...memory },
  },
  ...report,
});
const rowsOf = (change: Change) =>
  glanceAt(reportOf(change)).map(({ name, value, detail, mark }) =>
    [name, value, detail, ...(mark === undefined ? [] : [`${mark.severity}: ${mark.text}`])].join(' | '),
  );
const rowOf = (name: string, change: Change) => rowsOf(change).find((row) => row.startsWith(`${name} |`));

test('a step of eight GPUs', () => {
  expect(rowsOf({})).toEqual([
    'one training step | 170 µs | 120 µs to 240 µs',
    'throughput | 188,235 samples/s | MFU 14 %',
    'efficiency on 8 GPUs | 53 % | 80.0 µs of 120 µs communication exposed',
    'peak memory | 576 MiB | 1.4 % of 40.0 GiB',
  ]);
});

test('what is a lower bound says so, and has no range', () => {
  const unknown = { totals: { exact: false, mfu: null, scalingEfficiency: null }, time: { exact: false } };
  expect(rowsOf(unknown)).toEqual([
    'one training step | ≥ 170 µs | ',
    'throughput | ≤ 188,235 samples/s | MFU ?',
    'efficiency on 8 GPUs | ? | unknown, because a part of the step is',
    'peak memory | ≥ 576 MiB | ≥ 1.4 % of 40.0 GiB',
  ]);
  expect(rowOf('one training step', { time: { stepRange: null } })).toBe('one training step | 170 µs | ');
});

describe('throughput', () => {
  test.each<readonly [string, Change, string]>([
    ['in tokens', { totals: { tokenThroughput: 2e6 } }, '2,000,000 tokens/s, MFU 14 %'],
    [
      'at most',
      { totals: { tokenThroughput: 2e6 }, time: { exact: false } },
      '≤ 2,000,000 tokens/s, MFU 14 %',
    ],
    ['of unknown tokens', { totals: { tokenThroughput: null } }, 'MFU 14 %'],
  ])('%s', (_, change, detail) => {
    expect(rowOf('throughput', change)?.split(' | ')[2]).toBe(detail);
  });
});

describe('on several GPUs', () => {
  test('one has nobody to share with', () => {
    expect(rowsOf({ scenario: { gpus: 1 } }).map((row) => row.split(' | ')[0])).toEqual([
      'one training step',
      'throughput',
      'peak memory',
    ]);
  });

  test('an efficiency above 100 % is explained below', () => {
    const row = (scalingEfficiency: number | null) =>
      rowOf('efficiency on 8 GPUs', { totals: { scalingEfficiency } })?.split(' | ').slice(1);
    expect(row(1.02)).toEqual([
      '102 %',
      '80.0 µs of 120 µs communication exposed, over 100 %: Totals say why',
    ]);
    expect(row(1.004)).toEqual(['100 %', '80.0 µs of 120 µs communication exposed']);
    expect(row(1)).toEqual(['100 %', '80.0 µs of 120 µs communication exposed']);
    expect(row(null)).toEqual(['?', '80.0 µs of 120 µs communication exposed']);
  });

  test('nodes of processors are called so', () => {
    expect(rowOf('efficiency on 8 CPU nodes', { scenario: { device: 'CPU node' } })).toBeDefined();
  });

  const layout = { ...oneWorker, tensor: 2, pipeline: 2 } as const;
  const parallel = (bubble: number): Report['parallel'] => ({
    replicas: 2,
    microBatches: 8,
    bubble,
    tensorCommunication: 0,
    contextCommunication: 0,
    expertCommunication: 0,
    stages: [],
    collectives: [],
    whole: [],
  });
  test('those that share a copy have a layout, with the bubble of its pipeline', () => {
    const row = (bubble: number, step: number | null = 170e-6) =>
      rowOf('layout of 8 GPUs', {
        scenario: { parallel: layout },
        report: { parallel: parallel(bubble) },
        time: { step },
      });
    expect(row(34e-6)).toBe(
      'layout of 8 GPUs | tp 2 pp 2 dp 2 | 20 % of the step is pipeline bubble, 80.0 µs of 120 µs communication exposed',
    );
    expect(row(0)).toBe('layout of 8 GPUs | tp 2 pp 2 dp 2 | 80.0 µs of 120 µs communication exposed');
    expect(row(34e-6, null)).toBe(
      'layout of 8 GPUs | tp 2 pp 2 dp 2 | 80.0 µs of 120 µs communication exposed',
    );
  });
});

describe('memory', () => {
  test.each<readonly [string, Change, string]>([
    [
      'that does not fit',
      { memory: { fits: 'no' } },
      'peak memory | 576 MiB | 1.4 % of 40.0 GiB | error: out of memory',
    ],
    [
      'of unknown capacity',
      { memory: { capacity: null, fits: null } },
      'peak memory | 576 MiB | of unknown capacity',
    ],
  ])('%s', (_, change, row) => {
    expect(rowOf('peak memory', change)).toBe(row);
  });

  test('that may fit is a warning', () => {
    expect(rowOf('peak memory', { memory: { fits: 'may' } })).toMatch(/ \| warning: \S/);
  });
});

describe('a run', () => {
  const run: NonNullable<Totals['run']> = {
    steps: 1200,
    initialisation: 36,
    loading: 0,
    time: 7200,
    price: 12.5,
    energy: null,
    exact: true,
  };
  const offer = {
    provider: 'AWS',
    instance: 'p4d.24xlarge',
    region: 'us-east-1',
    kind: 'spot',
    date: '2026-03-01',
    source: 'assumption: of this test',
  } as const;
  const energy = { atMost: 3.6e6, boardPower: 400, utilisation: 0.75, pue: 1.5 };
  const rows = (change: Partial<typeof run>, exact = true) =>
    rowsOf({ totals: { run: { ...run, ...change } }, time: { exact } }).slice(4);

  test('with its price, and where that is from', () => {
    expect(rows({})).toEqual(['whole run | 2.0 hours | $12.50 for 1,200 steps']);
    expect(rows({ offer })).toEqual([
      'whole run | 2.0 hours | $12.50 for 1,200 steps, AWS p4d.24xlarge in us-east-1, spot, 2026-03-01',
    ]);
    expect(rows({ price: null })).toEqual(['whole run | 2.0 hours | 1,200 steps']);
  });

  test('that is a lower bound, by itself or by its step', () => {
    const bound = ['whole run | ≥ 2.0 hours | ≥ $12.50 for 1,200 steps'];
    expect([rows({ exact: false }), rows({}, false)]).toEqual([bound, bound]);
  });

  test('with the energy of its boards', () => {
    expect(rows({ energy })).toEqual([
      'whole run | 2.0 hours | $12.50 for 1,200 steps',
      'energy of the run | ≤ 1.00 kWh | upper estimate: 400 W × 75 % busy × PUE 1.50',
    ]);
  });
});

describe('a decode step', () => {
  const decoding: Report['decoding'] = {
    past: 100,
    prefill: { tokens: 99, time: 2e-3, range: null },
    bytesPerToken: 2 ** 17,
    cache: 2 ** 30,
    fixed: 0,
    largestBatch: null,
    longestContext: null,
  };
  test('is one token of each sequence, with its prompt and cache', () => {
    const rows = rowsOf({
      scenario: { mode: 'inference', gpus: 1 },
      totals: { tokenThroughput: 5 },
      report: { decoding },
    });
    expect(rows).toEqual([
      'one token of each sequence | 170 µs | 120 µs to 240 µs',
      'throughput | 188,235 tokens/s | MFU 14 %',
      'prefill | 2.00 ms | 4 sequences of 99 tokens',
      'cache | 1.00 GiB | 128 KiB per token of a sequence, fits at any context',
      'peak memory | 576 MiB | 1.4 % of 40.0 GiB',
    ]);
    expect(rowsOf({ scenario: { mode: 'inference', gpus: 1 } })[0]).toMatch(/^one forward pass \|/);
  });
});

test('a page keeps a number and its unit on one line', () => {
  expect(drawnGlance(reportOf({}))[0]?.detail).toBe('120\u00a0µs to 240\u00a0µs');
});

test.each<readonly [Totals['limit']['kind'], string]>([
  ['compute', 'Computation takes 40 % of the step: little is left to gain from communication or input.'],
  ['pipeline', 'For 40 % of the step the stage that ends last waits for other stages of the pipeline.'],
  ['host', 'For 40 % of the step the GPU waits for the host to launch kernels.'],
  ['input', 'For 40 % of the step the GPU waits for input.'],
  ['latency', 'For 40 % of the step the GPU waits for messages to start up.'],
  [
    'communication',
    'Messages short of bandwidth cost 40 % of the step: the GPU waits for them, or computes more slowly beside them.',
  ],
  ['server', 'For 40 % of the step the GPU waits for parameter servers.'],
  ['imbalance', 'For 40 % of the step GPUs wait for the slowest worker.'],
])('limited by %s', (kind, text) => {
  const totals = { limit: { kind, share: 0.4 } };
  const noRoom = 'The step does not fit into memory; its times are of a GPU with room for it.';
  expect(limitSentence(reportOf({ totals }))).toBe(text);
  expect(limitSentence(reportOf({ totals, memory: { fits: 'no' } }))).toBe(`${noRoom} ${text}`);
  expect(limitSentence(reportOf({ totals, time: { exact: false } }))).toBe('');
  expect(limitSentence(reportOf({ totals, time: { exact: false }, memory: { fits: 'no' } }))).toBe(noRoom);
});
