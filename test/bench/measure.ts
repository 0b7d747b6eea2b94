/** Times of repeated work, and how they are shown. */

import { performance } from 'node:perf_hooks';

/** Milliseconds of `runs` runs, after one that is not counted. */
export function repeat(runs: number, work: () => unknown): number[] {
  work();
  return Array.from({ length: runs }, () => {
    const started = performance.now();
    work();
    return performance.now() - started;
  });
}

/** One line: the median, the least and the most; a note where there is more to say. */
export function show(what: string, times: readonly number[], note = ''): void {
  const sorted = [...times].sort((a, b) => a - b);
  const figures = `${median(times).toFixed(1).padStart(9)}  (${sorted.at(0)?.toFixed(1)} to ${sorted.at(-1)?.toFixed(1)}), n = ${times.length}`;
  console.log(`${what.padEnd(50)}${figures}${note === '' ? '' : `; ${note}`}`);
}

export function median(times: readonly number[]): number {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
