/** Several curves of one model as tables, and a curve as numbers to be drawn: all cells, by value. */

import { describe, expect, test } from 'vitest';
import { scalingMarks } from '../../../server/src/estimate/figures/scalingMarks.ts';
import {
  renderScalingCsv,
  renderScalingMarkdown,
  renderScalingTable,
} from '../../../server/src/estimate/scaling/renderScaling.ts';
import type { Scaling } from '../../../server/src/estimate/scaling/scaleJob.ts';
import { limitText, missingText, shortLimitText } from '../../../server/src/estimate/scaling/scalingCells.ts';
import type { ScalingPoint } from '../../../server/src/estimate/scaling/scalingCurve.ts';
import {
  renderOverlayCsv,
  renderOverlayJson,
  renderOverlayMarkdown,
  renderOverlayTable,
  type ScalingCurve,
  titleOfCurve,
} from '../../../server/src/estimate/scaling/scalingOverlay.ts';
import type { StepLimit } from '../../../server/src/model/stepCost.ts';
import { seconds } from '../../../server/src/model/units.ts';
import { scalingPoint } from '../../support/scalingPoint.ts';

const scaling = (points: readonly ScalingPoint[], changes: Partial<Scaling> = {}): Scaling => ({
  name: 'm',
  job: 'dgx-a100: batch 4 per GPU',
  isStrong: false,
  device: 'GPU',
  notes: [],
  points,
  missing: [],
  issues: [],
  ...changes,
});

const limits: readonly (readonly [StepLimit['kind'], string, string])[] = [
  ['compute', 'compute', 'compute'],
  ['host', 'host launches, 10 % of the step', 'launches, 10 %'],
  ['input', 'input, 10 % of the step', 'input, 10 %'],
  ['latency', 'message start-up, 10 % of the step', 'start-up, 10 %'],
  ['communication', 'message bandwidth, 10 % of the step', 'bandwidth, 10 %'],
  ['server', 'parameter servers, 10 % of the step', 'servers, 10 %'],
  ['imbalance', 'slowest worker, 10 % of the step', 'slowest worker, 10 %'],
  ['pipeline', 'pipeline bubble, 10 % of the step', 'bubble, 10 %'],
];
test.each(limits)('limited by %s', (kind, long, short) => {
  const limited = scalingPoint(8, { limit: { kind, share: 0.1 } });
  expect([limitText(limited), shortLimitText(limited)]).toEqual([long, short]);
  expect(limitText({ ...limited, exact: false })).toBe('?');
});

describe('columns', () => {
  test('of a batch that all share say what each GPU takes, and how much faster all are', () => {
    const shared = scaling(
      [
        scalingPoint(1, { speedup: 1 }),
        scalingPoint(8, { batchPerGpu: 1, speedup: 7.25 }),
        scalingPoint(16, { speedup: null, scalingEfficiency: null }),
      ],
      { isStrong: true },
    );
    const [head, ...rows] = renderScalingTable(shared).split('\n');
    expect(head?.split(/ {2,}/)).toEqual([
      'GPUs',
      'nodes',
      'batch per GPU',
      'step',
      'range',
      'communication',
      'exposed',
      'throughput',
      'speed-up',
      'strong efficiency',
      'memory',
      'limit',
    ]);
    expect(rows.slice(0, 3).map((row) => row.trim().split(/ {2,}/))).toEqual([
      [
        '1',
        '1',
        '4',
        '100 ms',
        '80.0 ms to 125 ms',
        '20.0 ms',
        '10.0 ms',
        '40.0 samples/s',
        '1.00 ×',
        '90 %',
        '1.00 GiB',
        'parameter servers, 10 % of the step',
      ],
      [
        '8',
        '1',
        '1',
        '100 ms',
        '80.0 ms to 125 ms',
        '20.0 ms',
        '10.0 ms',
        '320 samples/s',
        '7.25 ×',
        '90 %',
        '1.00 GiB',
        'parameter servers, 10 % of the step',
      ],
      [
        '16',
        '2',
        '4',
        '100 ms',
        '80.0 ms to 125 ms',
        '20.0 ms',
        '10.0 ms',
        '640 samples/s',
        '?',
        '?',
        '1.00 GiB',
        'parameter servers, 10 % of the step',
      ],
    ]);
  });

  test('of a run stand where one point has it', () => {
    const run = scaling([
      scalingPoint(1, { runTime: seconds(7200), runPrice: 12.5 }),
      scalingPoint(8, { runTime: seconds(3600), runPrice: 50, runExact: false }),
      scalingPoint(16),
    ]);
    const [head, ...rows] = renderScalingTable(run).split('\n');
    expect(head).toMatch(/ {2}run {2,}price {2}limit$/);
    expect(rows.slice(0, 3).map((row) => row.trim().split(/ {2,}/).slice(9, 11))).toEqual([
      ['2.0 hours', '$12.50'],
      ['≥ 60.0 minutes', '≥ $50.00'],
      ['?', '?'],
    ]);
    const timed = scaling([scalingPoint(1, { runTime: seconds(7200) })]);
    expect(renderScalingTable(timed).split('\n')[0]).toMatch(/ {2}run {2}limit$/);
  });

  test('of what is unknown', () => {
    const unknown = scaling([
      scalingPoint(8, {
        communication: null,
        exposedCommunication: null,
        memoryExact: false,
        throughput: null,
        exact: false,
      }),
      scalingPoint(8, { memoryExact: false, fits: null }),
    ]);
    // What is unknown is no bound.
    const rows = renderScalingTable(unknown).split('\n').slice(1, 3);
    expect(rows.map((row) => row.trim().split(/ {2,}/))).toEqual([
      ['8', '1', '≥ 100 ms', '80.0 ms to 125 ms', '?', '?', '?', '90 %', '≥ 1.00 GiB', '?'],
      [
        '8',
        '1',
        '100 ms',
        '80.0 ms to 125 ms',
        '≥ 20.0 ms',
        '10.0 ms',
        '320 samples/s',
        '90 %',
        '≥ 1.00 GiB',
        'parameter servers, 10 % of the step',
      ],
    ]);
  });
});

test.each([
  [[], ''],
  [[1], '1 GPU could not be costed: why; more'],
  [[12], '12 GPUs could not be costed: why; more'],
  [[12, 20], '12 and 20 GPUs could not be costed: why; more'],
  [[3, 12, 20], '3, 12 and 20 GPUs could not be costed: why; more'],
])('missing %j: %s', (missing, text) => {
  const issues = (['error', 'warning', 'error'] as const).map((severity, index) => ({
    code: 'scenario/invalid' as const,
    severity,
    message: ['why', 'a warning', 'more'][index] ?? '',
  }));
  expect(missingText(scaling([], { missing, issues }))).toBe(text);
});

test('Markdown has a bar of ten blocks, and notes as sentences of their own', () => {
  const bars = [null, -0.1, 0, 0.04, 0.06, 0.5, 1, 1.3].map((scalingEfficiency) =>
    scalingPoint(8, { scalingEfficiency }),
  );
  const lines = renderScalingMarkdown(scaling(bars, { notes: ['With 8 GPUs so', 'and *so*'] })).split('\n');
  expect(lines.slice(0, 6)).toEqual([
    '# m: scaling',
    '',
    'dgx-a100: batch 4 per GPU.',
    '',
    '| GPUs | step | throughput | weak\u00a0efficiency |  | limit | exposed | memory | range |',
    '|--:|--:|--:|--:|---|---|--:|--:|--:|',
  ]);
  expect(lines.slice(6, 14).map((line) => line.split(' | ')[4]?.trim())).toEqual([
    '',
    '',
    '',
    '',
    '█',
    '█████',
    '██████████',
    '██████████',
  ]);
  expect(lines.slice(14)).toEqual(['', 'With 8 GPUs so.', '', 'and \\*so\\*.', '']);
});

test('comma-separated values, column by column', () => {
  const rows = [
    scalingPoint(8, { runTime: seconds(60), runPrice: 2 }),
    scalingPoint(16, { step: null, stepRange: null, exact: false, fits: null }),
  ];
  expect(renderScalingCsv(scaling(rows)).split('\r\n')).toEqual([
    'gpus,nodes,batch_per_gpu,step_s,step_low_s,step_high_s,communication_s,exposed_communication_s,throughput_per_s,scaling_efficiency,scaling,speedup,memory_bytes,fits,limit,limit_share,run_s,run_usd,exact',
    '8,1,4,0.1,0.08,0.125,0.02,0.01,320,0.9,weak,7.2,1073741824,yes,server,0.1,60,2,true',
    '16,2,4,,,,0.02,0.01,640,0.9,weak,14.4,1073741824,,server,0.1,,,false',
    '',
  ]);
});

test('marks of a drawing: a longer step is a lower rate, and what does not fit says so', () => {
  const mark = {
    gpus: 8,
    throughput: 320,
    // 320 · 0.1 / 0.125 and / 0.08.
    throughputRange: [256, 400],
    efficiency: 0.9,
    limit: 'parameter servers, 10 % of the step',
    fits: true,
  };
  const of = (changes: Partial<ScalingPoint>) => scalingMarks([scalingPoint(8, changes)])[0];
  expect(of({})).toEqual(mark);
  expect(of({ fits: 'no' })).toEqual({ ...mark, fits: false, limit: `out of memory; ${mark.limit}` });
  expect([of({ fits: 'may' })?.fits, of({ fits: null })?.fits]).toEqual([true, true]);
  expect(of({ throughput: null })).toEqual({ ...mark, throughput: null, throughputRange: null });
  expect(of({ step: null })?.throughputRange).toBeNull();
  expect(of({ stepRange: null })?.throughputRange).toBeNull();
});

describe('several curves', () => {
  const curves: readonly ScalingCurve[] = [
    {
      values: { cluster: 'dgx-a100' },
      scaling: scaling([scalingPoint(1), scalingPoint(8)], { notes: ['a *note*'] }),
    },
    {
      values: { cluster: 'k80-10gbe', framework: 'horovod' },
      scaling: scaling([scalingPoint(8, { runTime: seconds(60) })], { missing: [16] }),
    },
  ];

  test('are told apart by what differs', () => {
    expect(curves.map(titleOfCurve)).toEqual(['dgx-a100', 'k80-10gbe, horovod']);
  });

  test('as a table', () => {
    const lines = renderOverlayTable(curves).split('\n');
    expect(lines[0]?.split(/ {2,}/)).toEqual([
      'cluster',
      'framework',
      'GPUs',
      'nodes',
      'step',
      'range',
      'communication',
      'exposed',
      'throughput',
      'weak efficiency',
      'memory',
      'run',
      'limit',
    ]);
    expect(lines[1]).toMatch(/^dgx-a100 {3,}1 {2,}1 {2,}100 ms .* {2,}\? {2}parameter servers/);
    expect(lines[3]).toMatch(/^k80-10gbe {2}horovod {3,}8 .* 1\.00 min {2}parameter servers/);
    expect(lines.slice(4)).toEqual([
      '',
      'dgx-a100: a *note*',
      '',
      'k80-10gbe, horovod: 16 GPUs could not be costed: ',
      '',
    ]);
  });

  test('as Markdown', () => {
    const lines = renderOverlayMarkdown(curves).split('\n');
    expect(lines.slice(0, 4)).toEqual([
      '# m: scaling',
      '',
      '| cluster | framework | GPUs | nodes | step | exposed | throughput | weak\u00a0efficiency | memory | run | limit |',
      '|---|---|--:|--:|--:|--:|--:|--:|--:|--:|---|',
    ]);
    expect(lines[4]).toMatch(/^\| dgx-a100 \| {2}\| 1 \| 1 \| 100\u00a0ms \| 10\.0\u00a0ms \|/);
    expect(lines.slice(7)).toEqual([
      '',
      'dgx-a100: a \\*note\\*',
      '',
      'k80-10gbe, horovod: 16 GPUs could not be costed: ',
      '',
    ]);
    expect(renderOverlayMarkdown([]).split('\n')[0]).toBe('# : scaling');
  });

  test('as comma-separated values', () => {
    const lines = renderOverlayCsv(curves).split('\r\n');
    expect(lines[0]).toMatch(/^cluster,framework,gpus,nodes,/);
    expect(lines.slice(1).map((line) => line.split(',').slice(0, 4).join())).toEqual([
      'dgx-a100,,1,1',
      'dgx-a100,,8,1',
      'k80-10gbe,horovod,8,1',
      '',
    ]);
  });

  test('as JSON', () => {
    const [first, second] = JSON.parse(renderOverlayJson(curves));
    expect([first.scenario, first.points.length]).toEqual([{ cluster: 'dgx-a100' }, 2]);
    expect([second.scenario, second.points[0].gpus]).toEqual([
      { cluster: 'k80-10gbe', framework: 'horovod' },
      8,
    ]);
  });
});
