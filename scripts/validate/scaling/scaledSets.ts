/** Every set of steps on several GPUs, judged, with its aim. */

import { fitWorkersSpread, type GivenStep } from '../../calibrate/workersSpread.ts';
import type { OpenGraph } from '../graphs.ts';
import { statisticsOf } from '../judge.ts';
import { type Examples, judgeExamples } from './examples.ts';
import { type Given, nothingGiven, ratios, type ScaledRow, type ScaledSet } from './judged.ts';
import { judgeCaffeMpi, judgeHorovod, judgeSixteenV100 } from './studies.ts';
import { judgeSurvey, orderKept, type SurveyRow } from './survey.ts';
import { judgeTensorflow, type TensorflowRow } from './tensorflow.ts';
import { judgeTrace } from './trace.ts';

/**
 * Standard deviation of workers' times over their mean, one for all sets: the best of 0 to 5 % on Inception and ResNets
 * with synthetic data on DGX-1 P100, whose links hide all communication. Those rows are not judged.
 */
const spreads = [0, 0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.045, 0.05];
const setsSpread = ({ label, data }: TensorflowRow): boolean =>
  label.startsWith('dgx-1-p100') && data === 'synthetic' && !/alexnet|vgg16/.test(label);

/** `undefined` where a graph is absent. */
export function judgeScaling(folder: string, open: OpenGraph): readonly ScaledSet[] | undefined {
  let spread = 0;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of spreads) {
    const rows = judgeTensorflow(
      folder,
      open,
      { spread: candidate, links: true },
      ({ cluster }) => cluster === 'dgx-1-p100',
    );
    if (rows === undefined) return undefined;
    const { mean } = statisticsOf(ratios(rows.filter(setsSpread)));
    if (mean < least) [spread, least] = [candidate, mean];
  }
  const trace = judgeTrace(folder);
  const judged = judgeSets(folder, open, { spread, links: true });
  const bare = judgeSets(folder, open, nothingGiven);
  if (judged === undefined || bare === undefined) return undefined;
  const { sixteen, survey, tensorflow, horovod, caffeMpi, examples } = judged;
  const spreadWithout = heldSpreads(bare);
  const { pairs, kept } = orderKept(survey);
  const collapse = horovod.filter(isCollapse);
  const isOther = (row: ScaledRow): boolean => !isCollapse(row);
  const rest = horovod.filter(isOther);
  const judgedTensorflow = tensorflow.filter((row) => !setsSpread(row));
  const spreadNote = `workers' times spread by ${(100 * spread).toFixed(1)} %, by ${tensorflow.length - judgedTensorflow.length} rows of TensorFlow on P100`;
  return [
    {
      title: 'B-Caffe, GoogLeNet on K80 and 10 GbE, 2 to 8 nodes',
      rows: trace,
      aim: 'each within 9 %, mean ≤ 5 %',
      reached: meanOf(trace) <= 0.05 && worstOf(trace) <= 0.09,
      calibrated: 'given: the layers, one node, and the all-reduces measured (wait-free) or their linear fit',
      left: [],
    },
    {
      title: '16 V100, 10 GbE and 56 Gb/s InfiniBand, four networks',
      rows: sixteen,
      byDefault: bare.sixteen,
      heldSpread: spreadWithout('sixteen'),
      aim: 'mean ≤ 12 %',
      reached: meanOf(sixteen) <= 0.12,
      calibrated: `bandwidth of each network, by ResNet-152 in fp32 as one message; ${spreadNote}`,
      left: [],
    },
    {
      title: 'of them, one message after backward',
      rows: sixteen.filter(isOneMessage),
      byDefault: bare.sixteen.filter(isOneMessage),
      aim: '',
      reached: true,
      calibrated: 'as above',
      left: [],
    },
    {
      title: 'Survey, seven methods, 10 GbE and 100 Gb/s InfiniBand, 4 to 32 GPUs',
      rows: survey,
      byDefault: bare.survey,
      heldSpread: spreadWithout('survey'),
      aim: `mean ≤ 12 %; order of methods more than 10 % apart kept in ${kept} of ${pairs} pairs, all of them aimed at`,
      reached: meanOf(survey) <= 0.12 && kept === pairs,
      calibrated: `bandwidth of each link, by BERT-Large sent at once after backward, by NCCL and by servers; ByteScheduler's updates, by the three networks on 4 GPUs over 10 GbE; ${spreadNote}`,
      left: [],
    },
    {
      title: 'TensorFlow 1, K80 and P100, 2 to 64 GPUs',
      rows: judgedTensorflow,
      byDefault: bare.tensorflow.filter((row) => !setsSpread(row)),
      heldSpread: spreadWithout('tensorflow'),
      aim: 'mean ≤ 8 %',
      reached: meanOf(judgedTensorflow) <= 0.08,
      calibrated: `two dies of a K80 share a board, by one row; gRPC between nodes, by ResNet-152 on 64 GPUs; ${spreadNote}`,
      left: [],
    },
    {
      title: 'Horovod and TensorFlow, 64 GPUs: VGG-16 through parameter servers',
      rows: collapse,
      byDefault: bare.horovod.filter(isCollapse),
      aim: 'within a factor of 1.5',
      reached: collapse.every(
        ({ predicted, measured }) => Math.abs(Math.log(predicted / measured)) <= Math.log(1.5),
      ),
      calibrated:
        'gRPC, by ResNet-101 through servers, with variables on CPUs and on GPUs; the network, by VGG-16 over NCCL',
      left: [],
    },
    {
      title: 'Horovod and TensorFlow, 64 GPUs: the others',
      rows: rest,
      byDefault: bare.horovod.filter(isOther),
      aim: 'each within 15 %',
      reached: worstOf(rest) <= 0.15,
      calibrated: 'as above',
      left: [],
    },
    {
      title: 'Caffe-MPI, 16 P40: speed-up',
      rows: caffeMpi,
      byDefault: bare.caffeMpi,
      aim: 'each within 5 %',
      reached: worstOf(caffeMpi) <= 0.05,
      calibrated: spreadNote,
      left: [],
    },
    {
      title: 'NVIDIA examples, Lambda and DLPerf, 2 to 32 GPUs',
      rows: examples.rows,
      byDefault: bare.examples.rows,
      aim: 'median ≤ 8 %',
      reached: statisticsOf(ratios(examples.rows)).median <= 0.08,
      calibrated: spreadNote,
      left: [
        { rows: examples.contradicting, reason: 'faster than so many times the row of one GPU' },
        { rows: examples.decoding, reason: 'ResNet-50 decoded on the CPU in half precision, bound by input' },
        {
          rows: examples.overSockets,
          reason: "PaddlePaddle's BERT without the InfiniBand of its machine, as its script says",
        },
      ],
    },
    ...['nvidia', 'lambda', 'dlperf'].map(
      (source): ScaledSet => ({
        title: `of them, ${source}`,
        rows: examples.rows.filter((row) => row.source.startsWith(source)),
        byDefault: bare.examples.rows.filter((row) => row.source.startsWith(source)),
        heldSpread: spreadWithout(source),
        aim: '',
        reached: true,
        calibrated: 'as above',
        left: [],
      }),
    ),
  ];
}

interface JudgedSets {
  readonly sixteen: readonly ScaledRow[];
  readonly survey: readonly SurveyRow[];
  readonly tensorflow: readonly TensorflowRow[];
  readonly horovod: readonly ScaledRow[];
  readonly caffeMpi: readonly ScaledRow[];
  readonly examples: Examples;
}

function judgeSets(folder: string, open: OpenGraph, given: Given): JudgedSets | undefined {
  const sixteen = judgeSixteenV100(folder, open, given);
  const survey = judgeSurvey(folder, open, given);
  const tensorflow = judgeTensorflow(folder, open, given);
  const horovod = judgeHorovod(folder, open, given);
  const caffeMpi = judgeCaffeMpi(folder, open, given);
  const examples = judgeExamples(folder, open, given);
  if (!sixteen || !survey || !tensorflow || !horovod || !caffeMpi || !examples) return undefined;
  return { sixteen, survey, tensorflow, horovod, caffeMpi, examples };
}

/** Sets whose links are measured or hardly used say what several workers add; of the others links are assumed. */
const givenSteps = ({ tensorflow, examples }: JudgedSets): readonly GivenStep[] =>
  [
    ...tensorflow.map((row) => ({ ...row, source: 'tensorflow' })),
    ...examples.rows.map((row) => ({ ...row, source: /^[a-z]+/.exec(row.source)?.[0] ?? row.source })),
  ].flatMap(({ source, gpus, measured, predicted, ranged }) =>
    gpus === undefined || ranged === undefined
      ? []
      : [{ source, gpus, measured, predicted, computed: ranged.computed, sent: ranged.sent }],
  );

/** By source, what the others say. */
function heldSpreads(sets: JudgedSets): (source: string) => number {
  const steps = givenSteps(sets);
  return (source) => fitWorkersSpread(steps.filter((step) => step.source !== source));
}

const isOneMessage = ({ label }: ScaledRow): boolean => label.endsWith('one-message');
const isCollapse = ({ label }: ScaledRow): boolean => /^vgg16.*parameter-server/.test(label);
const meanOf = (rows: readonly ScaledRow[]): number => statisticsOf(ratios(rows)).mean;
const worstOf = (rows: readonly ScaledRow[]): number => statisticsOf(ratios(rows)).worst;
