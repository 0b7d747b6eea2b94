/**
 * By how much the slowest worker is slower than the average: a synchronous step waits for it.
 *
 * Kavarakuntla et al. (IUCC 2021) put a load-imbalance factor T_max/T_avg into the time of a step. It is given, or
 * follows from the spread of times that are normally distributed: 1 + σ/µ·E[max of N standard normals]; or one worker is
 * known to take so many times as long as the others.
 */

import type { WorkersScenario } from '../../model/scenario.ts';

/** The slowest over what a worker takes by the prediction; 1 for one worker, and where nothing is said. */
export function imbalanceFactor(workers: WorkersScenario | undefined, gpus: number): number {
  if (workers === undefined || gpus <= 1) return 1;
  const { imbalance = 1, spread = 0, straggler = 1 } = workers;
  return imbalance * Math.max(straggler, spread === 0 ? 1 : 1 + spread * expectedMaximum(gpus));
}

export const saysHowWorkersDiffer = (workers: WorkersScenario | undefined): boolean =>
  workers?.imbalance !== undefined || workers?.spread !== undefined || workers?.straggler !== undefined;

/**
 * E[max of n standard normals] = ∫ x·n·φ(x)·Φ(x)^(n−1) dx, by Simpson's rule over ±10. To three digits 0.564, 1.029,
 * 1.424, 1.766, 2.070 for n = 2, 4, 8, 16, 32.
 */
export function expectedMaximum(n: number): number {
  if (n <= 1) return 0;
  const steps = 2000;
  const from = -10;
  const width = (2 * -from) / steps;
  let below = 0;
  let before = density(from);
  let total = 0;
  for (let step = 1; step <= steps; step += 1) {
    const x = from + step * width;
    const here = density(x);
    below += ((before + here + 4 * density(x - width / 2)) * width) / 6;
    before = here;
    const weight = step === steps ? 1 : step % 2 === 1 ? 4 : 2;
    total += weight * x * n * here * Math.min(1, below) ** (n - 1);
  }
  return (total * width) / 3;
}

const density = (x: number): number => Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
