/** What a step consists of, as the seconds of each kind of kernel before any correction. */

import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { OpenedModel } from '../../server/src/analysis/openedModel.ts';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { timesOf } from '../../server/src/estimate/plan/plannedTimes.ts';
import { planStep } from '../../server/src/estimate/plan/planStep.ts';
import { stepRange } from '../../server/src/estimate/plan/surerPlan.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { kernelKind } from '../../server/src/hardware/kernelKind.ts';
import { kernelTime, uncorrectedTime } from '../../server/src/hardware/kernelTime.ts';
import type { KernelWork } from '../../server/src/hardware/kernelWork.ts';
import { leastTime } from '../../server/src/hardware/leastTime.ts';
import type { Range } from '../../server/src/model/estimate.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { bytes, flops } from '../../server/src/model/units.ts';
import { kernelsOfPasses } from '../measured/kernelsOfPasses.ts';
import { type StepShares, stepShares } from './stepDoubts.ts';

export interface StepParts {
  readonly seconds: ReadonlyMap<string, number>;
  /** What no correction can take away from each kind. */
  readonly least: ReadonlyMap<string, number>;
  /** Launches and what no correction touches. */
  readonly fixed: number;
  /** What the FLOPs would take at the peak of the number types they run in. */
  readonly atPeak: number;
  /** Bounds of the step over the predicted step. */
  readonly range: Range;
  readonly shares: StepShares;
}

export function openGraph(path: string): OpenedModel {
  const bytes = readFileSync(path);
  const name = path.replace(/\.gz$/, '');
  return openModel(byteSourceOfBuffer(path.endsWith('.gz') ? gunzipSync(bytes) : bytes), name);
}

/** `undefined` where the model cannot be costed as asked. */
export function stepParts(opened: OpenedModel, request: ScenarioRequest): StepParts | undefined {
  const { training, scenario, cluster, cost } = estimateModel(opened, [request]);
  if (training === undefined || scenario === undefined || cluster === undefined) return undefined;
  const { time, mfu } = cost?.totals ?? {};
  const atPeak = (mfu ?? Number.NaN) * (time?.step ?? Number.NaN);
  const plan = planStep(training, scenario, cluster);
  const seconds = new Map<string, number>();
  const least = new Map<string, number>();
  let fixed = 0;
  const add = (kernel: KernelWork): void => {
    const time = uncorrectedTime(cluster.gpu, kernel);
    fixed += kernelTime(cluster.gpu, { ...nothing, launches: kernel.launches }).time;
    if (kernel.environment === undefined) {
      fixed += time;
      return;
    }
    const kind = kernelKind(kernel);
    seconds.set(kind, (seconds.get(kind) ?? 0) + time);
    least.set(kind, (least.get(kind) ?? 0) + leastTime(cluster.gpu, kernel));
  };
  for (const kernel of kernelsOfPasses(plan.lowered)) add(kernel);
  if (scenario.mode === 'training') for (const kernel of plan.update.kernels) add(kernel);
  const { low, high } = stepRange(plan);
  const { step } = timesOf(plan, 'middle');
  const range = { low: low / step, high: high / step };
  return { seconds, least, fixed, atPeak, range, shares: stepShares(plan) };
}

const nothing: Omit<KernelWork, 'launches'> = {
  class: 'elementwise',
  dtype: 'fp32',
  flops: flops(0),
  operations: 0,
  bytes: bytes(0),
};
