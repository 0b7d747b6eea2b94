/** Benchmarks beside predictions, before and after calibration, for `docs/ACCURACY.md`. */

import { waitsForHost } from '../../../server/src/benchmark/calibration/waitsForHost.ts';
import type { OpenGraph } from '../graphs.ts';
import { percent, signedPercent } from '../percent.ts';
import { type BenchmarkRun, benchmarkRuns } from './benchmarkRuns.ts';
import {
  type JudgedBenchmark,
  judgeBenchmarks,
  judgeThrees,
  medianOf,
  type PredictedRun,
} from './judgeBenchmarks.ts';

/** Empty where a graph is absent. */
export function benchmarkSection(folder: string, open: OpenGraph): string {
  const runs = benchmarkRuns(folder, open);
  if (runs === undefined) return '';
  const judged = judgeBenchmarks(runs);
  const threes = judgeThrees(runs).map(({ runs: others }) => ({
    all: meanOf(others.map(({ run, predicted }) => errorOf(run, predicted))),
    free: meanOf(
      others.filter(({ run }) => !isHosted(run)).map(({ run, predicted }) => errorOf(run, predicted)),
    ),
    inRange: others.filter(({ run, predicted }) => isInside(run, predicted)).length / others.length,
  }));
  const free = judged.filter(({ run }) => !isHosted(run));
  const hosted = judged.filter(({ run }) => isHosted(run));
  const cells = (pick: (each: JudgedBenchmark) => PredictedRun): readonly string[] => {
    const mean = (of: readonly JudgedBenchmark[]) =>
      percent(meanOf(of.map((each) => errorOf(each.run, pick(each)))));
    const inside = judged.filter((each) => isInside(each.run, pick(each))).length / judged.length;
    return [mean(judged), mean(free), mean(hosted), percent(inside)];
  };
  const peaks = judged.map(({ run: { peak } }) => Math.abs(peak.predicted / peak.measured - 1));
  return `
## Benchmarks, before and after calibration

What \`layercost benchmark\` measured of ${judged.length} steps on one H200 (\`measured/benchmarks-h200.csv\`, PyTorch 2.11, bf16), and what is predicted
for the program that ran.

- *calibrated*: by \`layercost calibrate\` of the other networks and of its kernels; the network itself is left out.
- *kernels*: by the kernels of \`layercost calibrate --device cuda\` alone.
- *again*: the same step after all layers, over the step before: what the host of this machine changed within a minute.
- *layers*: median error of layers of 20 µs and more, forward and backward, without calibration and with it.
- *waits*: the step takes 8 % longer than its kernels, because the GPU waits for its host.

| step | measured | waits | again | uncalibrated | calibrated | kernels | range, calibrated | peak memory | layers, forward | layers, backward |
| --- | --: | --- | --: | --: | --: | --: | --: | --: | --: | --: |
${judged.map(lineOf).join('\n')}

Mean errors of steps, and how many lie in their range:

| predicted | all | without waiting | waiting | in range |
| --- | --: | --: | --: | --: |
| uncalibrated | ${cells((each) => each.uncalibrated).join(' | ')} |
| by the kernels alone | ${cells((each) => each.byKernels).join(' | ')} |
| by three networks, middle of ${threes.length} choices | ${percent(medianOf(threes.map(({ all }) => all)))} | ${percent(medianOf(threes.map(({ free: each }) => each)))} | – | ${percent(medianOf(threes.map(({ inRange }) => inRange)))} |
| by all others and the kernels | ${cells((each) => each.byOthers).join(' | ')} |

By three networks the worst choice is ${percent(Math.max(...threes.map(({ all }) => all)))} off. Peak memory is ${percent(meanOf(peaks))} off in the mean, ${percent(Math.max(...peaks))} at most.
Steps that wait for their host take ${percent(meanOf(hosted.map(({ run }) => Math.abs(againOf(run) - 1))))} more or less a minute later, which no prediction can know.
`;
}

function lineOf({ run, uncalibrated, byOthers, byKernels }: JudgedBenchmark): string {
  const { whole } = run.measured.step;
  const off = (predicted: number): string => signedPercent(predicted / whole - 1);
  const { low, high } = byOthers.range;
  const cells = [
    run.name,
    milliseconds(whole),
    isHosted(run) ? 'yes' : '',
    signedPercent(againOf(run) - 1),
    off(uncalibrated.step),
    off(byOthers.step),
    off(byKernels.step),
    `${milliseconds(low)} to ${milliseconds(high)}`,
    signedPercent(run.peak.predicted / run.peak.measured - 1),
    `${percent(uncalibrated.forward)}, ${percent(byOthers.forward)}`,
    `${percent(uncalibrated.backward)}, ${percent(byOthers.backward)}`,
  ];
  return `| ${cells.join(' | ')} |`;
}

const isHosted = ({ measured }: BenchmarkRun): boolean => waitsForHost(measured);
const againOf = ({ measured: { step } }: BenchmarkRun): number => step.again / step.whole;
const errorOf = ({ measured: { step } }: BenchmarkRun, predicted: PredictedRun): number =>
  Math.abs(predicted.step / step.whole - 1);
const isInside = ({ measured: { step } }: BenchmarkRun, { range: { low, high } }: PredictedRun): boolean =>
  low <= step.whole && step.whole <= high;
const meanOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
const milliseconds = (value: number): string => `${(value * 1e3).toFixed(value < 0.01 ? 2 : 1)} ms`;
