/** What is known of the accuracy of predictions, as a table for a terminal and as a page. */

import type { DataSet } from './dataSets.ts';
import type { JudgedRow, Statistics } from './judge.ts';
import { type LayerEntry, layerSection } from './layerPage.ts';

export interface Entry extends Pick<DataSet, 'title' | 'file' | 'peer' | 'held'> {
  readonly target?: NonNullable<DataSet['target']> & { readonly ninetieth?: number };
  readonly rows: number;
  readonly left: number;
  readonly statistics: Statistics;
  readonly baseline: Statistics;
  /** Share of the measured steps that lie in the range given with the prediction. */
  readonly inRange: number | undefined;
}

/** Held-out errors of one class of kernel on one GPU. */
export interface KernelEntry {
  readonly kind: string;
  readonly gpus: number;
  readonly rows: number;
  /** [best, median, worst] of the GPUs' median errors on rows that were kept back. */
  readonly held: readonly [number, number, number];
  /** The same where each GPU is predicted by the curve of another one. */
  readonly transferred: readonly [number, number, number] | undefined;
}

export function accuracyTable(entries: readonly Entry[]): string {
  const head = 'rows (left)    mean  median     p90   worst    ±10 %   ±20 %  middle  baseline  in range';
  const width = Math.max(...entries.map(({ title }) => title.length));
  const lines = entries.map(
    ({ title, rows, left, statistics: s, baseline, inRange }) =>
      `${title.padEnd(width)}  ${`${rows} (${left})`.padStart(11)} ${[s.mean, s.median, s.ninetieth, s.worst, s.withinTen, s.withinTwenty].map((value) => percent(value).padStart(7)).join(' ')}  ${s.middle.toFixed(2).padStart(6)}   ${percent(baseline.mean).padStart(7)}   ${inRange === undefined ? '–' : percent(inRange)}`,
  );
  return [`${' '.repeat(width)}  ${head}`, ...lines].join('\n');
}

export const rowLines = (rows: readonly JudgedRow[]): readonly string[] =>
  rows.map(
    ({ row, predicted, measured }) =>
      `  ${[row.gpu, row.model, row.batch, row.precision, row.layout ?? ''].join(' ').padEnd(60)} ${milliseconds(predicted)} for ${milliseconds(measured)}  ${(predicted / measured).toFixed(2)}`,
  );

export function accuracyPage(
  entries: readonly Entry[],
  layers: readonly LayerEntry[],
  kernels: readonly KernelEntry[],
): string {
  return `# Accuracy

How far predicted times are from measured ones. Written by \`npm run validate\`; \`npm run validate -- --rows\` prints every row.
The measurements are others', published, and lie with their sources in \`measured/\`.

## Whole steps

Errors are |predicted / measured − 1|. *left*: rows that no graph expresses (compiled models, mixtures of experts whose
routing depends on the data, networks without a graph here, rows that contradict themselves). *middle*: median of
predicted / measured. *baseline*: mean error of FLOPs over the peak at one utilisation, which is fitted to the rows
themselves. *in range*: measured steps that lie in the range shown with the prediction, 80 % where ranges are right. A
range adds the edges of all kernels, as if all of them erred together: kernels of one kind share a curve and a clock, and
what is in range shows that errors of a step do not average out.

| data | rows | left | mean | median | p90 | worst | ±10 % | ±20 % | middle | baseline | in range | aim |
| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --- |
${entries.map(entryLine).join('\n')}

What was kept back from the fits, and what others publish of the same rows:

| data | held out | others |
| --- | --- | --- |
${entries.map(({ title, held, peer }) => `| ${title} | ${held} | ${peer} |`).join('\n')}

${layerSection(layers)}
## Single kernels

Median errors on the half of each GPU's rows that the fit has not seen: best, middle and worst GPU. *other GPU*: the same
rows predicted by the curve of another GPU, as it is for one that was never measured.

| kernels | GPUs | rows | held out: best, middle, worst GPU | other GPU |
| --- | --: | --: | --- | --- |
${kernels.map(kernelLine).join('\n')}

## Where it falls short

- NeuSight's training rows on A100 and MI210/MI250: the forward pass was measured 1.5 to 3 times slower than forward of
  the same model in inference (BERT-Large, GPT-3 2.7B, GPT-2 Large), beside a backward pass that agrees. No kernel
  explains this; the rows are kept as they are.
- Lambda's ResNet-50 on B200 (3,076 images/s in fp16, 2,967 in TF32) and GH200 waits for input, which is not modelled.
- AMD: no kernel was measured on AMD, so its times rest on curves of NVIDIA GPUs.
- P4 and T4 are held back by a power limit that depends on the work; one factor stands for it.
- cuDNN of the years of TensorFlow 1 on Kepler has no corrections of its own yet, and TITAN Xp and TITAN RTX of the
  torchvision rows waited for a slow host: one launch time for each machine stands for it.
- NVIDIA's BERT in fp16 runs its whole model in half precision (apex O2); it is costed as autocast, which keeps softmax
  and norms in fp32 and casts around them: too slow on cards with little bandwidth (RTX 3090, RTX 4090).
- BERT in TF32 on A100 and later is predicted 15 to 40 % too fast: no products in TF32 were measured, so they take the
  curve of half precision.
`;
}

function entryLine({ title, rows, left, statistics, baseline, inRange, target }: Entry): string {
  const { mean, median, ninetieth, worst, withinTen, withinTwenty, middle } = statistics;
  const cells = [
    title,
    rows,
    left,
    ...[mean, median, ninetieth, worst, withinTen, withinTwenty].map(percent),
    middle.toFixed(2),
    percent(baseline.mean),
    inRange === undefined ? '–' : percent(inRange),
    target === undefined ? '' : aimOf(target, statistics),
  ];
  return `| ${cells.join(' | ')} |`;
}

function aimOf(target: NonNullable<Entry['target']>, statistics: Statistics): string {
  const { statistic, most, ninetieth } = target;
  const reached =
    statistics[statistic] <= most && statistics.ninetieth <= (ninetieth ?? Number.POSITIVE_INFINITY);
  const aim = `${statistic} ≤ ${percent(most)}${ninetieth === undefined ? '' : `, p90 ≤ ${percent(ninetieth)}`}`;
  return `${aim}: ${reached ? 'reached' : 'not reached'}`;
}

function kernelLine({ kind, gpus, rows, held, transferred }: KernelEntry): string {
  const list = (values: readonly number[]): string => values.map(percent).join(', ');
  return `| ${kind} | ${gpus} | ${rows} | ${list(held)} | ${transferred === undefined ? '' : list(transferred)} |`;
}

const percent = (value: number): string => `${(100 * value).toFixed(1)} %`;
const milliseconds = (value: number): string => `${(value * 1e3).toFixed(1)} ms`.padStart(10);
