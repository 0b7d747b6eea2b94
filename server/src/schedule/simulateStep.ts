/** One step after another on its resources: when each piece of work ends, and for which messages the GPU waits. */

import { floatAt, intAt } from '../model/at.ts';
import type { Stall } from './exposure.ts';
import { createGpuStream } from './gpuStream.ts';
import type { InputSupply } from './inputSupply.ts';
import type { MessageSimulation } from './messageSimulation.ts';
import type { Order } from './stepOrder.ts';
import type { StepWork } from './stepWork.ts';

export interface SimulatedStep {
  readonly start: number;
  /** When it has its batch. */
  readonly fed: number;
  readonly end: number;
  readonly forward: Float64Array;
  readonly backward: Float64Array;
  readonly forwardEnds: Float64Array;
  readonly backwardEnds: Float64Array;
  readonly updateTime: number;
  readonly updates: readonly { readonly time: number; readonly end: number }[];
  readonly hostTime: number;
  /** Of it, the part in the update. */
  readonly updateHostTime: number;
  readonly slowedTime: number;
  readonly stalls: readonly Stall[];
  /** By message: when what waits for it started; infinite where the step ended before. */
  readonly neededAt: Float64Array;
}

export function simulateStep(
  work: StepWork,
  order: Order,
  traffic: MessageSimulation,
  supply: InputSupply | undefined,
  steps: readonly SimulatedStep[],
  start: number,
): SimulatedStep {
  const step = steps.length;
  const { forward, backward, messages, update, hostWaits = false } = work;
  const split = forward.device.length;
  const count = split + backward.device.length;
  const moved = { forward: new Float64Array(split), backward: new Float64Array(count - split) };
  const ends = { forward: new Float64Array(split), backward: new Float64Array(count - split) };
  const neededAt = new Float64Array(messages.count).fill(Number.POSITIVE_INFINITY);
  const stalls: Stall[] = [];
  const fed = supply?.arrival(step, start) ?? start;
  const isHeldByInput = work.input !== undefined && work.input.ahead !== 'reading and copying';
  const isSlowed = work.slowing?.some((share) => share > 0) ?? false;
  const gpu = createGpuStream(fed, isHeldByInput ? fed : start, isSlowed ? traffic : undefined);
  let updateTime = 0;
  let updateHostTime = 0;

  const release = (position: number, time: number): void => {
    const { all, first } = order.released;
    const end = intAt(first, position + 1);
    for (let at = intAt(first, position); at < end; at += 1) traffic.release(step, intAt(all, at), time);
  };
  const sentIn = (message: number): number => step - intAt(order.lags, message);
  const arrivalOf = (message: number): number =>
    sentIn(message) < 0 ? 0 : traffic.arrival(sentIn(message), message);
  const launchesOf = (launchShare: number): number => Math.max(1, (update.launches ?? 1) * launchShare);
  /** The host's time for the first kernel of a share of the update. */
  const firstLaunch = (launchShare: number): number => (update.host * launchShare) / launchesOf(launchShare);
  /** `heldShare`, `heldLaunches`: the share of the update that the host launches only then. */
  const waitFor = (message: number, host: number, heldShare = 0, heldLaunches = 0): void => {
    const sent = sentIn(message);
    if (sent < 0) return;
    const arrived = traffic.arrival(sent, message);
    const free = gpu.waitUntil(arrived, host);
    if (arrived > free) stalls.push({ from: free, until: arrived, step: sent, message });
    const harmless =
      heldShare > 0
        ? gpu.holdHost(
            arrived,
            update.device * heldShare,
            update.host * heldLaunches,
            launchesOf(heldLaunches),
          )
        : free;
    const needed = sent === step ? neededAt : steps[sent]?.neededAt;
    if (needed !== undefined) needed[message] = Math.max(arrived, Math.min(free, harmless));
  };
  const updates: { time: number; end: number }[] = [];
  const updateBy = (share: number, launchShare: number): void => {
    const time = gpu.runAlike(update.device * share, update.host * launchShare, launchesOf(launchShare));
    updateTime += time;
    if (time > 0) updates.push({ time, end: gpu.freeAt() });
  };
  /** Waits and runs kernels of the update, whose host is waited for in neither forward nor backward. */
  const updating = (run: () => void): void => {
    const before = gpu.hostTime();
    run();
    updateHostTime += gpu.hostTime() - before;
  };
  const shareOf = (message: number): number => floatAt(messages.updateShare, message);
  const launchShareOf = (message: number): number => floatAt(messages.launchShare, message);

  release(0, start);
  let done = 0;
  for (const stop of order.stops) {
    if (stop > done) {
      gpu.run(forward, done, Math.min(stop, split), moved.forward, ends.forward);
      gpu.run(backward, Math.max(done - split, 0), stop - split, moved.backward, ends.backward);
      done = stop;
      release(stop, gpu.freeAt());
    }
    if (stop === count) break;
    const launch = stop < split ? floatAt(forward.host, stop) : floatAt(backward.host, stop - split);
    const { all, first } = order.waitedFor;
    const end = intAt(first, stop + 1);
    for (let at = intAt(first, stop); at < end; at += 1) {
      const message = intAt(all, at);
      const share = shareOf(message);
      if (share === 0) waitFor(message, launch);
      else {
        updating(() => {
          waitFor(message, firstLaunch(launchShareOf(message)));
          updateBy(share, launchShareOf(message));
        });
      }
    }
  }
  const { all: waiting, first: placed } = order.waitedFor;
  const awaited = waiting.subarray(placed[count], placed[count + 1]);
  const apart = awaited.filter((message) => shareOf(message) > 0);
  updating(() => {
    for (const message of apart.sort((a, b) => arrivalOf(a) - arrivalOf(b))) {
      const [share, launchShare] = [shareOf(message), launchShareOf(message)];
      waitFor(message, firstLaunch(launchShare), hostWaits ? share : 0, launchShare);
      updateBy(share, launchShare);
    }
    for (const message of awaited) {
      if (shareOf(message) === 0)
        waitFor(
          message,
          firstLaunch(order.sharedLaunches),
          hostWaits ? order.sharedUpdate : 0,
          order.sharedLaunches,
        );
    }
    if (update.hostWaits === true) gpu.holdHost(gpu.freeAt(), 0, 0, 1);
    updateBy(order.sharedUpdate, order.sharedLaunches);
  });
  release(count + 1, gpu.freeAt());
  return {
    start,
    fed,
    end: gpu.freeAt(),
    forward: moved.forward,
    backward: moved.backward,
    forwardEnds: ends.forward,
    backwardEnds: ends.backward,
    updateTime,
    updates,
    hostTime: gpu.hostTime(),
    updateHostTime,
    slowedTime: gpu.slowedTime(),
    stalls,
    neededAt,
  };
}
