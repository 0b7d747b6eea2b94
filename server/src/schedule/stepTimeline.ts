/**
 * One training step on its resources: the host launches, the GPU computes, messages travel.
 *
 * The closed forms of the literature are special cases (performance models of synchronous SGD, Shi, Wang, Chu,
 * arXiv 1711.05979 and 1811.11141): without messages t = t_f + t_b + t_u; with one message after backward
 * t = t_f + t_b + t_c + t_u; with a message per layer sent while the layer before it back-propagates, the
 * wait-free recursion τ_c(l) = max(τ_c(l+1) + t_c(l+1), τ_b(l) + t_b(l)). Reading input is not modelled.
 */

import { type Seconds, seconds } from '../model/units.ts';
import { createResources, type Resources } from './resources.ts';

/** Pieces of GPU work in seconds, each with the host time it takes to launch it; columns of one length. */
export interface LaunchedWork {
  readonly device: Float64Array;
  readonly host: Float64Array;
}

export interface TimedMessage {
  readonly time: Seconds;
  /** Index into `backward` of the last work whose gradient it carries. */
  readonly readyAfter: number;
}

export interface StepWork {
  readonly forward: LaunchedWork;
  /** In the order it runs, last layer first. */
  readonly backward: LaunchedWork;
  /** In the order they are sent; `readyAfter` never decreases. */
  readonly messages: readonly TimedMessage[];
  readonly update: { readonly device: Seconds; readonly host: Seconds };
  /** Messages travel while backward runs, or wait for its end. */
  readonly overlap: boolean;
}

export interface StepTimeline {
  /**
   * By how much each piece of work moves the end of the GPU's work, waiting for the host included, aligned with
   * the input; they add up to `forwardTime` and `backwardTime`.
   */
  readonly forward: Float64Array;
  readonly backward: Float64Array;
  readonly messages: readonly SentMessage[];
  readonly forwardTime: Seconds;
  readonly backwardTime: Seconds;
  readonly communicationTime: Seconds;
  /** From the end of backward to the end of the last message: t_c^no. */
  readonly exposedTime: Seconds;
  readonly updateTime: Seconds;
  readonly step: Seconds;
}

export interface SentMessage {
  readonly start: Seconds;
  readonly end: Seconds;
  /** The part after backward has ended. */
  readonly exposed: Seconds;
}

const host = 0;
const compute = 1;
const network = 2;

/** Launches the pieces from `first` to before `end`; `moved` takes by how much each moves the end of the GPU's work. */
function run(
  resources: Resources,
  pieces: LaunchedWork,
  first: number,
  end: number,
  moved: Float64Array,
): void {
  let launched = resources.freeAt(host);
  let computed = resources.freeAt(compute);
  for (let index = first; index < end; index += 1) {
    launched += pieces.host[index] ?? 0;
    const done = Math.max(computed, launched) + (pieces.device[index] ?? 0);
    moved[index] = done - computed;
    computed = done;
  }
  resources.continueFrom(host, launched);
  resources.continueFrom(compute, computed);
}

export function stepTimeline(work: StepWork): StepTimeline {
  const resources = createResources(3);
  const forward = new Float64Array(work.forward.device.length);
  run(resources, work.forward, 0, forward.length, forward);
  const forwardTime = resources.freeAt(compute);

  const backward = new Float64Array(work.backward.device.length);
  const sent: { start: number; end: number }[] = [];
  const send = (): void => {
    const start = Math.max(resources.freeAt(network), resources.freeAt(compute));
    const end = resources.occupy(network, work.messages[sent.length]?.time ?? 0, start);
    sent.push({ start, end });
  };
  let done = 0;
  if (work.overlap) {
    for (const { readyAfter } of work.messages) {
      const until = Math.min(readyAfter + 1, backward.length);
      if (until > done) run(resources, work.backward, done, until, backward);
      done = Math.max(done, until);
      if (readyAfter < backward.length) send();
    }
  }
  run(resources, work.backward, done, backward.length, backward);
  const backwardEnd = resources.freeAt(compute);
  while (sent.length < work.messages.length) send();

  const communicationEnd = Math.max(backwardEnd, resources.freeAt(network));
  const launched = resources.occupy(host, work.update.host, 0);
  const step = resources.occupy(compute, work.update.device, Math.max(launched, communicationEnd));
  return {
    forward,
    backward,
    messages: sent.map(({ start, end }) => ({
      start: seconds(start),
      end: seconds(end),
      exposed: seconds(Math.max(0, end - Math.max(start, backwardEnd))),
    })),
    forwardTime: seconds(forwardTime),
    backwardTime: seconds(backwardEnd - forwardTime),
    communicationTime: seconds(work.messages.reduce((total, message) => total + message.time, 0)),
    exposedTime: seconds(communicationEnd - backwardEnd),
    updateTime: seconds(step - communicationEnd),
    step: seconds(step),
  };
}
