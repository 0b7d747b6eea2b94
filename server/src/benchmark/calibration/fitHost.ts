/** How fast the host of a machine launches eager PyTorch, from steps that benchmarks ran there. */

import { passesOf, type StepPlan } from '../../estimate/plan/stepPlan.ts';
import { launchesOf } from '../../estimate/plan/stepSpread.ts';
import type { LaunchFile } from '../../hardware/profileOfFile.ts';

/** A step, and what the host took to launch it, in seconds. */
export interface HostTiming {
  readonly launches: number;
  readonly host: number;
  readonly whole: number;
}

/** `undefined` where the host was not timed, as on a processor. */
export function hostTimingOf(
  plan: StepPlan,
  step: { readonly whole: number; readonly host?: number } | undefined,
): HostTiming | undefined {
  if (step?.host === undefined) return undefined;
  const isTraining = plan.scenario.mode === 'training';
  const launches = launchesOf({ ...plan, isTraining, passes: passesOf(plan.scenario) });
  return { launches, host: step.host, whole: step.whole };
}

/**
 * Microseconds for a launch: the median of the steps that tell, for models as people write them. `undefined` where none tells: of a
 * long step the host fills its queue, and then takes as long as the GPU.
 */
export function fitHost(timings: readonly HostTiming[], source: string): LaunchFile | undefined {
  const rates = timings
    .filter(({ launches, host, whole }) => launches > 0 && (launches < queue || host > hostBound * whole))
    .map(({ launches, host }) => (1e6 * host) / launches)
    .sort((a, b) => a - b);
  const [lower, upper] = [
    rates[Math.floor((rates.length - 1) / 2)],
    rates[Math.ceil((rates.length - 1) / 2)],
  ];
  if (lower === undefined || upper === undefined || lower === 0) return undefined;
  const middle = moduleCalls * Math.sqrt(lower * upper);
  const rounded = (value: number): number => Number(value.toPrecision(3));
  return {
    microseconds: rounded(middle),
    low: rounded(middle / modelsDiffer),
    high: rounded(middle * modelsDiffer),
    source,
  };
}

/** Launches that CUDA queues before the host has to wait. */
const queue = 1000;

/** Share of the step from which the GPU, not the queue, is what waited. */
const hostBound = 0.93;

/**
 * A model of modules takes its host longer than the program that a benchmark runs, which calls functions alone. Source: ResNet-50 on
 * an H200, 23 ms for 578 launches beside 20 (measured/steps-eager.csv and benchmarks in the same hour).
 */
const moduleCalls = 1.16;

/** Of host times per launch of 24 steps on an H200, 21 are within this factor of the median of their hour. */
const modelsDiffer = 1.25;
