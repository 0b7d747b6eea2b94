/** The part of `docs/ACCURACY.md` about GPUs that share a copy of a model. */

import { statisticsOf } from '../judge.ts';
import { percent } from '../percent.ts';
import type { JudgedActivations } from './activationMemory.ts';
import type { JudgedNanotron } from './judgeNanotron.ts';
import type { JudgedLayouts } from './layoutSet.ts';
import type { ParallelRow } from './parallelRow.ts';
import type { PublishedLayouts } from './publishedLayouts.ts';

interface Judged {
  readonly rows: readonly ParallelRow[];
  /** Of the table, the rows that were left out among them. */
  readonly all: number;
}

/** Nothing where the tables are absent. */
export function parallelSection(
  nanotron: JudgedNanotron | undefined,
  { usual: megatron, fused }: { readonly usual: Judged | undefined; readonly fused: Judged | undefined },
  published: PublishedLayouts | undefined,
): string {
  if (nanotron === undefined || megatron === undefined || fused === undefined || published === undefined)
    return '';
  return `
## GPUs that share a copy of a model

Tensor, sequence and pipeline parallelism. By default settings nothing was fitted to the rows that are judged.

| data | rows | mean | median | p90 | median ratio | memory, mean | memory, median ratio |
| --- | --: | --: | --: | --: | --: | --: | --: |
${[
  ...nanotronLines('nanotron 1B, 3B, 8B on 8 to 512 H100', nanotron.usual),
  ...nanotronLines('with the cluster of the study and fitted times of the host', nanotron.fitted),
  lineOf('Megatron-LM 2021 and 2022, full and selective recomputation', megatron.rows),
  lineOf(
    'of these, interleaved',
    megatron.rows.filter(({ row }) => row.vp !== '1'),
  ),
  lineOf('the same with `compile`, which fuses kernels much as Megatron-LM does by hand', fused.rows),
  ...published.sets.map(({ title, rows }) => lineOf(title, rows)),
].join('\n')}

- nanotron: every eighth of ${nanotron.all} layouts. Its code is the source of what it sends, when, and where it cuts pipelines.
- The cluster of the study: the same source timed collectives of 256 MiB. A step between nodes of ${nanotron.latency} µs instead of 30 fits
  them best, so that is what these lines take.
- Two times of the host are in no source. Each size of the model is judged with those that were fitted to the other two.
  ${hostTimesText(nanotron)}
- In pipelines over several nodes a collective of tensor parallelism took the second time longer for each GPU of its group. In pipelines of one node
  and in most steps without a pipeline it did not. Where these groups span nodes, peaks of memory are lower too, as if tensors were gathered again
  for backward. The reason is not known.
- Some runs stood still for another reason, which nobody can foresee. ${unlikeText(nanotron)}
- What a planner would lose by these predictions, over all ${nanotron.all} layouts (\`npm run validate -- --layouts\`): by default
  settings the layout that is predicted fastest takes 48 % longer than the fastest, on average over 21 cells of a model and a number of
  nodes, and 496 % at worst. With the cluster of the study and fitted times it takes 45 % and 172 %. Orders correlate by 0.70 and 0.82.
  In 12 cells it then loses 2.7 % at most. In 6 it is a run that stood still, among them all three of 64 nodes.
- Megatron-LM: ${megatron.rows.length} of ${megatron.all} rows. Kernels that it fuses by hand are costed as one where they
  are scale, mask and softmax, dropout with the residual, or a gate; steps are still predicted too slow.
${published.sets.map((set) => `- ${coverageText(set)}`).join('\n')}
- vTrain: half of its rows gave two times of the host of \`megatron\`, 65 µs for a launch and 4 ms for a batch, which releases until 2023
  wait for. Without the second the mean error was 12.3 %. Rows of Megatron-LM until 2022 are costed with \`torch=1.12\`, and gradients of fp16 in fp16.
- BLOOM: in Megatron-DeepSpeed, whose host waited for each kernel, as its chronicle says. Its cluster is not described; nodes with
  400 Gb/s stand for it. Rows in bf16, with sums of gradients in fp32, are those from its rebalancing of layers on.
- NVIDIA's recipes: of such a step 97 % are products. How long those take at the limit of power was measured on an H200 by themselves; no
  step was fitted to. MLPerf is of 2023, so that its products are those of an older cuBLAS, and it does not tell the chunks of its pipeline; those of the recipe are taken.
- torchtitan: by the releases of PyTorch of its months. Its H100 have 500 W and slower memory; their clock follows from the power by the rule that
  other boards of less power have, and nothing of it was fitted. FP8 is cast as torchao does, one scale for each
  tensor; until that was costed its rows stood out, so they are not wholly unseen. Context parallelism on 4 and
  8 GPUs and pipelines of 405B take a quarter to a half longer than predicted.
- Memory of torchtitan is what its allocator reserved on the GPU that printed. Pipelines of 405B are predicted at 0.62 to 0.88 of it. Which
  stage printed is unknown.
- Megatron Bridge: of the runs of a model on as many GPUs of a system in a precision the one of the newest container, 25.11 to 26.08. Expert
  parallelism was judged by none before; all-to-alls were then found too long by the number of GPUs of a group. From 26.06 on steps are shorter than
  predicted, before longer: containers gained up to a half in a year, by CUDA graphs and fused kernels of experts that are not costed.
  GB300 takes GB200's rates and is a fifth faster. Multi-token prediction of DeepSeek-V3 is left out.
- LoRA in MLPerf: what a node's GPUs share follows from samples and passes of a step. Padding of batches, and what loads them, are not costed.
- LiBai: the GPU and its links are not named. Pairs of GPUs lose a quarter in tensor parallelism there, four and eight do not.
- Memory of Megatron-LM's paper on activations, ${published.activations.rows} rows on GPT of 22B to 1T: ${activationsText(published.activations)}.
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

function coverageText({ title, rows, left }: JudgedLayouts): string {
  const all = [...left.values()].reduce((total, count) => total + count, rows.length);
  const whys = [...left].map(([why, count]) => `${count} (${why})`).join(', ');
  return `${title.split(':')[0]}: ${rows.length} of ${all} rows${whys === '' ? '' : `; left out are ${whys}`}.`;
}

const activationsText = ({ states, activations, shares }: JudgedActivations): string =>
  [
    ['weights and optimizer', states] as const,
    ['activations', activations] as const,
    ['activations over those without a technique', shares] as const,
  ]
    .map(([what, ratios]) => {
      const { mean, worst } = statisticsOf(ratios);
      return `${what} ${percent(mean)} on average, ${percent(worst)} at worst`;
    })
    .join('; ');

const hostTimesText = ({ hostTimes }: JudgedNanotron): string =>
  [...hostTimes]
    .map(
      ([model, { launch, callPerGpu }]) =>
        `Without ${model}: ${launch} µs for a launch, ${callPerGpu} µs for each GPU of a collective.`,
    )
    .join(' ');

const unlikeText = ({ unlike }: JudgedNanotron): string =>
  unlike
    .map(({ pipelined, unlike: count, pairs }) =>
      pipelined
        ? `Of ${pairs} layouts with a pipeline that were run with and without ZeRO 1, ${count} took more than 1.5 times as long in one run.`
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
