/** To which messages the GPU's waiting belongs, and how much later messages could end without making it wait. */

import { floatAt, intAt } from '../model/at.ts';
import type { Jobs } from './jobs.ts';

/** The GPU waits from one time until another, when a message of a step arrives. */
export interface Stall {
  readonly from: number;
  readonly until: number;
  readonly step: number;
  readonly message: number;
}

/**
 * Shares each stall among the messages that were on their way while it lasted: back from the one that ends it, through
 * its stages and those that held their channels before. By message; the shares add up to the stalls.
 */
export function exposureOfMessages(stalls: readonly Stall[], jobs: Jobs, messages: number): Float64Array {
  const exposed = new Float64Array(messages);
  const { messageOf, perStep: jobsPerStep, ready, start: starts, previous } = jobs;
  for (const stall of stalls) {
    let upper = stall.until;
    let job = jobs.jobOf(stall.step, stall.message + 1) - 1;
    while (upper > stall.from && job >= 0) {
      const start = floatAt(starts, job);
      const kind = job % jobsPerStep;
      const message = intAt(messageOf, kind);
      exposed[message] = floatAt(exposed, message) + upper - Math.max(start, stall.from);
      upper = start;
      const isHeldByChannel = start - floatAt(ready, job) > rounding * start;
      const isLaterStage = kind > 0 && messageOf[kind - 1] === message;
      job = isHeldByChannel ? intAt(previous, job) : isLaterStage ? job - 1 : -1;
    }
    if (upper > stall.from) {
      exposed[stall.message] = floatAt(exposed, stall.message) + upper - stall.from;
    }
  }
  return exposed;
}

/**
 * Of a time, what adding up may be off by: a stage that is ready just when its channel is free is not held by it, whichever
 * of the two comes out a hair later.
 */
const rounding = 1e-12;

/**
 * By message of a step: the least of what is left until something waits for it, and until it would push back a message
 * behind it that has no more to spare; `neededAt` is by step and message, infinite where that lies beyond the steps.
 */
export function slackOfMessages(
  step: number,
  neededAt: readonly Float64Array[],
  jobs: Jobs,
  messages: number,
): Float64Array {
  const { messageOf, perStep: jobsPerStep, start, end, previous, started, startedCount } = jobs;
  const latestEnd = new Float64Array(end.length).fill(Number.POSITIVE_INFINITY);
  /** Infinite for a job that has not started. */
  const latestStart = new Float64Array(end.length).fill(Number.POSITIVE_INFINITY);
  for (let at = startedCount - 1; at >= 0; at -= 1) {
    const job = intAt(started, at);
    const kind = job % jobsPerStep;
    const message = intAt(messageOf, kind);
    const isLast = messageOf[kind + 1] !== message;
    const needed = isLast
      ? (neededAt[(job - kind) / jobsPerStep]?.[message] ?? Number.POSITIVE_INFINITY)
      : (latestStart[job + 1] ?? Number.POSITIVE_INFINITY);
    const latest = Math.min(floatAt(latestEnd, job), needed);
    latestEnd[job] = latest;
    if (latest === Number.POSITIVE_INFINITY) continue;
    const latestOfStart = latest - (floatAt(end, job) - floatAt(start, job));
    latestStart[job] = latestOfStart;
    const before = intAt(previous, job);
    if (before >= 0) latestEnd[before] = Math.min(floatAt(latestEnd, before), latestOfStart);
  }
  const slack = new Float64Array(messages);
  for (let message = 0; message < messages; message += 1) {
    const job = jobs.jobOf(step, message + 1) - 1;
    const spare = floatAt(latestEnd, job) - floatAt(end, job);
    slack[message] = Number.isFinite(spare) ? Math.max(0, spare) : 0;
  }
  return slack;
}
