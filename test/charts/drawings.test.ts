/**
 * Drawings of plain numbers, each as it was looked at when it was drawn: its sentence, its table and every element. `--update`
 * writes them; a changed one is looked at again.
 */

import { expect, test } from 'vitest';
import type { Chart } from '../../server/src/charts/chart.ts';
import { icicleChart } from '../../server/src/charts/icicleChart.ts';
import { type MemoryMoment, memoryChart } from '../../server/src/charts/memoryChart.ts';
import { rankMemoryChart } from '../../server/src/charts/rankMemoryChart.ts';
import { rooflineChart } from '../../server/src/charts/rooflineChart.ts';
import { type ScalingMark, scalingChart } from '../../server/src/charts/scalingChart.ts';
import { type TimelineKind, timelineChart } from '../../server/src/charts/timelineChart.ts';

const gibibyte = 2 ** 30;

const moment = (time: number, activations: number): MemoryMoment => ({
  time,
  where: `backward at ${time} s`,
  runtime: 0.5 * gibibyte,
  parameters: gibibyte,
  state: 2 * gibibyte,
  buffers: 0,
  gradients: 0.25 * gibibyte,
  activations: activations * gibibyte,
  workspace: 0.125 * gibibyte,
});
const moments = [moment(0, 0), moment(0.5, 4), moment(0.5001, 3.9), moment(0.9, 1)];
const ranks = [
  { ...moment(0, 1), title: 'rank 1', where: 'forward at a' },
  { ...moment(0, 4.125), title: 'rank 2', where: 'backward at b' },
  { ...moment(0, 5), title: 'rank 3', where: 'update' },
];

const mark = (gpus: number, efficiency: number | null): ScalingMark => ({
  gpus,
  throughput: efficiency === null ? null : gpus * 100 * efficiency,
  throughputRange: efficiency === null ? null : [gpus * 80 * efficiency, gpus * 130 * efficiency],
  efficiency,
  limit: `limit of ${gpus}`,
  fits: gpus < 8,
});

const piece = (name: string, kind: TimelineKind, start: number, end: number) => ({ name, kind, start, end });
const lanes = [
  { title: 'host', segments: [piece('a', 'launch', 0.02, 0.1), piece('b', 'launch', 0.1, 0.15)] },
  {
    title: 'GPU',
    segments: [
      piece('a', 'forward', 0.02, 0.3),
      { ...piece('b', 'backward', 0.3, 0.7), idle: 0.3 },
      piece('', 'wait', 0.7, 0.8),
      piece('all', 'update', 0.8, 0.95),
    ],
  },
  {
    title: 'NCCL stream',
    segments: [
      piece('b', 'message', 0.5, 0.8),
      ...[0, 1, 2].map((at) => piece(`m${at}`, 'message', 0.9 + at / 5000, 0.9 + (at + 1) / 5000)),
    ],
  },
  { title: 'reading', segments: [piece('next', 'input', 0.1, 0.9)] },
];
const node = (name: string, value: number, children: readonly ReturnType<typeof leaf>[] = []) => ({
  name,
  value,
  layer: `${name}.0`,
  children,
});
const leaf = (name: string, value: number) => ({ name, value, layer: `${name}.0`, children: [] });

const drawings: Readonly<Record<string, Chart | undefined>> = {
  timeline: timelineChart({ lanes, from: 0.02, until: 1, pieces: 'layers', note: 'One of 8 GPUs.' }),
  'timeline-of-rank': timelineChart({
    lanes,
    from: 0,
    until: 1,
    pieces: 'micro-batches',
    summary: 'A rank.',
    note: '',
  }),
  'memory-near': memoryChart({ moments, until: 1, capacity: 8 * gibibyte }),
  'memory-far': memoryChart({ moments, until: 1, capacity: 80 * gibibyte }),
  'memory-unknown': memoryChart({ moments, until: 1, capacity: null }),
  // The second rank takes just what there is.
  'ranks-near': rankMemoryChart({ ranks, capacity: 8 * gibibyte, note: 'Ranks 4 to 8 are like rank 2.' }),
  'ranks-far': rankMemoryChart({ ranks, capacity: 80 * gibibyte, note: '' }),
  icicle: icicleChart({
    name: 'time',
    title: 'time of forward and backward',
    root: node('model', 10, [leaf('a', 6), leaf('b', 3.5), leaf('c', 0.5)]),
    textOf: (value) => `${value} s`,
  }),
  roofline: rooflineChart({
    gpu: 'a GPU',
    what: 'bf16 on tensor cores',
    peak: 1e15,
    bandwidth: 2e12,
    points: [
      { name: 'conv', intensity: 2000, rate: 6e14, share: 0.5, layer: 'conv' },
      { name: 'norm', intensity: 2, rate: 3e12, share: 0.3, layer: 'norm' },
      { name: 'at the ridge', intensity: 500, rate: 2e14, share: 0.2, layer: 'fc' },
    ],
  }),
  'scaling-weak': scalingChart(
    [{ title: '', marks: [mark(1, 1), mark(4, 0.8), mark(8, 0.7), mark(16, null)] }],
    false,
  ),
  'scaling-strong': scalingChart(
    [
      { title: 'first', marks: [mark(1, 1), mark(8, 0.7)] },
      { title: 'second', marks: [mark(2, 0.9), mark(4, 0.6)] },
    ],
    true,
  ),
};

test.each(Object.entries(drawings))('%s', async (name, chart) => {
  const { title, summary, svg, narrow = '', table } = chart ?? {};
  const rows = table === undefined ? [] : [table.columns, ...table.rows].map((row) => row.join(' | '));
  const text = [title, summary, ...rows, svg, narrow].join('\n');
  await expect(`${text}\n`).toMatchFileSnapshot(`drawings/${name}.txt`);
});
