/** Messages on their channels as one would lay them by hand: every list searched at every time, nothing kept in order. */

import type { ChannelOrder } from '../../server/src/schedule/stepWork.ts';
import type { TimedMessage } from '../../server/src/schedule/timedMessage.ts';

export interface Release {
  readonly step: number;
  readonly message: number;
  readonly time: number;
}

export interface CarriedStage {
  readonly step: number;
  readonly message: number;
  readonly stage: number;
  readonly channel: number;
  readonly start: number;
  readonly end: number;
}

/** Stages in the order they start; releases in the order of their times. */
export function plainTraffic(
  messages: readonly TimedMessage[],
  orders: readonly ChannelOrder[],
  releases: readonly Release[],
): readonly CarriedStage[] {
  const carried: CarriedStage[] = [];
  let running: CarriedStage[] = [];
  let coming = [...releases];
  let waiting: { readonly step: number; readonly message: number; readonly stage: number }[] = [];
  while (coming.length > 0 || running.length > 0) {
    const now = Math.min(...coming.map(({ time }) => time), ...running.map(({ end }) => end));
    const ended = running.filter(({ end }) => end <= now).sort((a, b) => a.channel - b.channel);
    running = running.filter(({ end }) => end > now);
    const next = ended.map(({ step, message, stage }) => ({ step, message, stage: stage + 1 }));
    const come = coming.filter(({ time }) => time <= now).map((release) => ({ ...release, stage: 0 }));
    coming = coming.filter(({ time }) => time > now);
    waiting = [...waiting, ...next, ...come].filter(
      ({ message, stage }) => messages[message]?.stages[stage] !== undefined,
    );
    for (const [channel, order] of orders.entries()) {
      if (running.some((one) => one.channel === channel)) continue;
      const here = waiting.filter(
        ({ message, stage }) => messages[message]?.stages[stage]?.channel === channel,
      );
      const priorityOf = ({ message }: { readonly message: number }) => messages[message]?.priority ?? 0;
      const [first] = order === 'first come' ? here : here.toSorted((a, b) => priorityOf(a) - priorityOf(b));
      if (first === undefined) continue;
      waiting = waiting.filter((one) => one !== first);
      const time = messages[first.message]?.stages[first.stage]?.time ?? 0;
      const { step, message, stage } = first;
      const started = { step, message, stage, channel, start: now, end: now + time };
      running.push(started);
      carried.push(started);
    }
  }
  return carried;
}
