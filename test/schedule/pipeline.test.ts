/** Schedules of pipelines: orders of actions as PyTorch's and Megatron-LM's, bubbles and memory as the formulas for like stages. */

import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { type PipelineScheduleName, pipelineSchedules } from '../../server/src/model/scenario.ts';
import {
  type PipelineAction,
  pipelineSchedule,
  stagesOfRanks,
} from '../../server/src/schedule/pipelineSchedules.ts';
import { pipelineTimeline } from '../../server/src/schedule/pipelineTimeline.ts';
import golden from './pipelineGolden.json';

/** `2F3`: the forward of micro-batch 3 on stage 2, as PyTorch writes it. */
const written = (actions: readonly PipelineAction[]): readonly string[] =>
  actions.map(({ pass, stage, microBatch }) => `${stage}${letters[pass]}${microBatch}`);

const letters = { forward: 'F', backward: 'B' } as const;

describe('order of actions', () => {
  test.each(golden.map((row) => [row.schedule, row.ranks, row.microBatches, row.chunks, row.order] as const))(
    '%s, %i ranks, %i micro-batches, %i chunks',
    (asked, ranks, microBatches, chunks, order) => {
      const name = pipelineSchedules.find((each) => each === asked);
      if (name === undefined) throw new Error(`${asked} is unknown`);
      const schedule = pipelineSchedule(name, { ranks, microBatches, chunks });
      expect(schedule.map(written)).toEqual(order);
    },
  );

  /**
   * NVIDIA/Megatron-LM, megatron/core/pipeline_parallel/schedules.py: `get_schedule_table` has a chunk's micro-batches in groups
   * of as many as ranks; `get_pp_rank_microbatches` begins with 2·(p − rank − 1) + (v − 1)·p forwards. 2 ranks, 2 chunks, 4
   * micro-batches by these rules.
   */
  it('interleaved as Megatron-LM', () => {
    expect(
      pipelineSchedule('interleaved-1f1b', { ranks: 2, microBatches: 4, chunks: 2 }).map(written),
    ).toEqual([
      // biome-ignore format: forwards to begin with, pairs, backwards that are left
      ['0F0', '0F1', '2F0', '2F1', '0F2', '2B0', '0F3', '2B1', '2F2', '0B0', '2F3', '0B1', '2B2', '2B3', '0B2', '0B3'],
      // biome-ignore format: the same
      ['1F0', '1F1', '3F0', '3B0', '3F1', '3B1', '1F2', '1B0', '1F3', '1B1', '3F2', '3B2', '3F3', '3B3', '1B2', '1B3'],
    ]);
  });
});

interface Shape {
  readonly ranks: number;
  readonly microBatches: number;
  readonly forward: number;
  readonly backward: number;
  readonly chunks?: number;
}

const shapes = fc.record({
  ranks: fc.integer({ min: 1, max: 12 }),
  microBatches: fc.integer({ min: 1, max: 24 }),
  forward: fc.integer({ min: 1, max: 50 }),
  backward: fc.integer({ min: 1, max: 50 }),
});

/** Micro-batches in whole rounds. */
const chunkedShapes = fc
  .record({
    ranks: fc.integer({ min: 2, max: 8 }),
    rounds: fc.integer({ min: 1, max: 5 }),
    chunks: fc.integer({ min: 2, max: 5 }),
    forward: fc.integer({ min: 1, max: 50 }),
    backward: fc.integer({ min: 1, max: 50 }),
  })
  .map(({ rounds, ...shape }) => ({ ...shape, microBatches: rounds * shape.ranks }));

const timelineOf = (
  name: PipelineScheduleName,
  { ranks, microBatches, forward, backward, chunks = 1 }: Shape,
  transfer = 0,
) =>
  pipelineTimeline({
    schedule: pipelineSchedule(name, { ranks, microBatches, chunks }),
    forward: new Float64Array(ranks * chunks).fill(forward),
    backward: new Float64Array(ranks * chunks).fill(backward),
    transfer: new Float64Array(ranks * chunks).fill(transfer),
    sendsBeside: false,
  });

describe.each(['gpipe', '1f1b'] as const)('%s', (name) => {
  /** (m + p − 1)·(F + B): Huang et al., arXiv:1811.06965; Narayanan et al., arXiv:2104.04473, section 2.2. */
  it('takes (m + p − 1)·(F + B) with like stages', () => {
    fc.assert(
      fc.property(shapes, (shape) => {
        const { ranks, microBatches, forward, backward } = shape;
        // 1F1B with fewer micro-batches than ranks fills no steady state, and takes the same.
        expect(timelineOf(name, shape)?.ends[0]).toBe((microBatches + ranks - 1) * (forward + backward));
      }),
    );
  });

  /** GPipe keeps all m micro-batches; 1F1B on rank i of p keeps min(m, p − i): section 2.2 of arXiv:2104.04473. */
  it('keeps as many micro-batches as the formula says', () => {
    fc.assert(
      fc.property(shapes, (shape) => {
        const { ranks, microBatches } = shape;
        expect(Array.from(timelineOf(name, shape)?.alive ?? [])).toEqual(
          Array.from({ length: ranks }, (_, rank) =>
            name === 'gpipe' ? microBatches : Math.min(microBatches, ranks - rank),
          ),
        );
      }),
    );
  });

  /** The slowest computes 6·(5 + 7) without a pause in 1F1B, behind F and before B of the first; GPipe drains all stages. */
  it('waits for the slowest stage', () => {
    const timeline = pipelineTimeline({
      schedule: pipelineSchedule(name, { ranks: 3, microBatches: 6, chunks: 1 }),
      forward: Float64Array.of(1, 5, 2),
      backward: Float64Array.of(2, 7, 3),
      transfer: new Float64Array(3),
      sendsBeside: false,
    });
    expect(timeline?.ends[0]).toBe(6 * 12 + (1 + 2) + (name === 'gpipe' ? 2 + 3 : 0));
  });
});

/** Narayanan et al., arXiv:2104.04473, section 2.2: m·v·(F + B) + (p − 1)·(F + B) of a chunk. */
it.each(['interleaved-1f1b', 'looped-bfs'] as const)(
  'the bubble of %s is (p − 1)·(F + B) of a chunk',
  (name) => {
    fc.assert(
      fc.property(chunkedShapes, (shape) => {
        const { ranks, microBatches, chunks, forward, backward } = shape;
        expect(timelineOf(name, shape)?.ends[0]).toBe(
          (microBatches * chunks + ranks - 1) * (forward + backward),
        );
      }),
    );
  },
);

/**
 * Korthikanti et al., arXiv:2205.05198, section 4.2.3: with interleaving the first rank keeps L·(1 + (p − 1)/(p·v)) layers: v·p + p − 1
 * chunks, where there are as many micro-batches.
 */
it('interleaved 1F1B keeps v·p + p − 1 chunks on the first rank', () => {
  fc.assert(
    fc.property(chunkedShapes, (shape) => {
      const { ranks, microBatches, chunks } = shape;
      const [first = []] = pipelineSchedule('interleaved-1f1b', { ranks, microBatches, chunks });
      let [alive, most] = [0, 0];
      for (const { pass } of first) {
        alive += pass === 'forward' ? 1 : -1;
        most = Math.max(most, alive);
      }
      expect(most).toBe(Math.min(microBatches * chunks, chunks * ranks + ranks - 1));
    }),
  );
});

const chunksOf = (name: PipelineScheduleName, chunks: number): number =>
  name === 'gpipe' || name === '1f1b' ? 1 : chunks;

describe.each(pipelineSchedules)('%s', (name) => {
  it('computes each micro-batch once in each pass of each stage, after the stage before', () => {
    fc.assert(
      fc.property(chunkedShapes, fc.integer({ min: 0, max: 20 }), (shape, transfer) => {
        const chunks = chunksOf(name, shape.chunks);
        const { actions = [] } = timelineOf(name, { ...shape, chunks }, transfer) ?? {};
        const owners = stagesOfRanks({ ranks: shape.ranks, chunks });
        const all = actions.flat();
        expect(new Set(written(all)).size).toBe(all.length);
        expect(all.length).toBe(2 * shape.microBatches * shape.ranks * chunks);
        const ends = new Map(all.map((action) => [written([action])[0], action.end]));
        for (const [rank, own] of actions.entries()) {
          for (const { pass, stage, microBatch, start } of own) {
            expect(owners[rank]).toContain(stage);
            const before = ends.get(
              `${pass === 'forward' ? stage - 1 : stage + 1}${letters[pass]}${microBatch}`,
            );
            if (before !== undefined) expect(start).toBeGreaterThanOrEqual(before + transfer);
          }
        }
      }),
    );
  });
});

it('a rank that sends beside its work is free when it has computed', () => {
  const work = {
    schedule: pipelineSchedule('1f1b', { ranks: 2, microBatches: 2, chunks: 1 }),
    forward: Float64Array.of(10, 10),
    backward: Float64Array.of(20, 20),
    transfer: Float64Array.of(1, 0),
  };
  const starts = (sendsBeside: boolean) =>
    pipelineTimeline({ ...work, sendsBeside })?.actions[0]?.map(({ start }) => start);
  // Forward 0, forward 1, then backwards: those of rank 1 begin at 21 and take 10 + 20 each, and as much again to send.
  expect(starts(true)).toEqual([0, 10, 42, 72]);
  expect(starts(false)).toEqual([0, 11, 42, 73]);
});

it('a schedule in which ranks wait for each other for ever has no timeline', () => {
  const forward = { pass: 'forward', stage: 0, microBatch: 0 } as const;
  const backward = { pass: 'backward', stage: 0, microBatch: 0 } as const;
  const timeline = pipelineTimeline({
    schedule: [
      [backward, forward],
      [
        { ...forward, stage: 1 },
        { ...backward, stage: 1 },
      ],
    ],
    forward: Float64Array.of(1, 1),
    backward: Float64Array.of(1, 1),
    transfer: new Float64Array(2),
    sendsBeside: false,
  });
  expect(timeline).toBeUndefined();
});
