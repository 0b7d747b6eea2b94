/** Rows of a layout and of a decode step, word for word. */

import { describe, expect, test } from 'vitest';
import { decodingRows } from '../../../server/src/estimate/report/decodingRows.ts';
import { parallelRows } from '../../../server/src/estimate/report/parallelRows.ts';
import type { Report } from '../../../server/src/estimate/report/report.ts';
import { oneWorker } from '../../support/oneWorker.ts';
import { smallReport } from '../../support/smallReport.ts';

type Layout = NonNullable<Report['scenario']['parallel']>;
type Parallel = NonNullable<Report['parallel']>;
type Decoding = NonNullable<Report['decoding']>;

const stage: Parallel['stages'][number] = {
  rank: 0,
  first: 'embed',
  last: 'h.5',
  forward: 1e-3,
  backward: 2e-3,
  parameters: 1_500_000,
  alive: 2,
  peak: 2 ** 30,
  sent: 2 ** 21,
};
const parallel: Parallel = {
  replicas: 4,
  microBatches: 8,
  bubble: 17e-6,
  tensorCommunication: 34e-6,
  contextCommunication: 51e-6,
  expertCommunication: 68e-6,
  stages: [stage, { ...stage, rank: 1, first: 'h.6', last: 'head', alive: 1, sent: 0 }],
  collectives: [],
  whole: [],
};

/** A step of 170 µs. */
function rowsOf(layout: Partial<Layout>, change: Partial<Parallel> = {}, step: number | null = 170e-6) {
  const { scenario, totals } = smallReport;
  return parallelRows({
    ...smallReport,
    scenario: { ...scenario, parallel: { ...oneWorker, ...layout } },
    totals: { ...totals, time: { ...totals.time, step } },
    parallel: { ...parallel, ...change },
  }).map(({ name, value, detail }) => `${name} | ${value} | ${detail}`);
}

test.each<readonly [Partial<Layout>, string]>([
  [{}, 'layout | tp 1 pp 1 dp 4 | 8 micro-batches'],
  [
    { tensor: 2 },
    'layout | tp 2 pp 1 dp 4 | 8 micro-batches, collectives of tensor parallelism 34.0 µs (20 % of the step)',
  ],
  [
    { tensor: 2, sequence: true },
    'layout | tp 2 sp pp 1 dp 4 | 8 micro-batches, collectives of tensor parallelism 34.0 µs (20 % of the step)',
  ],
  [
    { context: 2 },
    'layout | tp 1 cp 2 pp 1 dp 4 | 8 micro-batches, exposed context parallelism 51.0 µs (30 % of the step)',
  ],
  [
    { expert: 8 },
    'layout | tp 1 pp 1 dp 4 ep 8 | 8 micro-batches, all-to-alls of experts 68.0 µs (40 % of the step)',
  ],
])('%o', (layout, text) => {
  expect(rowsOf(layout)).toEqual([text]);
});

test('a pipeline has a row of each stage', () => {
  expect(rowsOf({ pipeline: 2 })).toEqual([
    'layout | tp 1 pp 2 dp 4 | 8 micro-batches, 1f1b, pipeline bubble 17.0 µs (10 % of the step)',
    'stage 1 | 1.50 GiB | `embed` to `h.5`, 1.50 M parameters, forward 1.00 ms, backward 2.00 ms, 2 micro-batches alive, sends 2.00 MiB',
    'stage 2 | 1.50 GiB | `h.6` to `head`, 1.50 M parameters, forward 1.00 ms, backward 2.00 ms, 1 micro-batch alive',
  ]);
});

test('of several stages of a rank each row says which', () => {
  const rows = rowsOf({ pipeline: 2, chunks: 2, schedule: 'interleaved-1f1b' }, { microBatches: 1 });
  expect(rows[0]).toBe(
    'layout | tp 1 pp 2 vp 2 dp 4 | 1 micro-batch, interleaved-1f1b, pipeline bubble 17.0 µs (10 % of the step)',
  );
  expect(rows[2]).toMatch(/^stage 2 \| 1\.50 GiB \| rank 2, `h\.6` to `head`, /);
});

test('of an unknown step there is no share', () => {
  expect(rowsOf({ tensor: 2 }, {}, null)).toEqual([
    'layout | tp 2 pp 1 dp 4 | 8 micro-batches, collectives of tensor parallelism 34.0 µs',
  ]);
});

test.each([
  [1, '1 layer'],
  [2, '2 layers'],
])('what is not split is counted, and the first is named: %i', (count, text) => {
  const layer = { layer: 'head', share: 0.25, reason: '50,257 words' };
  const whole = [layer, { ...layer, layer: 'other' }].slice(0, count);
  expect(rowsOf({ tensor: 2 }, { whole })[0]).toMatch(
    new RegExp(`, not split: ${text}, largest \`head\` with 25 % of forward FLOPs \\(50,257 words\\)$`),
  );
});

test('where each GPU has a copy there are no rows', () => {
  expect(parallelRows({ ...smallReport, parallel })).toEqual([]);
  const scenario = { ...smallReport.scenario, parallel: oneWorker };
  expect(parallelRows({ ...smallReport, scenario })).toEqual([]);
});

describe('a decode step', () => {
  const decoding: Decoding = {
    past: 100,
    prefill: { tokens: 99, time: 2e-3, range: [1e-3, 3e-3] },
    bytesPerToken: 2 ** 17,
    cache: 2 ** 30,
    fixed: 0,
    largestBatch: 1234,
    longestContext: 5000,
  };
  const rows = (change: Partial<Decoding>, scenario: Partial<Report['scenario']> = {}) =>
    decodingRows({
      ...smallReport,
      scenario: { ...smallReport.scenario, ...scenario },
      decoding: { ...decoding, ...change },
    }).map(({ name, value, detail }) => `${name} | ${value} | ${detail}`);

  test('has a row of itself, of its prompt and of its cache', () => {
    expect(rows({})).toEqual([
      'decode | 4 × 1 token | after 100 tokens, in one step; one replica per GPU, no continuous batching',
      'prefill | 2.00 ms | 1.00 ms to 3.00 ms, 4 sequences of 99 tokens',
      'cache | 1.00 GiB | 128 KiB per token of a sequence, fits up to batch 1,234 at this context, up to 5,000 tokens at this batch',
    ]);
  });

  test('of one sequence, on a node of processors', () => {
    expect(rows({ past: 1 }, { batchPerGpu: 1, device: 'CPU node' }).slice(0, 2)).toEqual([
      'decode | 1 × 1 token | after 1 token, in one step; one replica per CPU node, no continuous batching',
      'prefill | 2.00 ms | 1.00 ms to 3.00 ms, one sequence of 99 tokens',
    ]);
  });

  test('says what is not known of it', () => {
    expect(
      rows({ prefill: { tokens: null, time: null, range: null }, largestBatch: null, longestContext: null }),
    ).toEqual([
      'decode | 4 × 1 token | after 100 tokens, in one step; one replica per GPU, no continuous batching',
      'prefill | ? | 4 sequences',
      'cache | 1.00 GiB | 128 KiB per token of a sequence, fits at any context',
    ]);
  });

  test('with the cache of another sequence', () => {
    expect(rows({ fixed: 2 ** 20 })[2]).toBe(
      'cache | 1.00 GiB | 128 KiB per token of a sequence, 1.00 MiB of it of another sequence, fits up to batch 1,234 at this context, up to 5,000 tokens at this batch',
    );
  });

  test('is none where nothing is decoded', () => {
    expect(decodingRows(smallReport)).toEqual([]);
  });
});
