/**
 * Time and cost of a whole run: T = T_init + E·⌈S/(B·P)⌉·t for S samples, E epochs, B samples per worker and P workers.
 *
 * Reading during the run is part of the step where the input is described. What is read before the first step is part
 * of T_init = T_start + max(D·r/B_fs, D·r/(P·B_client)), r = P where every worker reads all of the D bytes, and B_fs then
 * what the file system gives of one file (Hashemi et al., arXiv 1612.00521, found that this keeps CNTK from scaling).
 */

import type { Placement } from '../communication/placement.ts';
import type { InputHandling } from '../frameworks/exchange.ts';
import type { ClusterProfile } from '../hardware/clusterProfile.ts';
import { knownPart } from '../model/knownPart.ts';
import type { Scenario } from '../model/scenario.ts';
import type { RunCost } from '../model/stepCost.ts';
import { type Seconds, seconds } from '../model/units.ts';
import { readingTime } from './plan/inputWork.ts';
import type { StepPlan } from './plan/stepPlan.ts';
import { runEnergy } from './runEnergy.ts';

/** What of a plan says how a run of its steps begins. */
type RunningStep = Pick<StepPlan, 'scenario' | 'cluster' | 'placement'> & {
  readonly behaviour: Pick<StepPlan['behaviour'], 'input'>;
};

/** A step of all workers on average. */
export interface MeanStep {
  readonly time: Seconds;
  /** Else `time` is a lower bound. */
  readonly isExact: boolean;
  /** The part of `time` in which the GPU has nothing to run; null where it is not known. */
  readonly waitingForHost: Seconds | null;
}

export function wholeRun(
  { scenario, cluster, placement, behaviour }: RunningStep,
  step: MeanStep,
): RunCost | undefined {
  const { run } = scenario;
  const steps = stepsOfRun(scenario);
  if (run === undefined || steps === undefined) return undefined;
  const loading = loadingTime(scenario, cluster, placement, behaviour.input);
  const isKnown = run.start !== undefined && loading !== null;
  const known = seconds(knownPart(run.start) + knownPart(loading));
  const time = seconds(known + steps * step.time);
  const price = priceOfRun(scenario, time);
  const offer = run.price?.offer;
  return {
    steps,
    initialisation: isKnown || known > 0 ? known : null,
    loading,
    time,
    // A start that nobody gave takes time too.
    exact: isKnown && step.isExact,
    price: price ?? null,
    energy: runEnergy(cluster, scenario.gpus, time, step.time, step.waitingForHost, run.pue),
    ...(offer === undefined ? {} : { offer }),
  };
}

/** US dollars of so many seconds; `undefined` where no price is known. */
export const priceOfRun = ({ run, gpus }: Scenario, time: number): number | undefined =>
  run?.price === undefined ? undefined : (time / 3600) * gpus * run.price.perGpuHour;

/** Steps of all epochs; `undefined` where no run is described. */
export function stepsOfRun({
  run,
  gpus,
  globalBatch,
  batchPerGpu,
  accumulate = 1,
}: Scenario): number | undefined {
  if (run === undefined) return undefined;
  const ofEpoch = Math.ceil(run.samples / (globalBatch ?? batchPerGpu * accumulate * gpus));
  // A part of an epoch ends with a whole step; a product may differ from a whole number in its last digits.
  return Math.ceil(run.epochs * ofEpoch * (1 - Number.EPSILON));
}

/** Reading of the whole data set by each worker before the first step, 0 where the framework reads as it goes. */
function loadingTime(
  { run, input }: Scenario,
  { storage }: ClusterProfile,
  { nodes, gpusPerNode }: Placement,
  { readsAllFirst }: InputHandling,
): Seconds | null {
  if (readsAllFirst === undefined) return seconds(0);
  if (run === undefined || input?.sampleBytes === undefined) return null;
  const whole = run.samples * input.sampleBytes;
  return readingTime(input, storage, gpusPerNode * whole, nodes * gpusPerNode * whole, true);
}
