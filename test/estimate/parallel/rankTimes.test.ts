/** What a rank takes for its stages, and until when it exchanges: actions by hand, of which each begins and ends when it says. */

import { describe, expect, test } from 'vitest';
import { rankTimes, type StageTimes } from '../../../server/src/estimate/parallel/rankTimes.ts';
import type { PipelineAction } from '../../../server/src/schedule/pipelineAction.ts';
import type { PipelineTimeline } from '../../../server/src/schedule/pipelineTimeline.ts';

type Action = readonly [pass: PipelineAction['pass'], stage: number, start: number, end: number];

/** By rank, its actions of one micro-batch; it is free when the last has ended. */
const timelineOf = (...ranks: readonly (readonly Action[])[]): PipelineTimeline => ({
  schedule: ranks.map((own) => own.map(([pass, stage]) => ({ pass, stage, microBatch: 0 }))),
  begun: ranks.map((own) => Float64Array.from(own, ([, , start]) => start)),
  ended: ranks.map((own) => Float64Array.from(own, ([, , , end]) => end)),
  actions: [],
  ends: Float64Array.from(ranks, (own) => own.at(-1)?.[3] ?? 0),
  busy: Float64Array.from(ranks, () => 0),
  alive: new Float64Array(),
});

/** Exchanges 4 s, 2 of which its backward of 2 s does not hide, and updates for 1 s more. */
const first: StageTimes = { forward: 1, backward: 2, weight: 0.5, rest: 3, update: 1, exchange: 4 };
/** Exchanges 2 s, 1 of which is not hidden, and updates for half a second. */
const second: StageTimes = { forward: 2, backward: 4, weight: 1, rest: 1.5, update: 0.5, exchange: 2 };

const inTurn: readonly Action[] = [
  ['forward', 0, 0, 1],
  ['forward', 1, 1, 3],
  ['backward', 1, 3, 7],
  ['backward', 0, 7, 9],
];

test('one stage has its own times', () => {
  const [own] = inTurn.filter(([, stage]) => stage === 1);
  expect(rankTimes([[1]], [first, second], timelineOf(own === undefined ? [] : [own]))).toEqual([second]);
});

describe('of two stages', () => {
  const timesOf = (one: StageTimes, other: StageTimes, actions = inTurn) =>
    rankTimes([[0, 1]], [one, other], timelineOf(actions))[0];

  test('passes add up, and messages of the second wait for those of the first', () => {
    // The second stage has sent all at 7 + 1, one second into the backward of the first, which ends at 9 and sends 2 s more: 12.
    expect(timesOf(first, second)).toEqual({ forward: 3, backward: 6, update: 1.5, rest: 3 + 1.5 });
  });

  test('they wait for no longer than all messages take', () => {
    // 2.5 s behind 8 are less than what is not hidden of them: 11.
    expect(timesOf({ ...first, exchange: 2.5 }, second)?.rest).toBe(2 + 1.5);
    // 3.5 s are 11.5.
    expect(timesOf({ ...first, exchange: 3.5 }, second)?.rest).toBe(2.5 + 1.5);
  });

  test('what was sent before the last backward began delays nothing', () => {
    // At 7 all is sent.
    expect(timesOf(first, { ...second, rest: 0.5 })?.rest).toBe(2 + 1.5 + 0);
  });

  test('what takes longest ends the exchange, though it was first', () => {
    // The second stage sends until 7 + 10.
    expect(timesOf({ ...first, rest: 1, exchange: 0 }, { ...second, rest: 10.5 })?.rest).toBe(8 + 1.5);
  });

  test('the last backward of each counts, in the order they end', () => {
    const twice: readonly Action[] = [
      ['forward', 0, 0, 1],
      ['forward', 1, 1, 3],
      ['backward', 1, 3, 4],
      ['backward', 0, 4, 5],
      ...inTurn.slice(2),
    ];
    expect(timesOf(first, second, twice)?.rest).toBe(3 + 1.5);
    // Turned round, the first sends until 5 + 2, when the second begins: it sends until 9 + 1.
    const turned: readonly Action[] = [
      ['backward', 0, 3, 5],
      ['backward', 1, 7, 9],
    ];
    expect(timesOf(first, second, turned)?.rest).toBe(1 + 1.5);
  });

  test('a stage that does nothing exchanges nothing', () => {
    expect(
      timesOf(
        first,
        second,
        inTurn.filter(([, stage]) => stage === 0),
      )?.rest,
    ).toBe(2 + 1.5);
    expect(timesOf(first, second, [])?.rest).toBe(1.5);
  });
});

describe('of a backward in two parts', () => {
  const parts: readonly Action[] = [
    ['forward', 0, 0, 2],
    ['backward-input', 0, 2, 5],
    ['backward-weight', 0, 5, 6],
  ];

  test.each([
    // Of 2 s, gradients of weights hide one: as much as backward leaves.
    [1, 1],
    [0.25, 1.75],
    // Backward leaves a second, however long these take.
    [1.5, 1],
  ])('those of weights for %f s leave %f s of messages', (weight, left) => {
    expect(rankTimes([[0]], [{ ...second, weight }], timelineOf(parts))).toEqual([
      { forward: 2, backward: 4, update: 0.5, rest: left + 0.5 },
    ]);
  });
});

test('each rank has the times of its own stages', () => {
  const [own, others] = [
    inTurn.filter(([, stage]) => stage === 0),
    inTurn.filter(([, stage]) => stage === 1),
  ];
  expect(rankTimes([[1], [0]], [first, second], timelineOf(others, own))).toEqual([second, first]);
});
