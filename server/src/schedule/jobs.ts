/** What happened on the channels, for those who ask when a message travelled and not only when it arrived. */

/**
 * Columns by job; the job of stage k of a message of a step is `jobOf(step, message) + k`. They grow with the steps, so
 * that a column is asked for where it is used.
 */
export interface Jobs {
  readonly jobOf: (step: number, message: number) => number;
  readonly perStep: number;
  /** By job of a step. */
  readonly messageOf: Int32Array;
  readonly ready: Float64Array;
  readonly start: Float64Array;
  readonly end: Float64Array;
  /** The job that had the channel before, −1 for none. */
  readonly previous: Int32Array;
  /** In the order they started. */
  readonly started: readonly number[];
}

export interface Records {
  readonly jobs: Jobs;
  /** The job waits for its channel from `time` on. */
  readonly queue: (job: number, time: number) => void;
  /** The channel takes the job from `from` until `until`. */
  readonly start: (job: number, channel: number, from: number, until: number) => void;
}

/** `first`: by message of a step its first job, one longer; `messageOf`: by job of a step. */
export function createRecords(perStep: number, first: Int32Array, messageOf: Int32Array): Records {
  let ready = new Float64Array(0);
  let start = new Float64Array(0);
  let end = new Float64Array(0);
  let previous = new Int32Array(0);
  const started: number[] = [];
  const last: number[] = [];
  const hold = (job: number): void => {
    const held = end.length;
    if (job < held) return;
    const size = Math.max(perStep, 2 * held);
    ready = longer(ready, new Float64Array(size));
    start = longer(start, new Float64Array(size));
    end = longer(end, new Float64Array(size).fill(Number.POSITIVE_INFINITY));
    previous = longer(previous, new Int32Array(size));
  };
  return {
    queue: (job, time) => {
      hold(job);
      ready[job] = time;
    },
    start: (job, channel, from, until) => {
      start[job] = from;
      end[job] = until;
      previous[job] = last[channel] ?? -1;
      last[channel] = job;
      started.push(job);
    },
    jobs: {
      jobOf: (step, message) => step * perStep + (first[message] ?? 0),
      perStep,
      messageOf,
      get ready() {
        return ready;
      },
      get start() {
        return start;
      },
      get end() {
        return end;
      },
      get previous() {
        return previous;
      },
      started,
    },
  };
}

/** The wider column, with the other at its start. */
export function longer<Column extends Int32Array | Float64Array>(column: Column, wider: Column): Column {
  wider.set(column);
  return wider;
}
