/**
 * One training step on its resources: the host launches, the GPU computes, messages travel.
 *
 * The closed forms of the literature are special cases (performance models of synchronous SGD, Shi, Wang, Chu,
 * arXiv 1711.05979 and 1811.11141): without messages t = t_f + t_b + t_u; with one message after backward
 * t = t_f + t_b + t_c + t_u; with a message per layer sent while the layer before it back-propagates, the
 * wait-free recursion τ_c(l) = max(τ_c(l+1) + t_c(l+1), τ_b(l) + t_b(l)). Reading input is not modelled.
 */

import { type Seconds, seconds } from '../model/units.ts';
import { scheduleTasks, type Task } from './scheduleTasks.ts';

/** GPU work with the host time it takes to launch it. */
export interface LaunchedWork {
  readonly device: Seconds;
  readonly host: Seconds;
}

export interface TimedMessage {
  readonly time: Seconds;
  /** Index into `backward` of the last work whose gradient it carries. */
  readonly readyAfter: number;
}

export interface StepWork {
  readonly forward: readonly LaunchedWork[];
  /** In the order it runs, last layer first. */
  readonly backward: readonly LaunchedWork[];
  /** In the order they are sent; `readyAfter` never decreases. */
  readonly messages: readonly TimedMessage[];
  readonly update: LaunchedWork;
  /** Messages travel while backward runs, or wait for its end. */
  readonly overlap: boolean;
}

/** Where a piece of work lies; its `time` is how much later the GPU is done because of it, waiting included. */
export interface Span {
  readonly start: Seconds;
  readonly end: Seconds;
}

export interface StepTimeline {
  /** By how much each piece of work moves the end of the GPU's work, aligned with the input; sums are exact. */
  readonly forward: readonly Seconds[];
  readonly backward: readonly Seconds[];
  readonly messages: readonly (Span & { readonly exposed: Seconds })[];
  readonly forwardTime: Seconds;
  readonly backwardTime: Seconds;
  readonly communicationTime: Seconds;
  /** From the end of backward to the end of the last message: t_c^no. */
  readonly exposedTime: Seconds;
  readonly updateTime: Seconds;
  readonly step: Seconds;
}

const host = 0;
const compute = 1;
const network = 2;

export function stepTimeline(work: StepWork): StepTimeline {
  const tasks: Task[] = [];
  const computeTasks: number[] = [];
  const messageTasks: number[] = [];

  const launch = (item: LaunchedWork, after: readonly number[]): void => {
    tasks.push({ resource: host, duration: item.host, after: [] });
    tasks.push({ resource: compute, duration: item.device, after: [tasks.length - 1, ...after] });
    computeTasks.push(tasks.length - 1);
  };
  const send = (message: TimedMessage, after: number | undefined): void => {
    tasks.push({ resource: network, duration: message.time, after: after === undefined ? [] : [after] });
    messageTasks.push(tasks.length - 1);
  };

  for (const item of work.forward) launch(item, []);
  const forwardCount = computeTasks.length;
  let next = 0;
  for (const [index, item] of work.backward.entries()) {
    launch(item, []);
    if (!work.overlap) continue;
    for (let message = work.messages[next]; message && message.readyAfter <= index; ) {
      send(message, computeTasks.at(-1));
      next += 1;
      message = work.messages[next];
    }
  }
  for (const message of work.messages.slice(next)) send(message, computeTasks.at(-1));
  launch(work.update, messageTasks.slice(-1));

  const { starts, ends } = scheduleTasks(tasks);
  const endOf = (position: number): number => ends[computeTasks[position] ?? -1] ?? 0;
  const growth = computeTasks.map((_, position) =>
    seconds(endOf(position) - (position === 0 ? 0 : endOf(position - 1))),
  );
  const backwardCount = work.backward.length;
  const forwardTime = forwardCount === 0 ? 0 : endOf(forwardCount - 1);
  const backwardEnd = backwardCount === 0 ? forwardTime : endOf(forwardCount + backwardCount - 1);
  const messages = messageTasks.map((task) => {
    const start = starts[task] ?? seconds(0);
    const end = ends[task] ?? seconds(0);
    return { start, end, exposed: seconds(Math.max(0, end - Math.max(start, backwardEnd))) };
  });
  const lastMessage = messages.at(-1)?.end ?? 0;
  const exposedTime = Math.max(0, lastMessage - backwardEnd);
  const step = endOf(computeTasks.length - 1);
  return {
    forward: growth.slice(0, forwardCount),
    backward: growth.slice(forwardCount, forwardCount + backwardCount),
    messages,
    forwardTime: seconds(forwardTime),
    backwardTime: seconds(backwardEnd - forwardTime),
    communicationTime: seconds(work.messages.reduce((total, message) => total + message.time, 0)),
    exposedTime: seconds(exposedTime),
    updateTime: seconds(step - backwardEnd - exposedTime),
    step: seconds(step),
  };
}
