/** Where in the work of a step messages are released and waited for. */

import { floatAt, intAt } from '../model/at.ts';
import { memoizeRecent } from '../model/memoizeRecent.ts';
import type { MessageColumns } from './messageColumns.ts';
import type { StepWork } from './stepWork.ts';

export interface Order {
  /** By work plus 1, the start of the step at 0: messages that may start when it has ended. */
  readonly released: Listed;
  /** By work: messages that it waits for. */
  readonly waitedFor: Listed;
  /** How much of the work has ended where messages are released or waited for. */
  readonly stops: Int32Array;
  /** By message: steps between the one that sends it and the one that waits for it. */
  readonly lags: Int32Array;
  readonly longestLag: number;
  /** What is left of the update beside the shares of messages. */
  readonly sharedUpdate: number;
  /** And of its launches. */
  readonly sharedLaunches: number;
  /** Whether pieces of the update come in the order in which messages of earlier steps arrived. */
  readonly keepsArrivals: boolean;
}

/** It does not depend on times: messages with others, which share their columns, have the same. */
export const orderOf = ({ forward, backward, messages }: StepWork): Order =>
  orderOfMessages(messages.after, {
    messages,
    split: forward.device.length,
    count: forward.device.length + backward.device.length,
  });

interface Places {
  readonly messages: MessageColumns;
  readonly split: number;
  readonly count: number;
}

const orderOfMessages = memoizeRecent(
  (_: Int32Array, places: Places): Order => placeMessages(places),
  (known, asked) => known.split === asked.split && known.count === asked.count,
);

function placeMessages({ messages, split, count }: Places): Order {
  const lags = new Int32Array(messages.count);
  const isStop = new Uint8Array(count + 1);
  isStop[split] = 1;
  isStop[count] = 1;
  let longestLag = 0;
  let sharedUpdate = 1;
  let sharedLaunches = 1;
  let keepsArrivals = false;
  for (let message = 0; message < messages.count; message += 1) {
    const [after, before] = [intAt(messages.after, message), intAt(messages.before, message)];
    const updateShare = floatAt(messages.updateShare, message);
    const lag = (before > after ? 0 : 1) + intAt(messages.stepsLater, message);
    lags[message] = lag;
    longestLag = Math.max(longestLag, lag);
    sharedUpdate -= updateShare;
    sharedLaunches -= floatAt(messages.launchShare, message);
    if (lag > 0 && before === count && updateShare > 0) keepsArrivals = true;
    if (after < count) isStop[after + 1] = 1;
    isStop[before] = 1;
  }
  const stops: number[] = [];
  for (let work = 0; work <= count; work += 1) if (isStop[work] === 1) stops.push(work);
  return {
    released: listedBy(count + 2, messages.after, 1),
    waitedFor: listedBy(count + 1, messages.before),
    lags,
    stops: Int32Array.from(stops),
    longestLag,
    sharedUpdate: sharedUpdate > 1e-9 ? sharedUpdate : 0,
    sharedLaunches: sharedLaunches > 1e-9 ? sharedLaunches : 0,
    keepsArrivals,
  };
}

/** Indices by place: those of `place` lie in `all` from `first[place]` to before `first[place + 1]`, rising. */
export interface Listed {
  readonly all: Int32Array;
  readonly first: Int32Array;
}

/** By the place of each, `shift` further. */
function listedBy(count: number, places: Int32Array, shift = 0): Listed {
  const first = new Int32Array(count + 1);
  for (const place of places) first[place + shift + 1] = intAt(first, place + shift + 1) + 1;
  for (let place = 1; place <= count; place += 1) {
    first[place] = intAt(first, place) + intAt(first, place - 1);
  }
  const next = first.slice();
  const all = new Int32Array(places.length);
  for (let index = 0; index < places.length; index += 1) {
    const place = intAt(places, index) + shift;
    const at = intAt(next, place);
    all[at] = index;
    next[place] = at + 1;
  }
  return { all, first };
}
