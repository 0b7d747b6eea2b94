/** The part of `docs/ACCURACY.md` about language models over several GPUs. */

import { sustainedMatmuls } from '../../../server/src/hardware/corrections.ts';
import { heldOut } from '../../calibrate/sustainedMatmuls.ts';
import type { LanguageStep } from '../../measured/languageSteps.ts';
import { type JudgedRange, joinedRanges, type RangedStep, rangeCells } from '../heldRanges.ts';
import { statisticsOf } from '../judge.ts';
import { percent } from '../percent.ts';
import { ratios, type ScaledRow } from './judged.ts';

/** A step beside what was predicted of it by what other sources measured. */
export interface JudgedLanguage extends Omit<ScaledRow, 'range'>, Omit<RangedStep, 'predicted' | 'measured'> {
  readonly cluster: string;
}

export function judgeLanguage(steps: readonly LanguageStep[]): readonly JudgedLanguage[] {
  return steps.map((step) => {
    const { row, model, gpus, measured, range, shares } = step;
    const { source = '', cluster = '', sequence, batch, accumulate, checkpoint, framework } = row;
    const predicted = heldOut(step, steps);
    const moved = predicted / step.predicted;
    return {
      set: `${source}, ${cluster}`,
      source,
      cluster,
      label: `${source}, ${model}, ${sequence} tokens, ${accumulate} × ${batch}, checkpoint ${checkpoint}, ${gpus} GPUs of ${cluster}, ${framework}`,
      predicted,
      measured,
      range: { low: range.low * moved, high: range.high * moved },
      shares,
    };
  });
}

export function languageSection(
  rows: readonly JudgedLanguage[],
  ranges: ReadonlyMap<string, JudgedRange>,
): string {
  const groups = new Map<string, JudgedLanguage[]>([['all of them', [...rows]]]);
  for (const row of rows) groups.set(row.set, [...(groups.get(row.set) ?? []), row]);
  const all = joinedRanges(
    [...groups].flatMap(([set, group]) => {
      const range = ranges.get(set);
      return range === undefined ? [] : [{ rows: group.length, range }];
    }),
  );
  return `## Language models

Steps of GPT and Llama in bf16 with PyTorch, by FSDP, DDP and ZeRO on 8 to 512 GPUs and on one, by \`measured/steps-language.csv\`: nothing of a step is
given but the model, the options and the machine. Products on tensor cores take longer in a step than one at a time, by a
factor for each GPU; it is the mean of the sources' own, n steps weighing n/(n + 1), and each source is judged by the factor of the others.

| data | rows | mean | median | p90 | worst | ±10 % | ±20 % | median ratio | in range | source left out | width |
| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |
${[...groups].map(([title, group]) => lineOf(title, group, ranges.get(title) ?? all)).join('\n')}

- The factor is ${factorOf('a100-sxm-80gb')} on A100. It is to the products of a cool GPU, one after the other as a CUDA
  graph (AIConfigurator): those of H100 take 0.8 of its peak.
- On H100 it is ${factorOf('h100-sxm', true)} for cuBLAS of CUDA 12.4 and older, with which these rows ran: PyTorch 2.1 (llm-foundry), 2.3 (fms-fsdp)
  and 2.2 to 2.6 (nanotron). By itself each source says about 1.45, 1.65 and 1.54.
- For newer releases it is ${factorOf('h100-sxm')} on H100 and ${factorOf('h200-sxm')} on H200, in FP8 more. No step was fitted for that: products without a pause took
  it on an H200 at its limit of power (\`kernels-h200-b.jsonl\`), whose processor and limit H100 SXM has too. NVIDIA's recipes
  below judge it.
- These three said 1.55, 1.70 and 1.78 while the factor stood for other work too. That work is copies of gradients, sums
  of gradients over passes, copies in nanotron's code, and slower kernels beside NCCL's.
- Kernels beside NCCL's take 35 % longer by llm-foundry's steps, so its rows are not unseen in this; the factor of matmuls
  is of other sources.
- nanotron's steps on 4 nodes are predicted a few per cent faster than those on one. Something of a step is missing
  that grows with the nodes, not with the passes. Its cross entropy passes over the logits more often than is charged.
- B200 and GB200 take H100's factor; no judged step in bf16 shows it there. A clock that slows attention as much as products was tried and taken out: the mean rose from 6.4 to 7.4 %.
- Attention follows the curves of the kernel that each row ran. llm-foundry is taken to run FlashAttention in Triton, as its
  script asks for. That was looked up because its rows stood out, so they are not wholly unseen. Its A100 rows now have
  the same ratio at 512 and at 65,536 tokens.
- PyTorch's code shows that recomputation of a block stops at the last tensor that backward needs.
- The first two sources were looked at because they stood out (H100 was a quarter too fast), so they are not wholly unseen.
- nanotron's graph follows its code, which was read because its rows stood out: they are not wholly unseen either. It
  normalizes in one kernel and copies queries, keys and values.
- llm-foundry's A100 rows are of PyTorch 1.13 and 2.0: networks of less than a billion parameters and short sequences are up to
  a fifth too fast there, MPT-30B on sequences of 8,192 is 0.7 of what it took, with memory all but full.
- torchtune's compiled step is an eighth too slow.
- Left out: fp8; selective checkpoints of an unknown fraction; torchtitan's H100, which are of a lower power limit and
  slower memory than any profile; Megatron's runs, which split tensors and layers over GPUs.
`;
}

const factorOf = (curve: string, older = false): string =>
  (sustainedMatmuls(curve, { older })?.factor ?? 1).toFixed(2);

function lineOf(title: string, rows: readonly JudgedLanguage[], range: JudgedRange | undefined): string {
  const s = statisticsOf(ratios(rows));
  const cells = [
    title,
    rows.length,
    ...[s.mean, s.median, s.ninetieth, s.worst, s.withinTen, s.withinTwenty].map(percent),
    s.middle.toFixed(2),
    ...rangeCells(range),
  ];
  return `| ${cells.join(' | ')} |`;
}
