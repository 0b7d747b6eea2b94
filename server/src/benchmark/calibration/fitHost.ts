/** How fast the host of a machine launches eager PyTorch, from steps that benchmarks ran there. */

import { passesOf, type StepPlan } from '../../estimate/plan/stepPlan.ts';
import { launchesOf } from '../../estimate/plan/stepSpread.ts';
import type { LaunchFile } from '../../hardware/profileOfFile.ts';
import { programIsFaster } from './hostOfProgram.ts';
import { type TimedStep, waitsForHost } from './waitsForHost.ts';

/** A step, and what the host took to launch it, in seconds. */
export interface HostTiming {
  readonly launches: number;
  readonly host: number;
  readonly whole: number;
  /** Its GPU waited: the step took as long as the host. */
  readonly waits: boolean;
}

/** `undefined` where the host was not timed, as on a processor. */
export function hostTimingOf(plan: StepPlan, measured: TimedStep): HostTiming | undefined {
  const { host, whole } = measured.step ?? {};
  if (host === undefined || whole === undefined) return undefined;
  const isTraining = plan.scenario.mode === 'training';
  const launches = launchesOf({ ...plan, isTraining, passes: passesOf(plan.scenario) });
  return { launches, host, whole, waits: waitsForHost(measured) };
}

/**
 * Microseconds for a launch, for models as people write them: the median of the steps that waited for their host, by how long they took,
 * since their host's quickest run is no usual one. Where none waited, by the host's times of short steps. `undefined` where none tells: of a
 * long step the host fills its queue, and then takes as long as the GPU.
 */
export function fitHost(timings: readonly HostTiming[], source: string): LaunchFile | undefined {
  const told = timings.filter(({ launches }) => launches > 0);
  const waiting = told.filter(({ waits }) => waits).map(({ launches, whole }) => whole / launches);
  const short = told.filter(({ launches }) => launches < queue).map(({ launches, host }) => host / launches);
  const rates = (waiting.length > 0 ? waiting : short).sort((a, b) => a - b);
  const [lower, upper] = [
    rates[Math.floor((rates.length - 1) / 2)],
    rates[Math.ceil((rates.length - 1) / 2)],
  ];
  if (lower === undefined || upper === undefined || lower === 0) return undefined;
  const middle = 1e6 * programIsFaster * Math.sqrt(lower * upper);
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

/** Of host times per launch of 24 steps on an H200, 21 are within this factor of the median of their hour. */
const modelsDiffer = 1.25;
