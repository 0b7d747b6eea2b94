/** Times of repeated work, and how they are shown. Processor time says on a busy machine what wall time says on a quiet one. */

import { readdirSync, readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';

/** Milliseconds. */
export interface Time {
  readonly wall: number;
  /** Of all threads of the process, or of the processes it waited for. */
  readonly processor: number;
}

/** Times of `runs` runs, after one that is not counted. */
export function repeat(runs: number, work: () => unknown, used: () => number = ownProcessor): Time[] {
  work();
  return Array.from({ length: runs }, () => timed(work, used));
}

/** Whole processes, which `work` starts and waits for. */
export const repeatProcess = (runs: number, work: () => unknown): Time[] => repeat(runs, work, ofChildren);

export function timed(work: () => unknown, used: () => number = ownProcessor): Time {
  const stop = startTimer(used);
  work();
  return stop();
}

/** For work that is waited for. */
export function startTimer(used: () => number = ownProcessor): () => Time {
  const before = used();
  const started = performance.now();
  return () => ({ wall: performance.now() - started, processor: used() - before });
}

/** Milliseconds of processor time that this process has used. */
export function ownProcessor(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/**
 * The same of the processes that it has waited for; in hundredths of a second, so that single runs are coarse. Linux
 * alone counts them (`cutime` and `cstime` of proc(5)).
 */
export function ofChildren(): number {
  try {
    const stat = readFileSync('/proc/self/stat', 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[13]) + Number(fields[14])) * 10;
  } catch {
    return Number.NaN;
  }
}

/** The same of a process that runs; `NaN` where the system does not count by thread (`schedstat` of Linux, nanoseconds). */
export function processorOf(pid: number | undefined): number {
  try {
    const threads = `/proc/${pid}/task`;
    const nanoseconds = readdirSync(threads).map((thread) =>
      Number(readFileSync(`${threads}/${thread}/schedstat`, 'latin1').split(' ')[0]),
    );
    return nanoseconds.reduce((total, each) => total + each, 0) / 1e6;
  } catch {
    return Number.NaN;
  }
}

/** One line: the median, the least and the most, and the mean processor time; a note where there is more to say. */
export function show(what: string, times: readonly Time[], note = ''): void {
  const sorted = walls(times).sort((a, b) => a - b);
  const processor = meanProcessor(times);
  const used = Number.isNaN(processor) ? '' : `, processor ${processor.toFixed(1)}`;
  const figures = `${medianOf(times).toFixed(1).padStart(9)}  (${sorted.at(0)?.toFixed(1)} to ${sorted.at(-1)?.toFixed(1)})${used}, n = ${times.length}`;
  console.log(`${what.padEnd(50)}${figures}${note === '' ? '' : `; ${note}`}`);
}

export const medianOf = (times: readonly Time[]): number => median(walls(times));

export const meanProcessor = (times: readonly Time[]): number =>
  times.reduce((total, { processor }) => total + processor, 0) / times.length;

const walls = (times: readonly Time[]): number[] => times.map(({ wall }) => wall);

export function median(times: readonly number[]): number {
  return quantile(times, 0.5);
}

export function quantile(times: readonly number[], share: number): number {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
