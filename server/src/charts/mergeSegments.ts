/** Pieces of a lane that are too thin to be seen become one: a step of thousands of operators stays a small drawing. */

import { tally } from '../model/tally.ts';

export interface Segment {
  readonly name: string;
  readonly kind: string;
  /** In seconds. */
  readonly start: number;
  readonly end: number;
  /** In seconds, of it: the resource has nothing to do yet. Left out, none. */
  readonly idle?: number;
}

export interface MergedSegment extends Segment {
  readonly idle: number;
  /** How many pieces it stands for. */
  readonly count: number;
  /** Of the last of them. */
  readonly lastName: string;
}

/**
 * Segments in the order of their start, none over another. Those shorter than `thin` join their neighbours until they are
 * `wide` together; of several kinds the one with the most time names them. Gaps of `thin` or more stay.
 */
export function mergeSegments(
  segments: readonly Segment[],
  thin: number,
  wide: number,
): readonly MergedSegment[] {
  const merged: MergedSegment[] = [];
  let run: Segment[] = [];
  const close = (): void => {
    const [first, last] = [run[0], run.at(-1)];
    if (first === undefined || last === undefined) return;
    merged.push({
      name: first.name,
      lastName: last.name,
      kind: longestKind(run),
      start: first.start,
      end: last.end,
      idle: run.reduce((total, { idle = 0 }) => total + idle, 0),
      count: run.length,
    });
    run = [];
  };
  for (const segment of segments) {
    const last = run.at(-1);
    const begun = run[0]?.start ?? segment.start;
    const isThin = segment.end - segment.start < thin;
    const joins =
      last !== undefined &&
      isThin &&
      last.end - last.start < thin &&
      segment.start - last.end < thin &&
      (segment.end - begun < thin || (segment.kind === last.kind && segment.end - begun < wide));
    if (!joins) close();
    run.push(segment);
  }
  close();
  return merged;
}

function longestKind(run: readonly Segment[]): string {
  const times = new Map<string, number>();
  for (const { kind, start, end } of run) tally(times, kind, end - start);
  return [...times].reduce((most, each) => (each[1] > most[1] ? each : most), ['', -1])[0];
}
