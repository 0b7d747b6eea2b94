/** Rows of a report's summary, by value: what each total says, where it is a bound, and what is left out. */

import { describe, expect, test } from 'vitest';
import type { Report } from '../../../server/src/estimate/report/report.ts';
import { describeModel, describeParameters, summarize } from '../../../server/src/estimate/report/summary.ts';
import { oneWorker } from '../../support/oneWorker.ts';
import { smallReport } from '../../support/smallReport.ts';

type Totals = Report['totals'];
type Change = (report: Report) => Report;

/** The same with everything known. */
const { totals: bounded } = smallReport;
const known: Report = {
  ...smallReport,
  totals: { ...bounded, exact: true, unknown: [], time: { ...bounded.time, exact: true } },
};

const totals =
  (change: Partial<Totals>): Change =>
  (report) => ({
    ...report,
    totals: { ...report.totals, ...change },
  });
const time =
  (change: Partial<Totals['time']>): Change =>
  (report) =>
    totals({ time: { ...report.totals.time, ...change } })(report);
const memory =
  (change: Partial<Totals['memory']>): Change =>
  (report) =>
    totals({ memory: { ...report.totals.memory, ...change } })(report);
const peakAt =
  (change: Partial<Totals['memory']['peakAt']>): Change =>
  (report) =>
    memory({ peakAt: { ...report.totals.memory.peakAt, ...change } })(report);
const scenario =
  (change: Partial<Report['scenario']>): Change =>
  (report) => ({
    ...report,
    scenario: { ...report.scenario, ...change },
  });
const all =
  (...changes: readonly Change[]): Change =>
  (report) =>
    changes.reduce((changed, change) => change(changed), report);
const same: Change = (report) => report;
/** It sends nothing. */
const oneGpu: Change = all(scenario({ gpus: 1 }), time({ communication: 0 }));

const rowOf = (report: Report, name: string): string | undefined => {
  const row = summarize(report).find((each) => each.name === name);
  return row && `${row.value} | ${row.detail}`;
};

/** By row: what is changed of the report, and what it then says. `undefined` where there is no such row. */
const rows: Readonly<
  Record<string, readonly (readonly [what: string, change: Change, text: string | undefined])[]>
> = {
  'step time': [
    [
      'all of it',
      same,
      '170 µs | 120 µs to 240 µs, forward 20.0 µs, backward 40.0 µs, update 30.0 µs, 80.0 µs of 120 µs communication exposed',
    ],
    [
      'without a range',
      time({ stepRange: null }),
      '170 µs | forward 20.0 µs, backward 40.0 µs, update 30.0 µs, 80.0 µs of 120 µs communication exposed',
    ],
    [
      'inference that sends nothing',
      all(scenario({ mode: 'inference' }), time({ communication: 0 })),
      '170 µs | 120 µs to 240 µs, forward 20.0 µs',
    ],
    [
      'inference whose communication is unknown',
      all(scenario({ mode: 'inference' }), time({ communication: null })),
      '170 µs | 120 µs to 240 µs, forward 20.0 µs',
    ],
    [
      'inference that sends',
      scenario({ mode: 'inference' }),
      '170 µs | 120 µs to 240 µs, forward 20.0 µs, 80.0 µs of 120 µs communication exposed',
    ],
    [
      'one GPU that copies to and from its host',
      scenario({ gpus: 1 }),
      '170 µs | 120 µs to 240 µs, forward 20.0 µs, backward 40.0 µs, update 30.0 µs, 80.0 µs of 120 µs communication exposed',
    ],
    ['one GPU', oneGpu, '170 µs | 120 µs to 240 µs, forward 20.0 µs, backward 40.0 µs, update 30.0 µs'],
    [
      'waiting for input',
      time({ exposedInput: 5e-6 }),
      '170 µs | 120 µs to 240 µs, forward 20.0 µs, backward 40.0 µs, update 30.0 µs, 80.0 µs of 120 µs communication exposed, 5.00 µs waiting for input',
    ],
    [
      'not waiting for it',
      all(oneGpu, time({ exposedInput: 0 })),
      '170 µs | 120 µs to 240 µs, forward 20.0 µs, backward 40.0 µs, update 30.0 µs',
    ],
    [
      'uneven workers',
      all(oneGpu, totals({ imbalance: { factor: 1.1, time: 7e-6 } })),
      '170 µs | 120 µs to 240 µs, forward 20.0 µs, backward 40.0 µs, update 30.0 µs, 7.00 µs waiting for the slowest worker',
    ],
    [
      'uneven workers that cost nothing',
      all(oneGpu, totals({ imbalance: { factor: 1.1, time: 0 } })),
      '170 µs | 120 µs to 240 µs, forward 20.0 µs, backward 40.0 µs, update 30.0 µs',
    ],
    [
      'GPUs of two kinds',
      all(
        oneGpu,
        totals({
          mixed: { slower: { gpu: 'V100', count: 1 }, faster: { gpu: 'A100', count: 1 }, time: 9e-6 },
        }),
      ),
      '170 µs | 120 µs to 240 µs, forward 20.0 µs, backward 40.0 µs, update 30.0 µs, 9.00 µs for which A100 waits for V100',
    ],
    [
      'GPUs of two kinds that do not wait',
      all(
        oneGpu,
        totals({ mixed: { slower: { gpu: 'V100', count: 1 }, faster: { gpu: 'A100', count: 1 }, time: 0 } }),
      ),
      '170 µs | 120 µs to 240 µs, forward 20.0 µs, backward 40.0 µs, update 30.0 µs',
    ],
    [
      'curves of both',
      all(oneGpu, totals({ basis: { measured: 0.2, transferred: 0.8, assumed: 0 } })),
      '170 µs | 120 µs to 240 µs, forward 20.0 µs, backward 40.0 µs, update 30.0 µs, 20 % of kernel time from this GPU’s curves, 80 % from another GPU’s',
    ],
    [
      'curves of the GPU',
      all(oneGpu, totals({ basis: { measured: 0.9, transferred: 0.004, assumed: 0.096 } })),
      '170 µs | 120 µs to 240 µs, forward 20.0 µs, backward 40.0 µs, update 30.0 µs, 90 % of kernel time from this GPU’s curves',
    ],
    [
      'curves of another GPU',
      all(oneGpu, totals({ basis: { measured: 0.004, transferred: 0.5, assumed: 0.496 } })),
      '170 µs | 120 µs to 240 µs, forward 20.0 µs, backward 40.0 µs, update 30.0 µs, 50 % of kernel time from another GPU’s curves',
    ],
    [
      'no curves',
      all(oneGpu, totals({ basis: { measured: 0, transferred: 0, assumed: 1 } })),
      '170 µs | 120 µs to 240 µs, forward 20.0 µs, backward 40.0 µs, update 30.0 µs, kernel time from a roofline',
    ],
    // Unknown input makes the step a bound, and none of its parts.
    [
      'a step that is a bound alone',
      all(oneGpu, time({ exact: false })),
      '≥ 170 µs | forward 20.0 µs, backward 40.0 µs, update 30.0 µs',
    ],
  ],
  input: [
    ['not described', same, undefined],
    [
      'described',
      all(
        time({ input: 50e-6 }),
        totals({
          input: {
            storage: 12e-6,
            decoding: 40e-6,
            copying: 3e-6,
            slowest: 'decoding',
            unknown: [],
            undescribed: [],
          },
        }),
      ),
      '50.0 µs | read in 12.0 µs, decoded in 40.0 µs, copied in 3.00 µs',
    ],
    [
      'described in part',
      all(
        time({ input: 3e-6 }),
        totals({
          input: {
            storage: null,
            decoding: null,
            copying: 3e-6,
            slowest: 'copying',
            unknown: ['no disk'],
            undescribed: ['decoding'],
          },
        }),
      ),
      '≥ 3.00 µs | copied in 3.00 µs, unknown: no disk, not described: decoding',
    ],
  ],
  throughput: [
    ['samples', same, '188,235 samples/s | weak scaling efficiency 53 %, MFU 14 %'],
    ['unknown', totals({ throughput: null }), '? | weak scaling efficiency 53 %, MFU 14 %'],
    ['one GPU', scenario({ gpus: 1 }), '188,235 samples/s | MFU 14 %'],
    [
      'tokens too',
      all(scenario({ gpus: 1 }), totals({ tokenThroughput: 2000 })),
      '188,235 samples/s | 2,000 tokens/s, MFU 14 %',
    ],
    [
      'unknown tokens',
      all(scenario({ gpus: 1 }), totals({ tokenThroughput: null })),
      '188,235 samples/s | MFU 14 %',
    ],
    [
      'why it is over 1',
      totals({ efficiencyNotes: ['one GPU computes in fp32'] }),
      '188,235 samples/s | weak scaling efficiency 53 %, one GPU computes in fp32, MFU 14 %',
    ],
    [
      'of a given global batch',
      totals({ strongScalingEfficiency: 0.25 }),
      '188,235 samples/s | weak scaling efficiency 53 %, strong scaling efficiency 25 % (one GPU takes the whole batch), MFU 14 %',
    ],
    [
      'asynchronous',
      totals({ asynchronous: { staleness: 7, bound: 'worker', saturatesAt: null } }),
      '188,235 samples/s | weak scaling efficiency 53 %, asynchronous, 7 updates stale on average, MFU 14 %',
    ],
    // The first whole number of GPUs from there on.
    [
      'asynchronous with servers',
      totals({ asynchronous: { staleness: 7, bound: 'server', saturatesAt: 15.2 } }),
      '188,235 samples/s | weak scaling efficiency 53 %, asynchronous, 7 updates stale on average, servers saturated from 16 GPUs, MFU 14 %',
    ],
  ],
  run: [
    ['no run', same, undefined],
    [
      'with its price',
      totals({
        run: {
          steps: 90_000,
          initialisation: 20,
          loading: null,
          time: 7200,
          price: 12.5,
          energy: null,
          exact: true,
        },
      }),
      '2.0 hours | 90,000 steps, 20.0 s before the first, $12.50',
    ],
    [
      'without price or initialisation',
      totals({
        run: {
          steps: 1000,
          initialisation: null,
          loading: null,
          time: 7200,
          price: null,
          energy: null,
          exact: false,
        },
      }),
      '≥ 2.0 hours | 1,000 steps, without initialisation, which is unknown',
    ],
    [
      'of steps that are a bound',
      all(
        time({ exact: false }),
        totals({
          run: {
            steps: 1000,
            initialisation: 20,
            loading: null,
            time: 7200,
            price: 12.5,
            energy: null,
            exact: true,
          },
        }),
      ),
      '≥ 2.0 hours | 1,000 steps, 20.0 s before the first, ≥ $12.50',
    ],
  ],
  energy: [
    ['no run', same, undefined],
    [
      'none known',
      totals({
        run: { steps: 1, initialisation: 0, loading: null, time: 1, price: null, energy: null, exact: true },
      }),
      undefined,
    ],
    // 400 W · 0.9 · 1.2 · 8 GPUs · 7,200 s.
    [
      'of a run',
      totals({
        run: {
          steps: 1,
          initialisation: 0,
          loading: null,
          time: 7200,
          price: null,
          energy: { atMost: 24_883_200, boardPower: 400, utilisation: 0.9, pue: 1.2 },
          exact: true,
        },
      }),
      '≤ 6.91 kWh | upper estimate for the GPUs: 400 W of a GPU × 90 % busy × PUE 1.20; hosts and network are not in it',
    ],
    [
      'without its start',
      totals({
        run: {
          steps: 1,
          initialisation: null,
          loading: null,
          time: 7200,
          price: null,
          energy: { atMost: 24_883_200, boardPower: 400, utilisation: 0.9, pue: 1.2 },
          exact: false,
        },
      }),
      '≤ 6.91 kWh | upper estimate for the GPUs: 400 W of a GPU × 90 % busy × PUE 1.20, without the initialisation; hosts and network are not in it',
    ],
  ],
  memory: [
    [
      'all of it',
      same,
      '576 MiB | of 40.0 GiB, driver and framework 512 MiB, tensors 64.0 MiB at the peak in update: parameters 9.01 MiB, gradients 9.01 MiB, optimizer 18.0 MiB, activations 0 B, workspace 3.00 MiB, communication buffers 25.0 MiB',
    ],
    [
      'at a layer, in inference, without buffers',
      all(
        scenario({ mode: 'inference' }),
        peakAt({ phase: 'forward', layer: '/fc', communicationBuffers: 0 }),
      ),
      '576 MiB | of 40.0 GiB, driver and framework 512 MiB, tensors 64.0 MiB at the peak in forward at /fc: parameters 9.01 MiB, activations 0 B, workspace 3.00 MiB',
    ],
    [
      'with a cache',
      all(
        scenario({ mode: 'inference' }),
        peakAt({ communicationBuffers: 0, activations: 4 * 2 ** 20 }),
        memory({ cache: 2 ** 20 }),
      ),
      '576 MiB | of 40.0 GiB, driver and framework 512 MiB, tensors 64.0 MiB at the peak in update: parameters 9.01 MiB, activations 4.00 MiB (cache 1.00 MiB of them), workspace 3.00 MiB',
    ],
    [
      'that no batch fits',
      memory({ largestBatch: 0, capacity: null, fits: 'no' }),
      'out of memory: 576 MiB | of unknown capacity, driver and framework 512 MiB, no batch fits, tensors 64.0 MiB at the peak in update: parameters 9.01 MiB, gradients 9.01 MiB, optimizer 18.0 MiB, activations 0 B, workspace 3.00 MiB, communication buffers 25.0 MiB',
    ],
    [
      'and the largest batch',
      memory({ largestBatch: 48 }),
      '576 MiB | of 40.0 GiB, driver and framework 512 MiB, fits up to about batch 48, tensors 64.0 MiB at the peak in update: parameters 9.01 MiB, gradients 9.01 MiB, optimizer 18.0 MiB, activations 0 B, workspace 3.00 MiB, communication buffers 25.0 MiB',
    ],
  ],
  FLOPs: [
    ['training', same, '7.25 GFLOP | forward 2.42 GFLOP, backward 4.83 GFLOP per GPU'],
    [
      'inference',
      all(scenario({ mode: 'inference' }), totals({ flops: { forward: 2.416e9, backward: 0 } })),
      '2.42 GFLOP | forward 2.42 GFLOP per GPU',
    ],
  ],
};

describe.each(Object.entries(rows))('%s', (name, cases) => {
  test.each(cases)('%s', (_, change, text) => {
    expect(rowOf(change(known), name)).toBe(text);
  });
});

// Tensors of 64 MiB: what the allocator adds is told from half of the GPU to all of it.
test.each([
  [2 * 67_158_016, false],
  [2 * 67_158_016 - 2, true],
  [67_158_016, true],
  [67_158_016 - 1, false],
])('of %d bytes, what is reserved is told: %s', (capacity, isTold) => {
  const told = rowOf(memory({ capacity })(known), 'memory') ?? '';
  expect(/574 MiB to 2\.61 GiB, reserved 76\.9 MiB/.test(told)).toBe(isTold);
  expect(rowOf(all(memory({ capacity }), totals({ exact: false }))(known), 'memory')).not.toContain(
    'reserved',
  );
});

const parallel: NonNullable<Report['parallel']> = {
  replicas: 2,
  microBatches: 8,
  bubble: 17e-6,
  tensorCommunication: 34e-6,
  contextCommunication: 51e-6,
  expertCommunication: 68e-6,
  stages: [
    {
      rank: 0,
      first: 'embed',
      last: 'h.0',
      forward: 1e-3,
      backward: 2e-3,
      parameters: 1500,
      alive: 2,
      peak: 2 ** 30,
      sent: 2 ** 20,
    },
    {
      rank: 1,
      first: 'h.1',
      last: 'head',
      forward: 3e-3,
      backward: 4e-3,
      parameters: 2500,
      alive: 1,
      peak: 2 ** 29,
      sent: 0,
    },
  ],
  collectives: [],
  whole: [],
};
const laidOut =
  (asked: Partial<NonNullable<Report['scenario']['parallel']>>, of: Partial<typeof parallel> = {}): Change =>
  (report) => ({
    ...scenario({ parallel: { ...oneWorker, ...asked } })(report),
    parallel: { ...parallel, ...of },
  });

describe('a layout', () => {
  test.each<[string, Change, string]>([
    ['of replicas alone', laidOut({}), 'tp 1 pp 1 dp 2 | 8 micro-batches'],
    ['of one micro-batch', laidOut({}, { microBatches: 1 }), 'tp 1 pp 1 dp 2 | 1 micro-batch'],
    [
      'of tensors',
      laidOut({ tensor: 4, sequence: true }),
      'tp 4 sp pp 1 dp 2 | 8 micro-batches, collectives of tensor parallelism 34.0 µs (20 % of the step)',
    ],
    [
      'of sequences',
      laidOut({ context: 2 }),
      'tp 1 cp 2 pp 1 dp 2 | 8 micro-batches, exposed context parallelism 51.0 µs (30 % of the step)',
    ],
    [
      'of experts',
      laidOut({ expert: 2 }),
      'tp 1 pp 1 dp 2 ep 2 | 8 micro-batches, all-to-alls of experts 68.0 µs (40 % of the step)',
    ],
    [
      'of stages',
      laidOut({ pipeline: 2 }),
      'tp 1 pp 2 dp 2 | 8 micro-batches, 1f1b, pipeline bubble 17.0 µs (10 % of the step)',
    ],
    [
      'of several stages a rank',
      laidOut({ pipeline: 2, chunks: 2, schedule: 'interleaved-1f1b' }),
      'tp 1 pp 2 vp 2 dp 2 | 8 micro-batches, interleaved-1f1b, pipeline bubble 17.0 µs (10 % of the step)',
    ],
    [
      'of a step that is unknown',
      all(laidOut({ expert: 2 }), time({ step: null })),
      'tp 1 pp 1 dp 2 ep 2 | 8 micro-batches, all-to-alls of experts 68.0 µs',
    ],
    [
      'with a layer that is whole',
      laidOut({ tensor: 4 }, { whole: [{ layer: 'head', share: 0.05, reason: '3 columns' }] }),
      'tp 4 pp 1 dp 2 | 8 micro-batches, collectives of tensor parallelism 34.0 µs (20 % of the step), not split: 1 layer, largest `head` with 5.0 % of forward FLOPs (3 columns)',
    ],
  ])('%s', (_, change, text) => {
    expect(rowOf(change(known), 'layout')).toBe(text);
  });

  test('has a row for each stage of a pipeline, and takes the place of scaling efficiencies', () => {
    const one = laidOut({ pipeline: 2 })(known);
    expect([rowOf(one, 'stage 1'), rowOf(one, 'stage 2'), rowOf(one, 'stage 3')]).toEqual([
      '1.50 GiB | `embed` to `h.0`, 1.50 k parameters, forward 1.00 ms, backward 2.00 ms, 2 micro-batches alive, sends 1.00 MiB',
      '1.00 GiB | `h.1` to `head`, 2.50 k parameters, forward 3.00 ms, backward 4.00 ms, 1 micro-batch alive',
      undefined,
    ]);
    expect(rowOf(one, 'throughput')).toBe('188,235 samples/s | MFU 14 %');
    const interleaved = laidOut({ pipeline: 2, chunks: 2, schedule: 'interleaved-1f1b' })(known);
    expect(rowOf(interleaved, 'stage 2')).toMatch(/^1\.00 GiB \| rank 2, `h\.1` to/);
    expect(rowOf(laidOut({})(known), 'stage 1')).toBeUndefined();
    expect(rowOf(known, 'layout')).toBeUndefined();
  });
});

describe('a decode step', () => {
  const decoding: NonNullable<Report['decoding']> = {
    past: 4096,
    prefill: { tokens: 4096, time: 0.25, range: [0.2, 0.3] },
    bytesPerToken: 128 * 1024,
    cache: 2 ** 31,
    fixed: 0,
    largestBatch: null,
    longestContext: null,
  };
  const decode =
    (change: Partial<typeof decoding> = {}): Change =>
    (report) => ({
      ...scenario({ mode: 'inference', gpus: 1 })(report),
      decoding: { ...decoding, ...change },
    });
  test.each<[string, string, Change, string]>([
    [
      'the step',
      'decode',
      decode(),
      '4 × 1 token | after 4,096 tokens, in one step; one replica per GPU, no continuous batching',
    ],
    [
      'tokens are its throughput, said once',
      'throughput',
      all(totals({ tokenThroughput: 2000 }), decode()),
      '188,235 tokens/s | MFU 14 %',
    ],
    ['the prompt', 'prefill', decode(), '250 ms | 200 ms to 300 ms, 4 sequences of 4,096 tokens'],
    [
      'one prompt',
      'prefill',
      all(decode(), scenario({ batchPerGpu: 1 })),
      '250 ms | 200 ms to 300 ms, one sequence of 4,096 tokens',
    ],
    [
      'a prompt without tokens',
      'prefill',
      decode({ prefill: { tokens: null, time: 0.25, range: null } }),
      '250 ms | 4 sequences',
    ],
    [
      'a prompt of unknown time',
      'prefill',
      decode({ prefill: { tokens: 1, time: null, range: null } }),
      '? | 4 sequences of 1 token',
    ],
    ['the cache', 'cache', decode(), '2.00 GiB | 128 KiB per token of a sequence, fits at any context'],
    [
      'a cache with limits',
      'cache',
      decode({ fixed: 2 ** 20, largestBatch: 32, longestContext: 65_536 }),
      '2.00 GiB | 128 KiB per token of a sequence, 1.00 MiB of it of another sequence, fits up to batch 32 at this context, up to 65,536 tokens at this batch',
    ],
  ])('%s', (_, name, change, text) => {
    expect(rowOf(change(known), name)).toBe(text);
  });
});

describe('parameters', () => {
  const model =
    (change: Partial<Report['model']>): Change =>
    (report) => ({ ...report, model: { ...report.model, ...change } });
  test.each<[string, Change, string]>([
    ['of an exported graph', same, '2,362,368 parameters, all taken as trained'],
    ['of ONNX text', model({ format: 'onnx-text' }), '2,362,368 parameters, all taken as trained'],
    ['of a layer spec', model({ format: 'layer-spec' }), '2,362,368 parameters'],
    ['in inference', scenario({ mode: 'inference' }), '2,362,368 parameters'],
    [
      'some of which are frozen',
      model({ format: 'layer-spec', frozenParameters: 1024 }),
      '2,362,368 parameters trained and 1,024 frozen',
    ],
  ])('%s', (_, change, text) => {
    expect(describeParameters(change(known))).toBe(text);
  });

  test('of one operator in one layer', () => {
    const [layer] = known.layers;
    const one = { ...model({ operators: 1 })(known), layers: layer === undefined ? [] : [layer] };
    expect(describeModel(one)).toBe(
      'tiny (onnx): 2,362,368 parameters, all taken as trained, 1 operator in 1 layer',
    );
  });
});
