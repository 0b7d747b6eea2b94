/**
 * The messages of a step in columns, in the order they are issued.
 *
 * A step may send tens of thousands, and is simulated several times with other times of the same messages. What they
 * follow, what waits for them and their channels are put into columns once.
 */

import { entryAt, intAt, itemAt } from '../model/at.ts';
import type { TimedMessage } from './timedMessage.ts';

export interface MessageColumns {
  /** How many there are: the length of the columns by message. */
  readonly count: number;
  /** By message, as in `TimedMessage`. */
  readonly after: Int32Array;
  readonly before: Int32Array;
  readonly stepsLater: Int32Array;
  readonly updateShare: Float64Array;
  readonly launchShare: Float64Array;
  /** Priorities as whole numbers from 0 to before `ranks`, in their order. */
  readonly rank: Int32Array;
  readonly ranks: number;
  /** Stages of a message lie in the columns by stage from here to before those of the next; one longer. */
  readonly firstStage: Int32Array;
  /** By stage, and −1 behind the last: a stage is the last of its message where the next is another's. */
  readonly messageOf: Int32Array;
  /** By stage. */
  readonly channel: Int32Array;
  readonly time: Float64Array;
}

export function messageColumns(messages: readonly TimedMessage[]): MessageColumns {
  const count = messages.length;
  const firstStage = new Int32Array(count + 1);
  for (let index = 0; index < count; index += 1) {
    firstStage[index + 1] = intAt(firstStage, index) + itemAt(messages, index).stages.length;
  }
  const stageCount = intAt(firstStage, count);
  const { ranks, distinct } = ranksOf(messages.map(({ priority }) => priority));
  const columns = {
    count,
    after: new Int32Array(count),
    before: new Int32Array(count),
    stepsLater: new Int32Array(count),
    updateShare: new Float64Array(count),
    launchShare: new Float64Array(count),
    rank: ranks,
    ranks: Math.max(1, distinct),
    firstStage,
    messageOf: new Int32Array(stageCount + 1).fill(-1, stageCount),
    channel: new Int32Array(stageCount),
    time: new Float64Array(stageCount),
  };
  let index = 0;
  let stage = 0;
  for (const { after, before, stepsLater, updateShare, launchShare = updateShare, stages } of messages) {
    columns.after[index] = after;
    columns.before[index] = before;
    columns.stepsLater[index] = stepsLater;
    columns.updateShare[index] = updateShare;
    columns.launchShare[index] = launchShare;
    for (const { channel, time } of stages) {
      columns.messageOf[stage] = index;
      columns.channel[stage] = channel;
      columns.time[stage] = time;
      stage += 1;
    }
    index += 1;
  }
  return columns;
}

export const noMessages = messageColumns([]);

/** By item its place among the different values, and how many of these there are. */
export function ranksOf(values: readonly number[]): {
  readonly ranks: Int32Array;
  readonly distinct: number;
} {
  // Those of the parts of one gradient are alike and stand side by side.
  const heads = values.filter((value, index) => value !== values[index - 1]);
  const distinct = [...new Set(heads)].sort((a, b) => a - b);
  const rankOf = new Map(distinct.map((value, rank) => [value, rank]));
  const ranks = new Int32Array(values.length);
  let rank = 0;
  for (let index = 0; index < values.length; index += 1) {
    const value = itemAt(values, index);
    if (value !== values[index - 1]) rank = entryAt(rankOf, value);
    ranks[index] = rank;
  }
  return { ranks, distinct: distinct.length };
}
