/** How wide ranges of whole steps have to be: half-widths by cause, fitted to the errors of measured steps. */

import { updateWaits } from '../../server/src/estimate/plan/plannedWork.ts';
import { passesOf, type StepPlan } from '../../server/src/estimate/plan/stepPlan.ts';
import { hostWidth, launchesOf, sumsOf } from '../../server/src/estimate/plan/stepSpread.ts';
import {
  type DoubtfulParts,
  type KernelDoubt,
  kernelWidth,
  type Sides,
  type StepDoubts,
  stepWidth,
} from '../../server/src/hardware/kernelDoubt.ts';
import { kernelTime } from '../../server/src/hardware/kernelTime.ts';
import type { KernelWork } from '../../server/src/hardware/kernelWork.ts';
import { kernelsOfPasses } from '../measured/kernelsOfPasses.ts';
import { descend } from './descend.ts';
import { rounded } from './fit.ts';

/** What the time of a step rests on, as fractions of it. */
export interface StepShares {
  /** On curves and corrections. */
  readonly kernels: readonly { readonly doubt: KernelDoubt; readonly share: number }[];
  /** Of kernels on a roofline, each times its half-width, which no fit changes. */
  readonly roofline: number;
  /** What composites would take longer, were they no single kernels. */
  readonly assumed: number;
  /** Half-widths for how fast the host launches. */
  readonly host: Sides;
  /** Of a framework of 2015 to 2019. */
  readonly isOld: boolean;
}

/** A measured step of a set. */
export interface DoubtedStep {
  readonly set: string;
  readonly shares: StepShares;
  /** ln(measured / predicted). */
  readonly error: number;
}

export function stepShares(plan: StepPlan): StepShares {
  const { scenario, behaviour } = plan;
  const isTraining = scenario.mode === 'training';
  const passes = passesOf(scenario);
  const seconds = new Map<string, { readonly doubt: KernelDoubt; time: number }>();
  let [device, roofline] = [0, 0];
  const add = (kernel: KernelWork, count: number): void => {
    const { time, doubt } = kernelTime(plan.cluster.gpu, kernel);
    device += count * time;
    if (doubt.cause === 'roofline') {
      roofline += count * time * doubt.seen.high;
      return;
    }
    const key = JSON.stringify(doubt);
    const found = seconds.get(key);
    if (found === undefined) seconds.set(key, { doubt, time: count * time });
    else found.time += count * time;
  };
  for (const kernel of kernelsOfPasses(plan.lowered)) add(kernel, passes);
  if (isTraining) for (const kernel of plan.update.kernels) add(kernel, 1);
  const launches = launchesOf({ ...plan, isTraining, passes });
  const waits = updateWaits(plan, plan.updateTimes);
  const whole = Math.max(device, launches * behaviour.launch.middle) + waits.middle;
  const assumed = sumsOf({ ...plan, isTraining, passes })('doubtAssumed');
  return {
    kernels: [...seconds.values()].map(({ doubt, time }) => ({ doubt, share: time / whole })),
    roofline: roofline / whole,
    assumed: assumed / whole,
    host: hostWidth(behaviour.launch, device, launches, waits),
    isOld: behaviour.isOld === true,
  };
}

/** Of a time of which the step is a part, and of whose rest nothing is doubted. */
export function sharesOf({ kernels, roofline, assumed, host, isOld }: StepShares, part: number): StepShares {
  return {
    kernels: kernels.map(({ doubt, share }) => ({ doubt, share: share * part })),
    roofline: roofline * part,
    assumed: assumed * part,
    host: { low: host.low * part, high: host.high * part },
    isOld,
  };
}

/** Half-widths of a step of these shares. */
export function widthBy({ kernels, roofline, assumed, host, isOld }: StepShares, doubts: StepDoubts): Sides {
  const sums = { steps: { low: 0, high: 0 }, matmul: 0, convolution: 0, other: 0, roofline };
  for (const { doubt, share } of kernels) {
    const { low, high } = kernelWidth(doubt, doubts);
    if (doubt.cause === 'steps') {
      sums.steps.low += share * low;
      sums.steps.high += share * high;
    } else sums[doubt.cause] += share * high;
  }
  const parts: DoubtfulParts = { ...sums, assumed, isOld };
  const { low, high } = stepWidth(parts, doubts);
  return { low: Math.hypot(low, host.low), high: Math.hypot(high, host.high) };
}

/**
 * The half-widths by which the errors are likeliest, as of a Laplace distribution of two sides of which 80 % lie between. Steps of
 * a set share their machine and releases: n of them weigh as n^0.4.
 */
export function fitDoubts(steps: readonly DoubtedStep[]): StepDoubts {
  const rows = new Map<string, number>();
  for (const { set } of steps) rows.set(set, (rows.get(set) ?? 0) + 1);
  const loss = (parameters: readonly number[]): number => {
    const doubts = doubtsOf(parameters);
    let sum = 0;
    for (const { set, shares, error } of steps) {
      const { low, high } = widthBy(shares, doubts);
      const far = Math.abs(error) / (error < 0 ? low : high);
      sum += (Math.log((low + high) / 2) + Math.log(5) * far) / (rows.get(set) ?? 1) ** 0.6;
    }
    return sum;
  };
  const start = [0.05, 0.15, 0.1, 0.1, 0.2, 0.02, 0.3, 0.1];
  const found = descend(
    start,
    start.map(() => 2),
    loss,
  );
  const { generation, ...doubts } = doubtsOf(found.parameters.map(rounded));
  return { ...doubts, generation: rounded(generation) };
}

/** A GPU less alike is never less doubtful, whatever few steps say: a parameter is what it adds to the one more alike. */
function doubtsOf(parameters: readonly number[]): StepDoubts {
  const [always = 0, matmul = 0, convolution = 0, other = 0, architecture = 0, more = 0] = parameters;
  const [assumed = 0, framework = 0] = parameters.slice(6);
  const generation = architecture + more;
  return { always, matmul, convolution, other, architecture, generation, assumed, framework };
}
