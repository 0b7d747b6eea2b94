/**
 * The discrete-event core: resources that each do one thing at a time, in the order it is given to them.
 *
 * This is how CUDA streams behave: work issued to a stream runs in issue order, and an event makes it wait for
 * work of another stream. With the order fixed, issuing the work once is the whole simulation, and a dependency
 * is the time its work ends.
 */

export interface Resources {
  /** Occupies a resource for `duration`, not before `earliest` and not before it is free; gives the end. */
  readonly occupy: (resource: number, duration: number, earliest: number) => number;
  /** When the work given to it so far ends. */
  readonly freeAt: (resource: number) => number;
  /** A run of work that was laid out elsewhere ends at `end`. */
  readonly continueFrom: (resource: number, end: number) => void;
}

export function createResources(count: number): Resources {
  const free = new Float64Array(count);
  return {
    occupy: (resource, duration, earliest) => {
      const end = Math.max(free[resource] ?? 0, earliest) + duration;
      free[resource] = end;
      return end;
    },
    freeAt: (resource) => free[resource] ?? 0,
    continueFrom: (resource, end) => {
      free[resource] = end;
    },
  };
}
