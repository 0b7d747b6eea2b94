/** What is known of the accuracy of predictions, as a table for a terminal and as a page. */

import { type StepDoubts, stepDoubts } from '../../server/src/hardware/kernelDoubt.ts';
import type { DataSet } from './dataSets.ts';
import { type JudgedRange, rangeCells } from './heldRanges.ts';
import type { JudgedRow, Statistics } from './judge.ts';
import { type LayerEntry, layerSection } from './layerPage.ts';
import { percent } from './percent.ts';

export interface Entry extends Pick<DataSet, 'title' | 'file' | 'peer' | 'held'> {
  readonly target?: NonNullable<DataSet['target']> & { readonly ninetieth?: number };
  readonly rows: number;
  readonly left: number;
  readonly statistics: Statistics;
  readonly baseline: Statistics;
  readonly range: JudgedRange | undefined;
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
  const head =
    'rows (skipped) mean  median     p90   worst    ±10 %   ±20 %   ratio  baseline  in range held width';
  const width = Math.max(...entries.map(({ title }) => title.length));
  const lines = entries.map(
    ({ title, rows, left, statistics: s, baseline, range }) =>
      `${title.padEnd(width)}  ${`${rows} (${left})`.padStart(11)} ${[s.mean, s.median, s.ninetieth, s.worst, s.withinTen, s.withinTwenty].map((value) => percent(value).padStart(7)).join(' ')}  ${s.middle.toFixed(2).padStart(6)}   ${percent(baseline.mean).padStart(7)}   ${rangeCells(
        range,
      )
        .map((cell) => cell.padStart(8))
        .join('')}`,
  );
  return [`${' '.repeat(width)}  ${head}`, ...lines].join('\n');
}

export const rowLines = (rows: readonly JudgedRow[]): readonly string[] =>
  rows.map(
    ({ row, predicted, measured }) =>
      `  ${[row.gpu, row.model, row.batch, row.precision, row.layout ?? ''].join(' ').padEnd(60)} ${milliseconds(predicted)} for ${milliseconds(measured)}  ${(predicted / measured).toFixed(2)}`,
  );

const causes: Readonly<Record<keyof StepDoubts, string>> = {
  always: 'any step',
  matmul: 'matmuls on a curve',
  convolution: 'convolutions on a curve',
  other: 'other kernels on a curve',
  architecture: 'besides, kernels measured on another GPU of the architecture',
  generation: 'besides, kernels measured on a GPU of another generation',
  assumed: 'what a composite takes longer as several kernels',
  framework: 'upwards, a framework of 2015 to 2019',
};

export function accuracyPage(
  entries: readonly Entry[],
  layers: readonly LayerEntry[],
  kernels: readonly KernelEntry[],
  steps: number,
): string {
  const doubtLines = Object.entries(causes).map(
    ([cause, title]) => `| ${title} | ${percent(stepDoubts[cause as keyof StepDoubts])} |`,
  );
  return `# Accuracy

Errors of predicted times against measured ones. Written by \`npm run validate\`; \`npm run validate -- --rows\` prints every row.
The measurements are published; they and their sources are in \`measured/\`.

## Whole steps

Errors are |predicted / measured − 1|.

- *skipped*: rows without a graph. These are mixtures of experts whose routing depends on the data, networks without a
  graph here, and rows that contradict themselves.
- *median ratio*: median of predicted / measured.
- *baseline*: mean error of FLOPs ÷ peak at one utilisation, fitted to the rows themselves.
- *in range*: fraction of measured steps inside the predicted range. Ideal ranges give 80 %.
- *source left out*: the same, with ranges fitted to the steps of the other publications.
- *width*: half the width of the range, median of the rows.

The range of a step has eight causes, each with one half-width (\`stepDoubts\` in \`server/src/hardware/efficiency.json\`).
They were fitted to the errors of ${steps} steps.

| cause | half-width |
| --- | --: |
${doubtLines.join('\n')}

- Kernels that were corrected by steps of other models have the spread of those steps, downwards and upwards. Kernels without
  a curve have the spread of their class.
- How fast a host launches is assumed. The range tells what a faster or slower one would change.
- Kernels of a class add up, because they share what a curve leaves out. Causes and classes add as squares.
- No step has set what frameworks of 2015 to 2019 do beside their kernels, so they may take longer.

| data | rows | skipped | mean | median | p90 | worst | ±10 % | ±20 % | median ratio | baseline | in range | source left out | width | target |
| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --- |
${entries.map(entryLine).join('\n')}

Data held out from the fits, and published errors of others on the same rows:

| data | held out | others |
| --- | --- | --- |
${entries.map(({ title, held, peer }) => `| ${title} | ${held} | ${peer} |`).join('\n')}

${layerSection(layers)}
## Single kernels

Median errors on the held-out half of each GPU's rows: best, median and worst GPU. *other GPU*: the same rows, predicted
by the curve of another GPU, as for a GPU without measurements.

| kernels | GPUs | rows | held out: best, median, worst GPU | other GPU |
| --- | --: | --: | --- | --- |
${kernels.map(kernelLine).join('\n')}

## Where it falls short

- Ranges that hold less than 75 % or more than 90 % of a set of more than 20: TensorFlow's rows are of five networks, and four of
  Inception-v3 on K80 are outside. In torchvision's inference DenseNets are up to a quarter too fast on all four GPUs, with a copy of images
  and without, and fits without them ask for less. MXNet's rows are of two networks. Those of RTX 5090 are as wide as another GPU's curves ask.
- One number for convolutions, matmuls and others in place of three, a doubt of compiled kernels, and a doubt of hosts beside their range were
  tried: each left more sets outside, or was fitted to nothing.
- NeuSight, training: on A100 and MI210/MI250 the forward pass was measured 1.5 to 3 times slower than forward of the same
  model in inference (BERT-Large, GPT-3 2.7B, GPT-2 Large), beside a backward pass that agrees. No kernel explains this;
  the rows are kept as they are.
- MLPerf: nothing of a row is given but the machine, the batch and the precision. MXNet's fused kernels are costed as those of
  compiled PyTorch. A100 over PCIe with one EDR link a node is predicted a quarter too fast, H200 a seventh; L4 and L40S up to a
  quarter too slow. BERT is left out. Half of the tokens of its sequences of 512 are padding (arXiv 2107.02027), which its code
  skips, so 256 of each are known in the mean. But no row tells which of its kernels, fused by hand, ran in FP8, as NVIDIA's code has them on H100.
- DeepLearningExamples: fine-tuning BERT is predicted a quarter too fast on A100 and a fifth on V100 in fp16, a fifth on A100
  in TF32; pre-training is within 13 %. Its code wrote GELU out in six kernels until 2021, and the code
  behind the tables of fine-tuning is unknown: Lambda measured the same GPU, batch and precision 10 % faster.
- Lambda: BERT is predicted within 13 % on V100, A100, RTX 3090 and RTX 4090. It is 11 to 16 % too fast on A10 (150 W), 12 to 24 % on
  RTX 6000 Ada (300 W), 18 to 21 % on RTX 8000 in fp16, and 6 to 15 % on GH200 and B200. What boards of little power hold was chosen
  with A10 and RTX 6000 Ada in sight, so their rows are not wholly unseen. That Ada takes the curves of Ampere was changed because its
  rows stood out.
  The logs show every step to take the same time but for the first, so that nothing waits for a start. That layer
  normalization sums its gradients in few blocks was looked for because these rows stood out, so they are not wholly unseen;
  its rate is of another source, and timm's steps agree.
- Lambda's ResNet-50 takes tensors that lie on the GPU already (its logs: data-backend synthetic), so that B200 (3,076 images/s
  in fp16, 2,967 in TF32) and GH200 do not wait for input. That batch normalization of channels-first images has a block for
  each channel was looked for because these rows stood out, so they are not wholly unseen; its rate is of another source (V100
  and A100, \`measured/batch-norm.csv\`), and Inception-v3 on P100 and K80 came nearer by it too. B200 in fp16 is still predicted
  at three fifths of what it takes: half of the bytes save it nothing, which convolutions without a measurement do not show.
- Convolutions on tensor cores: DeepBench's were measured on channels-first tensors, and what cuDNN transposes around them was
  part of their curves until Lambda's ResNet-50 in TF32 and NVIDIA's in channels last stood out, so those rows are not wholly
  unseen. The curves of V100 and T4 now leave a sixth to a quarter over on DeepBench itself, most on small tensors.
- No product in TF32 was measured: it takes the curve of half precision.
- Products whose sizes are no multiples of 8 are charged like others: 48 of them in fp16 on V100 and T4 (DeepBench) were
  measured as predicted, 0.98 in the middle and 38 within 10 %, though half of those were fitted to. On 16 narrow ones, 35
  wide, they are predicted an eighth too fast. None was measured on later GPUs.
- TensorFlow 1: a step of batch 32 takes more than half of one of 64, by 30 to 90 ms, which is not modelled; Inception-v3
  is 13 to 31 % too fast. It is not the copies of variables kept on the CPU, which fit behind kernels, and VGG-16 on P100,
  whose variables are on the GPU, shows 29 ms as well.
- MXNet: every step takes a constant beside a time for each image, 0.13 ms for each tensor of parameters on V100. That MXNet
  waits for the update of each tensor was read in its source because these rows stood out, so they are not wholly unseen. On K80
  it takes 0.25 ms, on another host, which is not modelled: its steps are predicted 5 to 19 % too fast, those on V100 4 to 14 % too slow.
- K80: its clock between 560 and 875 MHz is unknown; the mean is assumed. It was looked into because all
  rows but VGG's were too fast, so the K80 rows are not wholly unseen.
- Torch 7 without cuDNN takes the curves of products by CUDA 8, those of the three GPUs of DeepBench's first release, whose
  products of few tiles are several times slower than a year later; no file says which CUDA that was, and it was looked
  into because these rows stood out. On TITAN X (Maxwell) GoogLeNet is predicted at half of what it takes and ResNets at
  seven tenths: 38 µs for each product are missing, about what a fit leaves out there as the cost of measuring a call.
- Torch 7 computes the gradient of the images too, and by cuDNN that of three channels by additions to where windows lie:
  both were looked into because AlexNet stood out, so its rows are not wholly unseen.
- torchvision: one launch time for each machine, the least that explains its other families within 2 %, and one rate of
  copying images for the two machines whose script times it (TITAN Xp, TITAN RTX), from networks that are not judged. In
  training ResNet-18 and SqueezeNet are 11 to 32 % too fast. How the scripts work was read, and which DenseNet they had, and
  how a launch time is chosen, because these rows stood out: they are not wholly unseen.
- timm, inference: images, batch and release of PyTorch (2.4, 2.9) are the table's, options are the default. Kernels of forward
  alone have factors of their own, by the steps of 2.4 on RTX 3090: those of training are of 1.12, whose grouped convolutions in
  channels last were many times slower. RTX 4090 and 5090 take the factors of RTX 3090.
- timm, inference, group normalization (EfficientNet-B0, ResNet-50): predicted 1.5 to 2.4 times too slow on RTX 3090 and 4090, and right
  on RTX 5090, where a later release of timm was measured. What differs is not known. Evolved normalization is 1.4 times too slow.
- timm, inference, compiled: that Inductor runs convolutions in channels last, and that batch normalization is no sum over images,
  was read in its source because these rows stood out: they are not wholly unseen.
- Batch normalization in inference was charged as rows until these rows stood out: they are not wholly unseen. It scales and shifts.
- timm, channels-last: grouped convolutions of other widths than 4, 8, 16 and 32 (RegNetX-6.4GF, RepVGG-B2g4) run up to ten
  times slower than dense ones of their FLOPs, and widths that have kernels differ by factors of two between networks;
  networks with anti-aliasing (TResNet) take five times what their kernels say. Families of models are too few for a rule:
  factors of their own for groups of up to 16, of 17 to 32 or of 32 alone, and for strided ones of up to four groups, which
  take most of what is missing of RegNetX-800MF, RegNetY-600MF, SE-ResNeXt-26ts and ResNet-61q, gained nothing on families
  they had not seen. That channels which are no multiples of 8 have factors of their own was looked for because a pruned
  ECA-ResNet-101d, MixNet and ReXNet stood out, so these rows are not wholly unseen.
- Caffe: its logs are said to be of its own convolution, but a product of one image (169 columns) cannot reach the 5.2 of
  6.6 TFLOP/s they show: they are costed as cuDNN before version 5, without transforms (the row
  above); as what the source says they are, image by image, the median was 50 %. Caffe's own kernel for the gradient of
  max pooling, which visits every window for every input, is three to four times slower than its traffic says.
- NeuSight timed gradients of dropout at three times of what one kernel moves, on V100 and A100. They were charged so until an H200
  showed one kernel, as PyTorch's autograd has it. Since then its rows of dropout are a third of what was measured. BERT and GPT-2 are
  predicted up to a tenth faster in every set. The share of Fourier transforms is assumed: no measured convolution moves it.
- The passes and changes of layout of group normalization were looked into because timm's networks that have it stood
  out, so those rows are not wholly unseen.
- DeepBench, recurrent layers: gradients at batch 32 on GTX 1080 Ti, P100, TITAN X (Pascal) and Xp, 108 of 848 rows, are
  predicted at a third to two thirds of what they take: their time grows with the depth of the product alone. So do DeepBench's
  own products of 32 columns on TITAN X (Pascal), of matrices that lie as they are (203 µs for 1760 × 32 × 1760, 264 for 2560
  × 32 × 2560, where its recurrent layers take 210 and 292), but not those of 16 or 64, nor those of the other three GPUs, which
  were measured again with cuBLAS 8.0.88 (39 to 44 and 68 to 80 µs): cuDNN 6 brought its own products with it, and they are
  older. By the curve of TITAN X (Pascal) the other three come no nearer, because no curve knows that 32 columns take twice as
  long as 16 or 64; factors by columns gained 5 % on products kept back and nothing here. On Maxwell, whose products are of
  2016, layers at batch 32 are predicted 1.4 to 1.7 times too slow.
- Products have curves by the layout of their operands: first operand transposed, as in a layer's forward pass, and all others.
  On the halves kept back their mean error is 11.3 % by such curves, 11.8 % by one curve with a factor of the layout and
  12.2 % by one curve (mean over GPUs and both halves); P100 gains most, 11.4 to 3.4 % in the median. Products of 33 to 128
  columns take up to three times as long transposed on GTX 1080 Ti and TITAN Xp, as long on P100 and V100 in fp32. NeuSight's
  transposed products are single ones and its others are batched, so the table does not separate the two: a product follows the
  curve that saw single or batched ones, as it is itself, and only then that of its layout.
- AMD: no kernel was measured on AMD, so its times rest on curves of NVIDIA GPUs. The gradient of layer
  normalization takes about twice as long there as predicted: older PyTorch computes it on AMD in two passes of its own.
- The curves hang on more than the rows: many explain them nearly as well, and which of them the search ends at hangs on its
  steps. With every peak half a per cent higher or lower and all curves fitted again, products move by 1 % and convolutions by
  2 to 3 % on the average GPU. A search that begins where all shares together fit best moves convolutions by 1 to 2 %, and the
  mean of the times by three such searches products by 0.7 %, convolutions by 0.9 to 1.7 %; both leave a hundredth less over on
  rows kept back (108.7 and 107.4 % in place of 110.3 %, the mean errors of both kinds of products and the three passes of
  convolutions added up). By their curves NeuSight's training is 8.5 and 8.3 % off, but Torch 7 without cuDNN 15.0 and 19.1 %, and the
  90th percentile of timm in channels-last is 41 and 36 %. Neither is used for that, so those two aims hang on the curves chosen.
- NeuSight's table of products calls their depth N. It was read as their width until products whose rows and columns change
  places were seen to take as long, and those whose depth does not: its training steps came from 9.9 to 7.0 % by that.
- P4 and T4 are held back by a power limit that depends on the work; one factor stands for it.
`;
}

function entryLine({ title, rows, left, statistics, baseline, range, target }: Entry): string {
  const { mean, median, ninetieth, worst, withinTen, withinTwenty, middle } = statistics;
  const cells = [
    title,
    rows,
    left,
    ...[mean, median, ninetieth, worst, withinTen, withinTwenty].map(percent),
    middle.toFixed(2),
    percent(baseline.mean),
    ...rangeCells(range),
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

const milliseconds = (value: number): string => `${(value * 1e3).toFixed(1)} ms`.padStart(10);
