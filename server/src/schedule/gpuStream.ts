/** The stream of one GPU and the host that launches onto it: each does one thing at a time, in order. */

import type { LaunchedWork } from './stepWork.ts';

export interface GpuStream {
  /** When the work given to it so far ends. */
  readonly freeAt: () => number;
  /** Runs pieces from `first` to before `end`; `moved` and `ends` take by how much each moves the end, and the end. */
  readonly run: (
    pieces: LaunchedWork,
    first: number,
    end: number,
    moved: Float64Array,
    ends: Float64Array,
  ) => void;
  /**
   * Runs kernels of like size, so many of them: one runs while the next is launched. Gives by how much they move the end.
   */
  readonly runAlike: (device: number, host: number, launches: number) => number;
  /**
   * The host launches nothing before `time`. Gives until when it could have waited without the kernels that come next, as
   * `runAlike` takes them, ending later.
   */
  readonly holdHost: (time: number, device: number, host: number, launches: number) => number;
  /**
   * The next piece, which takes the host `host` to launch, waits until `time`. Gives when it could have started without
   * that; what the host holds it up counts to the piece.
   */
  readonly waitUntil: (time: number, host: number) => number;
  /** How long the GPU had nothing to run because the host had not launched it. */
  readonly hostTime: () => number;
  /** By how much its work took longer than by itself. */
  readonly slowedTime: () => number;
}

/** When work ends that begins at `start` and takes `work` by itself. */
export type EndOfWork = (start: number, work: number) => number;

/** The host begins to launch at `launchFrom`, the GPU has its first batch at `from`; `endOfWork` where kernels are slowed. */
export function createGpuStream(from: number, launchFrom: number, endOfWork?: EndOfWork): GpuStream {
  let computed = from;
  let launched = launchFrom;
  let hostTime = 0;
  let slowedTime = 0;
  /** Waiting for the host that came before a wait for a message, of the next piece. */
  let heldUp = 0;
  const endOfAlike = (device: number, host: number, launches: number): number =>
    Math.max(Math.max(computed, launched + host / launches) + device, launched + host + device / launches);
  return {
    freeAt: () => computed,
    hostTime: () => hostTime,
    slowedTime: () => slowedTime,
    run: (pieces, first, end, moved, ends) => {
      const { host, device } = pieces;
      let [free, ready, idle] = [computed, launched, 0];
      for (let index = first; index < end; index += 1) {
        ready += host[index] ?? 0;
        if (ready > free) idle += ready - free;
        const start = Math.max(ready, free);
        const work = device[index] ?? 0;
        const done = endOfWork === undefined ? start + work : endOfWork(start, work);
        slowedTime += done - (start + work);
        moved[index] = done - free;
        ends[index] = done;
        free = done;
      }
      if (end > first) moved[first] = (moved[first] ?? 0) + heldUp;
      heldUp = end > first ? 0 : heldUp;
      computed = free;
      launched = ready;
      hostTime += idle;
    },
    runAlike: (device, host, launches) => {
      const end = endOfAlike(device, host, launches);
      launched += host;
      hostTime += end - device - computed;
      const moved = end - computed + heldUp;
      heldUp = 0;
      computed = end;
      return moved;
    },
    holdHost: (time, device, host, launches) => {
      launched = Math.max(launched, time);
      const end = endOfAlike(device, host, launches);
      return Math.min(end - device - host / launches, end - host - device / launches);
    },
    waitUntil: (time, host) => {
      const free = Math.max(computed, launched + host);
      if (time <= free) return free;
      heldUp += free - computed;
      hostTime += free - computed;
      computed = time;
      return free;
    },
  };
}
