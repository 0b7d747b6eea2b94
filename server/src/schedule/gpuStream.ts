/** The stream of one GPU and the host that launches onto it: each does one thing at a time, in order. */

import { floatAt } from '../model/at.ts';
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
  /** Runs kernels of like size: one runs while the next is launched. Gives by how much they move the end. */
  readonly runAlike: (kernels: AlikeKernels) => number;
  /** The host launches nothing before `time`. */
  readonly holdHost: (time: number) => void;
  /** Until when the host could wait without kernels that come next ending later. */
  readonly harmlessWait: (kernels: AlikeKernels) => number;
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

/** Kernels of like size, `launches` of them: their time on the GPU, and the host's time to launch them all. */
export interface AlikeKernels {
  readonly device: number;
  readonly host: number;
  readonly launches: number;
}

/** What slows kernels. */
export interface Slowing {
  /** When work ends that begins at `start` and takes `work` by itself. */
  readonly endOfWork: (start: number, work: number) => number;
  readonly pace: Pace;
}

export interface Pace {
  /** When it next changes. */
  readonly until: number;
  /** By how much longer work takes until then. */
  readonly factor: number;
}

/** The host begins to launch at `launchFrom`, the GPU has its first batch at `from`; `slowing` where kernels are slowed. */
export function createGpuStream(from: number, launchFrom: number, slowing?: Slowing): GpuStream {
  // Fields of one object: a captured variable that changes would be a new number on the heap each time.
  const state = {
    computed: from,
    launched: launchFrom,
    hostTime: 0,
    slowedTime: 0,
    /** Waiting for the host that came before a wait for a message, of the next piece. */
    heldUp: 0,
  };
  const endOfAlike = ({ device, host, launches }: AlikeKernels): number =>
    Math.max(
      Math.max(state.computed, state.launched + host / launches) + device,
      state.launched + host + device / launches,
    );
  return {
    freeAt: () => state.computed,
    hostTime: () => state.hostTime,
    slowedTime: () => state.slowedTime,
    run: (pieces, first, end, moved, ends) => {
      if (end <= first) return;
      const { host, device } = pieces;
      let [free, ready, idle, slowed] = [state.computed, state.launched, 0, 0];
      for (let index = first; index < end; index += 1) {
        ready += floatAt(host, index);
        if (ready > free) idle += ready - free;
        const start = Math.max(ready, free);
        const work = floatAt(device, index);
        let done = start + work;
        if (slowing !== undefined) {
          // Most pieces begin and end while nothing changes.
          const { until, factor } = slowing.pace;
          done = start + work * factor;
          if (start >= until || done > until) done = slowing.endOfWork(start, work);
        }
        slowed += done - (start + work);
        moved[index] = done - free;
        ends[index] = done;
        free = done;
      }
      moved[first] = floatAt(moved, first) + state.heldUp;
      state.heldUp = 0;
      state.computed = free;
      state.launched = ready;
      state.hostTime += idle;
      state.slowedTime += slowed;
    },
    runAlike: (kernels) => {
      const { device, host } = kernels;
      const end = endOfAlike(kernels);
      state.launched += host;
      // Sums in another order may differ in their last digits.
      state.hostTime += Math.max(0, end - device - state.computed);
      const moved = end - state.computed + state.heldUp;
      state.heldUp = 0;
      state.computed = end;
      return moved;
    },
    holdHost: (time) => {
      state.launched = Math.max(state.launched, time);
    },
    harmlessWait: (kernels) => {
      const { device, host, launches } = kernels;
      const end = endOfAlike(kernels);
      return Math.min(end - device - host / launches, end - host - device / launches);
    },
    waitUntil: (time, host) => {
      const free = Math.max(state.computed, state.launched + host);
      if (time <= free) return free;
      state.heldUp += free - state.computed;
      state.hostTime += free - state.computed;
      state.computed = time;
      return free;
    },
  };
}
