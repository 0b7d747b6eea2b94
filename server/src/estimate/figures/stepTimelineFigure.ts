/** The lanes of a step as a timeline to be drawn: what crosses its end comes in at its start, as in every step before. */

import type { Timeline, TimelineKind, TimelineSegment } from '../../charts/timelineChart.ts';
import { deviceNoun } from '../../model/deviceNoun.ts';
import type { StepTimeline } from '../../schedule/stepTimeline.ts';
import { passesOf, type StepPlan } from '../plan/stepPlan.ts';
import { type LaneEvent, type StepLane, startOfLastPass, stepLanes } from './stepLanes.ts';

export function stepTimelineFigure(plan: StepPlan, timeline: StepTimeline): Timeline {
  const [from, until] = [startOfLastPass(plan, timeline), timeline.step];
  const passes = passesOf(plan.scenario);
  return {
    from,
    until,
    pieces: 'layers',
    device: deviceNoun(plan.cluster.gpu),
    note: passes === 1 ? '' : `The last of ${passes} passes is drawn.`,
    lanes: stepLanes(plan, timeline)
      .map(({ resource, title, events }) => {
        const segments = events
          .flatMap((event) => wrapped(segmentOf(event, resource), until))
          .sort((one, other) => one.start - other.start);
        return { title, segments: resource === 'GPU' ? withWaits(segments, from, until) : segments };
      })
      .filter(({ segments }) => segments.length > 0),
  };
}

const segmentOf = (
  { name, phase, start, end, idle }: LaneEvent,
  resource: StepLane['resource'],
): TimelineSegment => ({
  name,
  kind: resource === 'host' ? 'launch' : kinds[phase],
  start,
  end,
  ...(idle === undefined ? {} : { idle }),
});

const kinds: Readonly<Record<LaneEvent['phase'], TimelineKind>> = {
  forward: 'forward',
  backward: 'backward',
  update: 'update',
  communication: 'message',
  input: 'input',
};

/** A step is like the one before it: what lies beyond its ends is at the same place of this one. */
function wrapped(segment: TimelineSegment, step: number): readonly TimelineSegment[] {
  const { start, end } = segment;
  if (start >= 0 && end <= step) return [segment];
  if (!(step > 0) || end - start >= step) return [{ ...segment, start: 0, end: step }];
  const shift = Math.floor(start / step) * step;
  const [first, last] = [start - shift, end - shift];
  return last <= step
    ? [{ ...segment, start: first, end: last }]
    : [
        { ...segment, start: 0, end: last - step },
        { ...segment, start: first, end: step },
      ];
}

/** The gaps of the GPU's stream: it has run what there was, and waits for a message or for input. */
function withWaits(
  segments: readonly TimelineSegment[],
  from: number,
  until: number,
): readonly TimelineSegment[] {
  const least = (until - from) * 1e-9;
  const all: TimelineSegment[] = [];
  let end = from;
  const wait = (start: number): void => {
    if (start - end > least) all.push({ name: 'wait', kind: 'wait', start: end, end: start });
  };
  for (const segment of segments) {
    wait(segment.start);
    // Averaged steps differ from the one that is drawn in the last digits.
    all.push(segment.start < end ? { ...segment, start: Math.min(end, segment.end) } : segment);
    end = Math.max(end, segment.end);
  }
  wait(until);
  return all;
}
