/** What is said of single layers and kernels, data set by data set: a table for the page and for a terminal. */

import type { HeldRow } from '../calibrate/fit.ts';
import { baselineRatios, type Statistics, statisticsOf } from './judge.ts';
import type { JudgedLayers, LayerSet } from './layerSets.ts';
import { percent } from './percent.ts';

export interface LayerEntry {
  readonly title: string;
  readonly held: string;
  readonly peer: string;
  readonly rows: number;
  readonly left: number;
  readonly statistics: Statistics;
  readonly baseline: Statistics;
}

/** The aim of every one of these sets, for the median. */
export const layerAim = 0.2;

export function layerEntry({ title, held, peer }: LayerSet, { layers, left }: JudgedLayers): LayerEntry {
  return {
    title,
    held,
    peer,
    rows: layers.length,
    left,
    statistics: statisticsOf(layers.map(({ time, measured }) => time / measured)),
    baseline: statisticsOf(
      baselineRatios(
        layers.map(({ atPeak, atBandwidth, measured }) => ({
          atPeak: Math.max(atPeak, atBandwidth),
          measured,
        })),
      ),
    ),
  };
}

/** Kernels that the curves were fitted to, on the rows that the fits have not seen: one entry a source and kind. */
export function kernelEntries(held: readonly (HeldRow & { readonly kind: string })[]): readonly LayerEntry[] {
  return kernelSets.map(({ title, source, kinds, peer }) => {
    const rows = held.filter((row) => row.source === source && kinds.includes(row.kind));
    return {
      title,
      held: 'the half of the rows of each GPU that the fit has not seen',
      peer,
      rows: rows.length,
      left: 0,
      statistics: statisticsOf(rows.map(({ predicted, measured }) => predicted / measured)),
      baseline: statisticsOf(
        baselineRatios(rows.map(({ least, measured }) => ({ atPeak: least, measured }))),
      ),
    };
  });
}

const convolutions = ['convolution forward', 'convolution data', 'convolution weight'];

const kernelSets: readonly {
  readonly title: string;
  readonly source: string;
  readonly kinds: readonly string[];
  readonly peer: string;
}[] = [
  { title: 'DeepBench, products', source: 'deepbench', kinds: ['matmul', 'transposed matmul'], peer: '' },
  { title: 'DeepBench, convolutions', source: 'deepbench', kinds: convolutions, peer: '' },
  { title: 'NeuSight, products', source: 'neusight', kinds: ['matmul', 'transposed matmul'], peer: '' },
  { title: 'NeuSight, convolutions', source: 'neusight', kinds: convolutions, peer: '' },
  {
    title: 'NeuSight, memory-bound kernels',
    source: 'neusight',
    kinds: ['elementwise', 'softmax', 'normalization'],
    peer: '',
  },
];

export const layerTable = (entries: readonly LayerEntry[]): string =>
  entries
    .map(
      ({ title, rows, left, statistics: s, baseline }) =>
        `${title.padEnd(40)} ${`${rows} (${left})`.padStart(11)}  median ${percent(s.median).padStart(7)}  mean ${percent(s.mean).padStart(7)}  median ratio ${s.middle.toFixed(2)}  baseline ${percent(baseline.median)}`,
    )
    .join('\n');

export const layerSection = (entries: readonly LayerEntry[]): string => `## Single layers

Each pass of each layer or operator is a row. PipeDream's rows are forward and backward of a layer together.
*skipped*: rows without a predicted time (calls that create or convert tensors, operands of unknown shape). *baseline*:
median error of a roofline, max(FLOPs ÷ peak, bytes ÷ bandwidth), at one utilisation fitted to the rows themselves.

| data | rows | skipped | median | mean | p90 | ±10 % | ±20 % | median ratio | baseline | target |
| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --- |
${entries.map(entryLine).join('\n')}

| data | held out | others |
| --- | --- | --- |
${entries.map(({ title, held, peer }) => `| ${title} | ${held} | ${peer} |`).join('\n')}
`;

function entryLine({ title, rows, left, statistics, baseline }: LayerEntry): string {
  const { mean, median, ninetieth, withinTen, withinTwenty, middle } = statistics;
  const cells = [
    title,
    rows,
    left,
    ...[median, mean, ninetieth, withinTen, withinTwenty].map(percent),
    middle.toFixed(2),
    percent(baseline.median),
    `median ≤ ${percent(layerAim)}: ${median <= layerAim ? 'reached' : 'not reached'}`,
  ];
  return `| ${cells.join(' | ')} |`;
}
