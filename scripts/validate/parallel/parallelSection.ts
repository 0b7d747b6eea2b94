/** The part of `docs/ACCURACY.md` about GPUs that share a copy of a model. */

import { statisticsOf } from '../judge.ts';
import { percent } from '../percent.ts';
import type { ParallelRow } from './parallelRows.ts';

interface Judged {
  readonly rows: readonly ParallelRow[];
  /** Of the table, the rows that were left out among them. */
  readonly all: number;
}

/** Nothing where the tables are absent. */
export function parallelSection(nanotron: Judged | undefined, megatron: Judged | undefined): string {
  if (nanotron === undefined || megatron === undefined) return '';
  const least = (share: number): readonly ParallelRow[] =>
    nanotron.rows.filter(({ row }) => Number(row.mfu_percent_as_published) >= 100 * share);
  return `
## GPUs that share a copy of a model

Tensor, sequence and pipeline parallelism by default settings. Nothing was fitted to these rows.

| data | rows | mean | median | p90 | median ratio | memory, mean | memory, median ratio |
| --- | --: | --: | --: | --: | --: | --: | --: |
${[
  lineOf(`nanotron 1B, 3B, 8B on 8 to 512 H100, MFU of 20 % or more`, least(0.2)),
  lineOf(`nanotron, MFU of 10 % or more`, least(0.1)),
  lineOf(`nanotron, all layouts`, nanotron.rows),
  lineOf('Megatron-LM 2021 and 2022, full recomputation', megatron.rows),
  lineOf(
    'of these, interleaved',
    megatron.rows.filter(({ row }) => row.vp !== '1'),
  ),
].join('\n')}

- nanotron: every eighth of ${nanotron.all} layouts. Its rows of few per cent MFU are mostly of pipelines and of tensor parallelism
  with many micro-batches. Some take eighty times as long as nearly the same layout on twice as many GPUs, which no kernel or
  message explains: those steps are predicted far too fast.
- nanotron does not tell whether its collectives were all-reduces or those of sequence parallelism, nor its schedule; the
  defaults of its code are taken. That it keeps what is gathered for a product was seen in its memory: as PyTorch does.
- What a planner would lose by these predictions, over all ${nanotron.all} layouts (\`npm run validate -- --layouts\`): in 12 cells of one to
  eight nodes the layout that is predicted fastest takes 0 to 2.7 % longer than the fastest, but in one of them 172 %. In 9 cells of
  16 to 64 nodes it takes 69 % longer on average: between so many nodes that cluster was slower than the same machines alone.
- Megatron-LM: ${megatron.rows.length} of ${megatron.all} rows. Its kernels of softmax, dropout and GELU are fused by hand, which eager PyTorch's are
  not: steps are predicted too slow. A recomputation of the core of attention alone is not costed.
`;
}

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
