/** Messages as one step meets them: those that its work releases, and those of this step or earlier ones that it waits for. */

import { intAt } from '../model/at.ts';
import type { Stall } from './exposure.ts';
import type { AlikeKernels, GpuStream } from './gpuStream.ts';
import type { MessageSimulation } from './messageSimulation.ts';
import type { Order } from './stepOrder.ts';

export interface StepMessages {
  /** Messages that may start when so much of the work has ended start at `time`. */
  readonly release: (position: number, time: number) => void;
  /** Messages that wait at a position. */
  readonly waitedFor: (position: number) => Int32Array;
  /** When it arrives; 0 where a step before the first one would have sent it. */
  readonly arrival: (message: number) => number;
  /**
   * The next kernel, which takes the host `host` to launch, waits for a message. `held`: kernels that the host launches only
   * when it has arrived.
   */
  readonly waitFor: (message: number, host: number, held?: AlikeKernels) => void;
  readonly stalls: readonly Stall[];
  /** By message of this step: when what waits for it started; infinite where that is a later step. */
  readonly neededAt: Float64Array;
}

/** `neededBefore`: by earlier step, the same column of its messages, into which this step writes. */
export function createStepMessages(
  { lags, released, waitedFor }: Order,
  traffic: MessageSimulation,
  gpu: GpuStream,
  neededBefore: readonly Float64Array[],
): StepMessages {
  const step = neededBefore.length;
  const neededAt = new Float64Array(lags.length).fill(Number.POSITIVE_INFINITY);
  const stalls: Stall[] = [];
  const sentIn = (message: number): number => step - intAt(lags, message);
  return {
    stalls,
    neededAt,
    release: (position, time) => {
      const { all, first } = released;
      const end = intAt(first, position + 1);
      for (let at = intAt(first, position); at < end; at += 1) traffic.release(step, intAt(all, at), time);
    },
    waitedFor: (position) =>
      waitedFor.all.subarray(intAt(waitedFor.first, position), intAt(waitedFor.first, position + 1)),
    arrival: (message) => (sentIn(message) < 0 ? 0 : traffic.arrival(sentIn(message), message)),
    waitFor: (message, host, held) => {
      const sent = sentIn(message);
      if (sent < 0) return;
      const arrived = traffic.arrival(sent, message);
      const free = gpu.waitUntil(arrived, host);
      if (arrived > free) stalls.push({ from: free, until: arrived, step: sent, message });
      let harmless = free;
      if (held !== undefined) {
        gpu.holdHost(arrived);
        harmless = gpu.harmlessWait(held);
      }
      const needed = sent === step ? neededAt : neededBefore[sent];
      if (needed !== undefined) needed[message] = Math.max(arrived, Math.min(free, harmless));
    },
  };
}
