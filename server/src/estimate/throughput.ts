/** Samples per second over all workers. */

import { type Seconds, seconds } from '../model/units.ts';
import { workerTimeline, workerTimes } from './plan/plannedTimes.ts';
import { passesOf, type StepPlan, timeAtServers } from './plan/stepPlan.ts';

export function throughputOf(plan: StepPlan, step: Seconds): number {
  const { training, scenario } = plan;
  const samples = scenario.globalBatch ?? training.batch * passesOf(scenario) * scenario.gpus;
  return samples / meanStep(plan, step);
}

/**
 * Seconds in which all workers together take as many steps as there are workers; `step` is that of the slowest. Workers
 * that wait for each other finish a step together. Those that do not add up what each does in a time of its own, as far
 * as the servers keep up: faster GPUs do more, and one straggler holds up nobody else.
 */
export const meanStep = (plan: StepPlan, step: Seconds): Seconds =>
  plan.exchange.synchrony === 'synchronous' || plan.scenario.gpus === 1
    ? step
    : seconds(Math.max(meanWorkerStep(plan), timeAtServers(plan)));

/** Seconds in which workers that do not wait for each other take as many steps as there are workers. */
export function meanWorkerStep(plan: StepPlan): number {
  const { scenario, faster } = plan;
  const { gpus, workers } = scenario;
  const { step } = workerTimeline(plan, 'middle');
  const fast = faster?.count ?? 0;
  const straggler = workers?.straggler ?? 1;
  const heldUp = straggler === 1 ? step : workerTimes({ ...plan, imbalance: straggler }, 'middle').step;
  const fastSteps = faster === undefined ? 0 : fast / workerTimes(faster.plan, 'middle').step;
  return gpus / ((gpus - fast - 1) / step + 1 / heldUp + fastSteps);
}
