/** Training steps of language models over several GPUs, as they were measured and as they are predicted. */

import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { timesOf } from '../../server/src/estimate/plan/plannedTimes.ts';
import { planStep } from '../../server/src/estimate/plan/planStep.ts';
import { passesOf, type StepPlan } from '../../server/src/estimate/plan/stepPlan.ts';
import { stepRange } from '../../server/src/estimate/plan/surerPlan.ts';
import { hasOlderMatmuls } from '../../server/src/frameworks/pytorch/releases.ts';
import { activeShare } from '../../server/src/hardware/correctedTime.ts';
import { curvesOf } from '../../server/src/hardware/curves.ts';
import { isMatmulKind, kernelKind } from '../../server/src/hardware/kernelKind.ts';
import { kernelTime, uncorrectedTime } from '../../server/src/hardware/kernelTime.ts';
import type { Range } from '../../server/src/model/estimate.ts';
import { type StepShares, stepShares } from '../calibrate/stepDoubts.ts';
import type { OpenGraph } from '../validate/graphs.ts';
import { machine } from '../validate/scaling/clusters.ts';
import { kernelsOfPasses } from './kernelsOfPasses.ts';
import { type MeasuredRow, numberIn, readMeasured } from './readMeasured.ts';
import { scenarioOfRow } from './scenarioOfRow.ts';

export interface LanguageStep {
  readonly row: MeasuredRow;
  /** "mpt-7b". */
  readonly model: string;
  /** The GPU by whose curve its matmuls are timed. */
  readonly curve: string;
  /** By an older cuBLAS, on a GPU for which a newer one is known. */
  readonly older: boolean;
  readonly gpus: number;
  /** Seconds of a step. */
  readonly measured: number;
  readonly predicted: number;
  /** 80 % of what is measured should lie within, in seconds. */
  readonly range: Range;
  readonly shares: StepShares;
  /**
   * Seconds of its matmuls on tensor cores: as predicted, as their curve has them one at a time, and how many of these the GPU draws as
   * much power as at its limit.
   */
  readonly matmuls: { readonly predicted: number; readonly alone: number; readonly active: number };
}

/** `folder`: where the measured tables are. Throws where a row cannot be costed whole: its graph lies in the project. */
export function languageSteps(folder: string, open: OpenGraph): readonly LanguageStep[] {
  // Rows of one graph come together: the one opened last is kept.
  const key = ({ graph = '', sequence = '' }: MeasuredRow): string => `${graph} ${sequence}`;
  return readMeasured(folder, 'steps-language.csv')
    .toSorted((a, b) => key(a).localeCompare(key(b)))
    .map((row) => predictedStep(row, open));
}

function predictedStep(row: MeasuredRow, open: OpenGraph): LanguageStep {
  const { graph = '', cluster: name = '' } = row;
  const opened = open(`measured/models/${graph}`, { seq: numberIn(row, 'sequence') });
  const cluster = machine(name);
  const { training, scenario } = opened
    ? estimateModel(opened, [{ ...scenarioOfRow(row), precision: 'bf16', optimizer: 'adamw' }], cluster)
    : { training: undefined, scenario: undefined };
  if (training === undefined || scenario === undefined) throw new Error(`${graph} cannot be costed`);
  const plan = planStep(training, scenario, cluster);
  return {
    row,
    model: graph.split('#')[1] ?? graph,
    curve: curvesOf(cluster.gpu).matmul.tensor.tn?.gpu ?? cluster.gpu.name,
    older: cluster.gpu.architecture === 'hopper' && hasOlderMatmuls(scenario.framework.options.torch),
    gpus: scenario.gpus,
    measured: numberIn(row, 'milliseconds') * 1e-3,
    predicted: timesOf(plan, 'middle').step,
    range: stepRange(plan),
    shares: stepShares(plan),
    matmuls: matmulsOf(plan),
  };
}

function matmulsOf(plan: StepPlan): LanguageStep['matmuls'] {
  const { gpu } = plan.cluster;
  let [predicted, alone, active] = [0, 0, 0];
  for (const kernel of kernelsOfPasses(plan.lowered)) {
    if (!isMatmulKind(kernelKind(kernel))) continue;
    predicted += kernelTime(gpu, kernel).time;
    const own = uncorrectedTime(gpu, kernel);
    alone += own;
    active += own * activeShare(gpu, kernel, own);
  }
  const passes = passesOf(plan.scenario);
  return { predicted: predicted * passes, alone: alone * passes, active: active * passes };
}
