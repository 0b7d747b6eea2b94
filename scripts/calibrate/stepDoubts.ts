/** How wide ranges of whole steps have to be: half-widths by cause, fitted to the errors of measured steps. */

import { passesOf, type StepPlan } from '../../server/src/estimate/plan/stepPlan.ts';
import { isAssumedLaunch } from '../../server/src/frameworks/pytorch/eagerLaunch.ts';
import { type DoubtCause, type StepDoubts, stepWidth } from '../../server/src/hardware/kernelDoubt.ts';
import { kernelTime } from '../../server/src/hardware/kernelTime.ts';
import type { KernelWork } from '../../server/src/hardware/kernelWork.ts';
import { kernelsOfPasses } from '../measured/kernelsOfPasses.ts';
import { descend } from './descend.ts';
import { rounded } from './fit.ts';

/** Fractions of the time of a step, by what each rests on. Of steps and rooflines it is times their own half-width. */
export type CauseShares = Readonly<Record<DoubtCause | 'launches', number>>;

/** A measured step of a set. */
export interface DoubtedStep {
  readonly set: string;
  readonly shares: CauseShares;
  /** ln(measured / predicted). */
  readonly error: number;
}

export function causeShares(plan: StepPlan): CauseShares {
  const seconds = { steps: 0, measured: 0, architecture: 0, generation: 0, roofline: 0 };
  let [device, launches] = [0, 0];
  const add = (kernel: KernelWork, count: number): void => {
    const { time, doubt } = kernelTime(plan.cluster.gpu, kernel);
    const isOwnWidth = doubt.cause === 'steps' || doubt.cause === 'roofline';
    seconds[doubt.cause] += count * time * (isOwnWidth ? doubt.width : 1);
    device += count * time;
    launches += count * kernel.launches;
  };
  for (const kernel of kernelsOfPasses(plan.lowered)) add(kernel, passesOf(plan.scenario));
  if (plan.scenario.mode === 'training') for (const kernel of plan.update.kernels) add(kernel, 1);
  const { launch } = plan.behaviour;
  const host = launches * launch.middle;
  const whole = Math.max(device, host);
  return {
    steps: seconds.steps / whole,
    measured: seconds.measured / whole,
    architecture: seconds.architecture / whole,
    generation: seconds.generation / whole,
    roofline: seconds.roofline / whole,
    launches: isAssumedLaunch(launch) ? host / whole : 0,
  };
}

/** Half-width of a step of these shares. */
export const widthBy = (shares: CauseShares, doubts: StepDoubts): number =>
  stepWidth(
    {
      own: shares.steps + doubts.measured * shares.measured,
      other: doubts.architecture * shares.architecture + doubts.generation * shares.generation,
      roofline: shares.roofline,
      launches: shares.launches,
    },
    doubts,
  );

/**
 * The half-widths by which the errors are likeliest, as of a Laplace distribution of which 80 % lie between. Steps of a set share
 * their machine and releases: n of them weigh as n^0.4.
 */
export function fitDoubts(steps: readonly DoubtedStep[]): StepDoubts {
  const rows = new Map<string, number>();
  for (const { set } of steps) rows.set(set, (rows.get(set) ?? 0) + 1);
  const loss = (parameters: readonly number[]): number => {
    const doubts = doubtsOf(parameters);
    let sum = 0;
    for (const { set, shares, error } of steps) {
      const width = widthBy(shares, doubts);
      sum += (Math.log(width) + (Math.log(5) * Math.abs(error)) / width) / (rows.get(set) ?? 1) ** 0.6;
    }
    return sum;
  };
  const start = [0.05, 0.1, 0.05, 0.1, 0.8];
  const found = descend(
    start,
    start.map(() => 2),
    loss,
  );
  const { always, measured, architecture, generation, launches } = doubtsOf(found.parameters);
  return {
    always: rounded(always),
    measured: rounded(measured),
    architecture: rounded(architecture),
    generation: rounded(generation),
    launches: rounded(launches),
  };
}

/** A GPU less alike is never less doubtful, whatever few steps say: parameters are what it adds to the one more alike. */
function doubtsOf(parameters: readonly number[]): StepDoubts {
  const [always = 0, measured = 0, moreByGpu = 0, moreByGeneration = 0, launches = 0] = parameters;
  const architecture = measured + moreByGpu;
  return { always, measured, architecture, generation: architecture + moreByGeneration, launches };
}
