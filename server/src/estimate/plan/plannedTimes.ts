/** A planned step on its timeline: all its passes, and what waits at servers for other workers. */

import { floatAt, itemAt } from '../../model/at.ts';
import type { Bound } from '../../model/estimate.ts';
import { memoizeRecent } from '../../model/memoizeRecent.ts';
import { type Seconds, seconds } from '../../model/units.ts';
import { repeatPasses, repeatTimes } from '../../schedule/repeatPasses.ts';
import { type StepTimeline, type StepTimes, stepTimeline, stepTimes } from '../../schedule/stepTimeline.ts';
import { earlierPass, noUpdate, withoutUpdated, workAlone, workOf } from './plannedWork.ts';
import { passesOf, type StepPlan, timeAtServers } from './stepPlan.ts';

/** The plan on its timeline. */
export function timelineOf(plan: StepPlan, bound: Bound): StepTimeline {
  const line = workerTimeline(plan, bound);
  const time = timeInQueue(line, plan);
  if (time === 0) return line;
  const queue = queueOfMessages(plan, bound);
  const exposed = line.exposed.map((own, index) => own + queue(index));
  return {
    ...queued(line, time),
    exposed,
    messages: line.messages.map((message, index) => ({
      ...message,
      exposed: seconds(floatAt(exposed, index)),
      slack: seconds(0),
    })),
  };
}

/** How long each message waits at servers for those of other workers: by what it keeps its server for. */
export function queueOfMessages(plan: StepPlan, bound: Bound): (message: number) => number {
  const time = timeInQueue(workerTimeline(plan, bound), plan);
  if (time === 0) return () => 0;
  const { placement, traffic } = plan;
  const perServerTime = (time * placement.nodes) / timeAtServers(plan);
  return (message) => perServerTime * itemAt(traffic.serverTimes, message);
}

/**
 * Its times alone, which is less work. `growth` scales GPU work of the model, as a larger batch would; `sent` is the bound of
 * what is sent, where that is another.
 */
export const timesOf = (plan: StepPlan, bound: Bound, growth = 1, sent = bound): StepTimes =>
  withQueue(plan, workerTimes(plan, bound, growth, sent));

function withQueue(plan: StepPlan, times: StepTimes): StepTimes {
  const time = timeInQueue(times, plan);
  return time === 0 ? times : queued(times, time);
}

/** Times of the last pass of a step, which exchanges and updates, and of one before it. */
export interface PassesOfStep {
  readonly last: StepTimes;
  readonly earlier: StepTimes;
}

/** The same as `timesOf`, of passes that were laid out already. */
export function timesOfPasses(plan: StepPlan, { last, earlier }: PassesOfStep): StepTimes {
  const passes = passesOf(plan.scenario);
  return withQueue(plan, passes === 1 ? last : repeatTimes(last, earlier, passes));
}

/** The timeline of one worker, without queues at servers that other workers cause. */
export const workerTimeline = (plan: StepPlan, bound: Bound): StepTimeline =>
  plan.exchange.synchrony === 'synchronous' ? simulateWorker(plan, bound) : keptTimeline(plan, bound);

const keptTimeline = memoizeRecent(
  (plan: StepPlan, bound: Bound): StepTimeline => simulateWorker(plan, bound),
  (known, asked) => known === asked,
);

function simulateWorker(plan: StepPlan, bound: Bound): StepTimeline {
  const work = workOf(plan, bound);
  const pass = stepTimeline(work);
  const passes = passesOf(plan.scenario);
  if (passes === 1) return pass;
  return repeatPasses(pass, stepTimeline(earlierPass(plan, work, bound)), passes);
}

export function workerTimes(plan: StepPlan, bound: Bound, growth = 1, sent = bound): StepTimes {
  const work = workOf(plan, bound, growth, sent);
  const pass = stepTimes(work);
  const passes = passesOf(plan.scenario);
  if (passes === 1) return pass;
  return repeatTimes(pass, stepTimes(earlierPass(plan, work, bound, growth)), passes);
}

/** The plan on one GPU by itself: it sends nothing, updates all parameters, and shares no source of input. */
export function timesAlone(plan: StepPlan, bound: Bound): StepTimes {
  const passes = passesOf(plan.scenario);
  const pass = passAlone(plan, bound);
  if (passes === 1) return pass;
  const earlier = workAlone(plan, bound, plan.ownGradientTimes?.earlier);
  const messages = withoutUpdated(earlier.messages, plan.training.costs.length);
  return repeatTimes(pass, stepTimes({ ...earlier, messages, update: noUpdate }), passes);
}

export const passAlone = (plan: StepPlan, bound: Bound): StepTimes =>
  stepTimes(workAlone(plan, bound, plan.ownGradientTimes?.last));

/**
 * What the faster of two kinds of GPUs wait in every step for the slower: none where there is one kind, or where nobody
 * waits. `step` is that of all.
 */
export const waitingForSlower = ({ faster, exchange }: StepPlan, step: number): Seconds =>
  seconds(
    faster === undefined || exchange.synchrony !== 'synchronous'
      ? 0
      : Math.max(0, step - timesOf(faster.plan, 'middle').step),
  );

/**
 * Workers without a barrier queue where the servers take longer for the exchanges of all than one takes for its step: for
 * so long.
 */
const timeInQueue = ({ step }: StepTimes, plan: StepPlan): number =>
  plan.exchange.synchrony === 'synchronous' ? 0 : Math.max(0, timeAtServers(plan) - step);

const queued = <Times extends StepTimes>(times: Times, time: number): Times => ({
  ...times,
  communicationTime: seconds(times.communicationTime + time),
  exposedTime: seconds(times.exposedTime + time),
  step: seconds(times.step + time),
});
