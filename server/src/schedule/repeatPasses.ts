/** A step of several passes forward and backward, whose gradients are added up before one update. */

import { floatAt } from '../model/at.ts';
import { lazy } from '../model/lazy.ts';
import { seconds } from '../model/units.ts';
import type { SentStage, StepTimeline, StepTimes } from './stepTimeline.ts';

/**
 * `last` is the step as its last pass alone would be; the passes before it run as `earlier` does, which updates nothing.
 * Times of forward, backward and messages are those of all passes. Their start and end are those of the last pass.
 */
export function repeatPasses(last: StepTimeline, earlier: StepTimeline, passes: number): StepTimeline {
  if (passes === 1) return last;
  const more = passes - 1;
  const before = timeBefore(earlier, passes);
  // Passes that only add to the gradients send nothing.
  const exposed =
    earlier.exposed.length === 0
      ? last.exposed
      : last.exposed.map((time, index) => time + more * floatAt(earlier.exposed, index));
  const messages = lazy(() =>
    last.messages.map((message, index) => ({
      ...message,
      ...shifted(message, before),
      exposed: seconds(floatAt(exposed, index)),
    })),
  );
  return {
    ...repeatTimes(last, earlier, passes),
    exposed,
    get messages() {
      return messages();
    },
    stageOf: (message, stage) => {
      const sent = last.stageOf(message, stage);
      return { ...sent, ...shifted(sent, before) };
    },
    get batch() {
      return last.batch;
    },
  };
}

/** The times alone. */
export function repeatTimes(last: StepTimes, earlier: StepTimes, passes: number): StepTimes {
  if (passes === 1) return last;
  const more = passes - 1;
  const before = timeBefore(earlier, passes);
  // Columns are made when they are first read: whoever compares layouts reads the sums alone.
  const later = (column: Float64Array) => lazy(() => column.map((end) => end + before));
  const added = (column: Float64Array, again: Float64Array) =>
    lazy(() => column.map((time, index) => time + more * floatAt(again, index)));
  const [forward, backward] = [added(last.forward, earlier.forward), added(last.backward, earlier.backward)];
  const [forwardEnds, backwardEnds] = [later(last.forwardEnds), later(last.backwardEnds)];
  const total = (key: TimeOfPasses) => seconds(last[key] + more * earlier[key]);
  return {
    get forward() {
      return forward();
    },
    get backward() {
      return backward();
    },
    get forwardEnds() {
      return forwardEnds();
    },
    get backwardEnds() {
      return backwardEnds();
    },
    updates: last.updates.map(({ time, end }) => ({ time, end: seconds(end + before) })),
    inputTime: total('inputTime'),
    exposedInputTime: total('exposedInputTime'),
    forwardTime: total('forwardTime'),
    backwardTime: total('backwardTime'),
    communicationTime: total('communicationTime'),
    exposedTime: total('exposedTime'),
    updateTime: last.updateTime,
    hostTime: total('hostTime'),
    updateHostTime: last.updateHostTime,
    slowedTime: total('slowedTime'),
    step: seconds(last.step + before),
  };
}

/** Of the passes but the last. */
const timeBefore = ({ step }: StepTimes, passes: number): number => (passes - 1) * step;

const shifted = ({ start, end }: Pick<SentStage, 'start' | 'end'>, by: number) => ({
  start: seconds(start + by),
  end: seconds(end + by),
});

type TimeOfPasses =
  | 'inputTime'
  | 'exposedInputTime'
  | 'forwardTime'
  | 'backwardTime'
  | 'communicationTime'
  | 'exposedTime'
  | 'hostTime'
  | 'slowedTime';
