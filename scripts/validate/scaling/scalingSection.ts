/** The part of `docs/ACCURACY.md` about several GPUs. */

import { workersSpread } from '../../../server/src/estimate/plan/givenStepFactors.ts';
import efficiency from '../../../server/src/hardware/efficiency.json';
import { rangeWith } from '../../calibrate/workersSpread.ts';
import { statisticsOf } from '../judge.ts';
import { percent } from '../percent.ts';
import { type JudgedBounds, judgeBounds, ratios, type ScaledRow, type ScaledSet } from './judged.ts';

export function scalingSection(sets: readonly ScaledSet[]): string {
  return `## Several GPUs

Steps of several GPUs where the step of one is given, so that communication is judged alone: kernels are scaled until one
GPU takes the measured time, and communication is simulated as for any scenario. *median ratio*: median of predicted /
measured, so below 1 is predicted too fast. Rows that set a constant are not judged; no constant is set by a row it is
judged on.

| data | rows | skipped | mean | median | p90 | worst | median ratio | target |
| --- | --: | --: | --: | --: | --: | --: | --: | --- |
${sets.map(lineOf).join('\n')}

The same rows by default: what a person gets who names the model, the machine and the options, and gives the step of one GPU.
Links have what follows from their nominal rate, and workers differ as those of TensorFlow on P100.

- *in range*: fraction of measured steps in the predicted range. *width*: half its width, median of the rows.
- A link whose bandwidth is assumed may take three times as long, and no less than its nominal rate allows.
- A given step is rarely shorter on several GPUs and often longer: workers differ and processes share a host. A step waits for the
  slowest, whose times spread by ${workersSpread.middle} of the mean, and by ${workersSpread.high} at most, above which a tenth of the steps may lie. At least workers
  are alike, and two runs differ by ${efficiency.runsDiffer.value}.
- TensorFlow 1 and the examples set what workers spread by at most. *source left out*: fitted to the other sources.
- What is computed and what is sent are off for reasons of their own: their ranges add as squares.

| data | rows | mean, default | median | p90 | median ratio | in range | source left out | width | mean, calibrated | in range | width |
| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |
${sets.flatMap((set) => (set.byDefault === undefined ? [] : [defaultLine(set, set.byDefault)])).join('\n')}

| data | set by measurements |
| --- | --- |
${sets
  .filter(({ calibrated }) => calibrated !== 'as above')
  .map(({ title, calibrated }) => `| ${title} | ${calibrated} |`)
  .join('\n')}

Left out: ${sets
    .flatMap(({ left }) => left)
    .filter(({ rows }) => rows > 0)
    .map(({ rows, reason }) => `${rows} rows ${reason}`)
    .join('; ')}.

What is not reached, and why:

- Ranges that hold more than 90 % of a set of more than 20: TensorFlow's rows by default and NVIDIA's. Their steps scale better than
  those of Lambda and DLPerf, of which the same range holds 78 and 83 %, and 73 and 71 % where they are left out of the fit. One number for
  all frameworks was kept: what tells them apart is published nowhere.
- InfiniBand by default, 56 Gb/s beside 16 V100 on PCIe: one large message gets 2.0 of 7 GB/s, where the survey's 100 Gb/s get
  all that PCIe gives. Two machines are too few for a share of their own; a large message is predicted a fifth too fast there.
- The PCIe of the survey by default is half of what NCCL counts, because RTX 2080 Ti have no peer access: 6 GB/s, where its largest
  message asks for 4.6. That was looked for because its rows stood out, so they are not wholly unseen in this.
- Servers of BytePS by default move what one thread copies (bytedance/byteps issue 237): 0.70 GB/s over 10 GbE, where the survey's
  largest message asks for 0.69 to 0.73. Over InfiniBand it asks for 2.4 GB/s, which nothing here explains.
- Where gradients travel beside backward, part of what could be hidden is not. Kernels beside NCCL's take 35 % longer,
  by steps of llm-foundry on A100 and H100; no row here sets it. With the 18.9 % that are published (arXiv 2507.03114) the
  mean on 16 V100 is 11.1 %, with 35 % it is 9.5 %. What is left there is in half precision (DenseNet-201 with its 600 tensors even as one message), and over
  InfiniBand where each of 450 to 600 tensors is sent by itself, which takes half a millisecond of each where a ring of
  the authors' own fits takes a quarter. In half precision a merged message of their code has the type of its first gradient,
  and batch normalizations stay fp32: more than half of ResNet-152's bytes over 10 GbE go twice as wide, by where a profile
  puts the merges. That was looked for because this row stood out, and it hangs on where the merges fall: with 80 µs more for
  each tensor of the profile it would be 0.73 of what was measured again, not 0.87. DenseNet-201 in half precision takes 95 ms
  that are not explained, merged and as one message, on both networks. Merged messages over 10 GbE still hide less than they could, in fp32 too: it is not Horovod's rounds, which
  the host is ahead of, nor that its profile synchronizes after each tensor (no row moves by 3 % but that of ResNet-152).
- Of the pairs of methods whose order is not kept half are of BytePS on BERT-Large over InfiniBand, where its own runs
  differ by up to 15 % and sending during backward gained nothing; its script updates BERT by SGD, where the others use Adam,
  which is not counted because the release that measured one GPU is unknown. The others are of ByteScheduler: its thread
  shares Python's lock with the one that launches forward, so that what it takes for a parameter differs by network
  (ResNet-50 more, BERT-Base less than the mean of the three). BERT-Base with each tensor sent by itself hides less, on four
  GPUs of one node already, as if kernels took 40 % longer beside NCCL's, the upper end of what is published.
- All-reduces of Horovod by MPI through host memory are 1 to 13 % too fast. That a ring of Open MPI goes through all 64 ranks,
  and what each step of it starts with, was looked for because these rows stood out, so they are not wholly unseen: it comes
  from Open MPI's source and from OSU runs on two nodes, from which those on eight, which set nothing, are predicted within 13 %
  where they were a quarter too fast. An earlier table of its authors (pull request 44) has 16 GPUs, where VGG-16 loses half
  as much of a step as on 64 and as much by RDMA as by TCP: what holds four nodes is their hosts, what sixteen add is not
  explained.
- TensorFlow 1 of 2017 adds by NCCL 1, which makes one ring and goes through host memory between the halves of a DGX-1. That was
  looked for because AlexNet and VGG-16 on 8 GPUs stood out, so their rows are not wholly unseen; the rates of its links are
  those of NCCL's own table. On 8 GPUs they are still up to 18 % too fast, and with real images they are bound by input.
- Caffe-MPI publishes no times and its 16 P40 read from a network file system; GoogLeNet, with little to send, scales
  worst, so that it is not communication that holds it back, nor reading, of which AlexNet needs four times as much. What its
  published code does between two messages (barriers of threads, launches) is hidden by backward.
- TensorFlow's ResNet-50 at 82 % on 64 K80 is among the rows of TensorFlow 1. By default it is predicted to lose what workers differ by:
  1.29 s beside 1.49 s, within its range of 1.20 to 1.92 s. What servers move by gRPC no profile tells.
- CNTK with one server (arXiv 1612.00521, a limit after 16 nodes): CNTK adds by all-reduce where nobody asks, and no server binds:
  ResNet-50 on Blue Waters takes 0.54 s on one node, 0.62 s on 16, 0.67 s on 64. With one server, by MXNet, it takes 0.54 s
  up to 16 nodes, 0.67 s on 32 and 1.35 s on 64, and 0.57 s on one, which updates its tensors itself. Which learner of CNTK has the one server is unknown.
- Asynchronous training on CPUs (IEEE Big Data 2021): MXNet is 3.22 times as fast as TensorFlow on average. By default ResNet-50 on 2
  to 8 nodes with 10 GbE is 3.66 times as fast, which is the product of two averages of that study, and AlexNet 7 to 10 times.
  Its networks and its cluster are unknown.
- Chainer's two GPUs slower than one (its issue 4443, ResNet-50 on two P100 over PCIe, 41 minutes beside 36): not reproduced. On two dies
  of K80 two are 1.87 times as fast. Both GPUs were wholly busy there, and PyTorch gained no more than a quarter on the same two.
- DLPerf's PaddlePaddle loses 40, 80 and 180 ms of a step of BERT on 2, 4 and 8 GPUs of a node, whatever the batch: one
  process launches for all of them, and what that takes is published nowhere.
- TensorFlow's BERT takes 180 ms longer on two nodes than on one and 270 ms on four, at batches of 32 to 128, in fp32 and fp16,
  with XLA and without. It is not a gather of sparse gradients of the embedding, which would grow with the batch, nor that its
  202 messages go one after another, which is 24 ms. Sockets at 3 GB/s would take as long: PaddlePaddle used them, and in an
  earlier report of DLPerf (August 2020) BERT by Horovod on these machines lost 170 to 290 ms where it now loses 70. Which
  TensorFlow used is unknown.
- Rows of ResNet-50 in half precision that decode on the CPU were not judged by a rate of decoding: 24 cores feed TensorFlow 7,100
  images/s on one node, but 5,100 for each of two or four, and where GPUs decode 9,200 fall to 6,700 too. What of reading is
  slower on several nodes is unknown.
- Lambda's BERT and ResNet-50 lose on V100, A100, RTX 3090 and 4090 what all gradients would take after backward at 2 to 9 GB/s,
  twice as much in fp32 as in fp16, as if NVLink were off and nothing hidden; one version of its script does set
  NCCL_P2P_DISABLE=1. The protocol of each row is unknown, and would not explain why nothing is hidden.
`;
}

function lineOf({ title, rows, aim, reached, left }: ScaledSet): string {
  const { mean, median, ninetieth, worst, middle } = statisticsOf(ratios(rows));
  const leftOut = left.reduce((total, { rows: count }) => total + count, 0);
  const cells = [
    title,
    rows.length,
    leftOut,
    ...[mean, median, ninetieth, worst].map(percent),
    middle.toFixed(2),
    aim === '' ? '' : `${aim}: ${reached ? 'reached' : 'not reached'}`,
  ];
  return `| ${cells.join(' | ')} |`;
}

function defaultLine({ title, rows, heldSpread }: ScaledSet, bare: readonly ScaledRow[]): string {
  const { mean, median, ninetieth, middle } = statisticsOf(ratios(bare));
  const cells = [
    title,
    bare.length,
    ...[mean, median, ninetieth].map(percent),
    middle.toFixed(2),
    ...defaultCells(bare, heldSpread),
    percent(statisticsOf(ratios(rows)).mean),
    ...boundCells(judgeBounds(rows)),
  ];
  return `| ${cells.join(' | ')} |`;
}

function defaultCells(bare: readonly ScaledRow[], heldSpread: number | undefined): readonly string[] {
  const [inRange = '–', width = '–'] = boundCells(judgeBounds(bare));
  if (heldSpread === undefined) return [inRange, '–', width];
  const [held = '–'] = boundCells(
    judgeBounds(bare, ({ gpus = 1, predicted, ranged }) =>
      ranged === undefined
        ? undefined
        : rangeWith({ gpus, predicted, computed: ranged.computed, sent: ranged.sent }, heldSpread),
    ),
  );
  return [inRange, held, width];
}

const boundCells = (bounds: JudgedBounds | undefined): readonly string[] =>
  bounds === undefined ? ['–', '–'] : [percent(bounds.inRange), `±${percent(bounds.width)}`];

/** Every row, for a terminal. */
export const scaledLines = (rows: readonly ScaledRow[]): readonly string[] =>
  rows.map(
    ({ label, predicted, measured }) =>
      `  ${label.padEnd(80)} ${(predicted * 1e3).toFixed(1)} ms for ${(measured * 1e3).toFixed(1)} ms  ${(predicted / measured).toFixed(2)}`,
  );
