/** The part of `docs/ACCURACY.md` about GPUs that share a copy of a model. */

import { statisticsOf } from '../judge.ts';
import { percent } from '../percent.ts';
import type { JudgedNanotron } from './judgeNanotron.ts';
import type { ParallelRow } from './parallelRow.ts';

interface Judged {
  readonly rows: readonly ParallelRow[];
  /** Of the table, the rows that were left out among them. */
  readonly all: number;
}

/** Nothing where the tables are absent. */
export function parallelSection(nanotron: JudgedNanotron | undefined, megatron: Judged | undefined): string {
  if (nanotron === undefined || megatron === undefined) return '';
  return `
## GPUs that share a copy of a model

Tensor, sequence and pipeline parallelism. By default settings nothing was fitted to these rows.

| data | rows | mean | median | p90 | median ratio | memory, mean | memory, median ratio |
| --- | --: | --: | --: | --: | --: | --: | --: |
${[
  ...nanotronLines('nanotron 1B, 3B, 8B on 8 to 512 H100', nanotron.usual),
  ...nanotronLines('with the cluster of the study and fitted times of the host', nanotron.fitted),
  lineOf('Megatron-LM 2021 and 2022, full recomputation', megatron.rows),
  lineOf(
    'of these, interleaved',
    megatron.rows.filter(({ row }) => row.vp !== '1'),
  ),
].join('\n')}

- nanotron: every eighth of ${nanotron.all} layouts. Its code is the source of what it sends, when, and where it cuts pipelines.
- The cluster of the study: the same source timed collectives of 256 MiB. A step between nodes of ${nanotron.latency} µs instead of 30 fits
  them best, so that is what these lines take.
- Times of the host: ${hostTimesText(nanotron)}. No source tells them. Each size of the model is judged with those that were fitted to the other two.
- In pipelines over several nodes a collective of tensor parallelism took the second time longer for each GPU of its group. In pipelines of one node
  and in most steps without a pipeline it did not. Where these groups span nodes, peaks of memory are lower too, as if tensors were gathered again
  for backward. The reason is not known.
- Some runs stood still for another reason, which nobody can foresee. ${unlikeText(nanotron)}
- What a planner would lose by these predictions, over all ${nanotron.all} layouts (\`npm run validate -- --layouts\`): by default
  settings the layout that is predicted fastest takes 48 % longer than the fastest, on average over 21 cells of a model and a number of
  nodes, and 496 % at worst. With the cluster of the study and fitted times it takes 45 % and 172 %. Orders correlate by 0.70 and 0.82.
  In 12 cells it then loses 2.7 % at most. In 6 it is a run that stood still, among them all three of 64 nodes.
- Megatron-LM: ${megatron.rows.length} of ${megatron.all} rows. Its kernels of softmax, dropout and GELU are fused by hand, which eager PyTorch's are
  not: steps are predicted too slow. A recomputation of the core of attention alone is not costed.
`;
}

function nanotronLines(title: string, rows: readonly ParallelRow[]): readonly string[] {
  const least = (share: number): readonly ParallelRow[] =>
    rows.filter(({ row }) => Number(row.mfu_percent_as_published) >= 100 * share);
  return [
    lineOf(`${title}, MFU of 20 % or more`, least(0.2)),
    lineOf(`${title}, MFU of 10 % or more`, least(0.1)),
    lineOf(`${title}, all layouts`, rows),
  ];
}

const hostTimesText = ({ hostTimes }: JudgedNanotron): string =>
  [...hostTimes]
    .map(
      ([model, { launch, callPerGpu }]) =>
        `${launch} µs for a launch and ${callPerGpu} µs for each GPU of a collective (${model})`,
    )
    .join(', ');

const unlikeText = ({ unlike }: JudgedNanotron): string =>
  unlike
    .map(({ pipelined, unlike: count, pairs }) =>
      pipelined
        ? `Of ${pairs} layouts with a pipeline that were run with and without ZeRO 1, ${count} took more than one and a half times as long in one of both runs.`
        : `Of ${pairs} without a pipeline ${count} did.`,
    )
    .join(' ');

function lineOf(title: string, rows: readonly ParallelRow[]): string {
  const time = statisticsOf(rows.map(({ predicted, measured }) => predicted / measured));
  const peaks = rows.flatMap(({ predictedPeak, measuredPeak }) =>
    measuredPeak === 0 ? [] : [predictedPeak / measuredPeak],
  );
  const memory = peaks.length === 0 ? undefined : statisticsOf(peaks);
  const cells = [
    title,
    rows.length,
    ...[time.mean, time.median, time.ninetieth].map(percent),
    time.middle.toFixed(2),
    memory === undefined ? '–' : percent(memory.mean),
    memory === undefined ? '–' : memory.middle.toFixed(2),
  ];
  return `| ${cells.join(' | ')} |`;
}
