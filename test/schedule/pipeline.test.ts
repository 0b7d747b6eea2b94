/** Schedules of pipelines: orders of actions as PyTorch's and Megatron-LM's, bubbles and memory as the formulas for like stages. */

import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { type PipelineScheduleName, pipelineSchedules } from '../../server/src/model/scenario.ts';
import type { PipelineAction, PipelineSchedule } from '../../server/src/schedule/pipelineAction.ts';
import {
  chunksOfSchedule,
  leastMicroBatches,
  pipelineSchedule,
  sendsBesideCompute,
  stagesOfRanks,
} from '../../server/src/schedule/pipelineSchedules.ts';
import { keptBy, pipelineTimeline } from '../../server/src/schedule/pipelineTimeline.ts';
import golden from './pipelineGolden.json';

/** `2F3`: the forward of micro-batch 3 on stage 2, as PyTorch writes it. */
const written = (actions: readonly PipelineAction[]): readonly string[] =>
  actions.map(({ pass, stage, microBatch }) => `${stage}${letters[pass]}${microBatch}`);

const letters = { forward: 'F', backward: 'B', 'backward-input': 'I', 'backward-weight': 'W' } as const;

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
  /** Of backward. */
  readonly weight?: number;
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
  { ranks, microBatches, forward, backward, weight = 0, chunks = 1 }: Shape,
  transfer = 0,
) =>
  pipelineTimeline({
    schedule: pipelineSchedule(name, { ranks, microBatches, chunks }),
    forward: new Float64Array(ranks * chunks).fill(forward),
    backward: new Float64Array(ranks * chunks).fill(backward),
    weight: new Float64Array(ranks * chunks).fill(weight),
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
      weight: new Float64Array(3),
      transfer: new Float64Array(3),
      sendsBeside: false,
    });
    expect(timeline?.ends[0]).toBe(6 * 12 + (1 + 2) + (name === 'gpipe' ? 2 + 3 : 0));
  });
});

/** Whatever the order: each rank computes forward and backward of every micro-batch on each of its stages once. */
it.each([
  ['gpipe', 1],
  ['1f1b', 1],
  ['interleaved-1f1b', 3],
  ['looped-bfs', 2],
  ['zb-h1', 1],
  ['zb-h2', 1],
  ['zb-v', 2],
  ['v-half', 2],
  ['v-min', 2],
] as const)('a rank of %s is busy for m·v·(F + B)', (name, chunks) => {
  const shape = { ranks: 4, microBatches: 8, forward: 3, backward: 7, weight: 2, chunks };
  const timeline = timelineOf(name, shape, 5);
  expect(Array.from(timeline?.busy ?? [])).toEqual(Array(4).fill(8 * chunks * (3 + 7)));
  for (const [rank, actions] of (timeline?.actions ?? []).entries()) {
    const computed = actions.reduce((sum, { start, end }) => sum + end - start, 0);
    expect(computed).toBe(timeline?.busy[rank]);
  }
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

/** Qi et al., arXiv:2401.10241, table 1: the bubble of ZB-H1 is (p − 1)·(F + B − W), of B the gradients of inputs. */
it('zb-h1 leaves (p − 1)·(F + B − W) of the bubble', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 8 }), fc.integer({ min: 1, max: 5 }), (ranks, rounds) => {
      // Gradients of weights as long as those of inputs, and forward as long as these.
      const shape = { ranks, microBatches: rounds * ranks, forward: 3, backward: 6, weight: 3 };
      const timeline = timelineOf('zb-h1', shape);
      expect(Math.max(...(timeline?.ends ?? []))).toBe(shape.microBatches * 9 + (ranks - 1) * 3);
      // No rank keeps more than the first of 1F1B: section 2.1.
      expect(Math.max(...(timeline?.alive ?? []))).toBe(Math.min(shape.microBatches, ranks));
    }),
  );
});

/**
 * Section 6 of the same: with F = B = W no rank waits between its first and its last action. Each rank keeps p micro-batches, as the
 * first of 1F1B: 2·p of its chunks.
 */
it('zb-v has no bubble where both parts of backward are as long as forward', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 8 }), fc.integer({ min: 0, max: 12 }), (ranks, more) => {
      const microBatches = 2 * ranks + more;
      const shape = { ranks, microBatches, forward: 1, backward: 2, weight: 1, chunks: 2 };
      const timeline = timelineOf('zb-v', shape);
      for (const [rank, own] of (timeline?.actions ?? []).entries()) {
        expect(own[0]?.start).toBe(rank);
        expect((own.at(-1)?.end ?? 0) - rank).toBe(6 * microBatches);
      }
      for (const stages of stagesOfRanks('zb-v', { ranks, chunks: 2 }))
        expect(mostKept(pipelineSchedule('zb-v', shape), stages)).toBeLessThanOrEqual(2 * ranks);
    }),
  );
});

/**
 * Qi et al., arXiv:2401.10241, table 1: with as many micro-batches as fill it, a rank of ZB-H2 waits for (p − 1)·(F + B − 2·W), and
 * keeps 2p − 1 micro-batches at most.
 */
it.each([
  [1, 1, 1],
  [4, 4, 3],
  [3, 4, 2],
])('zb-h2 waits for (p − 1)·(F + B − 2·W): F %i, B %i, W %i', (forward, input, weight) => {
  for (let ranks = 1; ranks <= 8; ranks += 1) {
    for (const microBatches of [2 * ranks - 1, 3 * ranks]) {
      const shape = { ranks, microBatches, forward, backward: input + weight, weight };
      const { actions = [], alive } = timelineOf('zb-h2', shape) ?? {};
      const waits = actions.map(
        (own) => (own.at(-1)?.end ?? 0) - (own[0]?.start ?? 0) - microBatches * (forward + input + weight),
      );
      expect(Math.max(...waits)).toBe((ranks - 1) * (forward + input - 2 * weight));
      expect(Math.max(...(alive ?? []))).toBe(2 * ranks - 1);
    }
  }
});

/**
 * Qi et al., arXiv:2405.15362, section 4 and table of sail-sg's page of it: with F = B = W V-Half keeps ⌊(p + 2)/2⌋ micro-batches and has
 * half of the bubble of 1F1B, which is 3·(p − 1) of a stage; V-Min keeps ⌊(p + 4)/3⌋ and has about two thirds: by hand, its last
 * backward ends 4p + 6·(m − 1) units behind its first forward, or 2 more where 3 divides p, and one gradient of weights is left.
 */
it.each([
  ['v-half', (ranks: number) => 3 * (ranks - 1), (ranks: number) => Math.floor((ranks + 2) / 2)],
  [
    'v-min',
    (ranks: number) => 4 * ranks - (ranks % 3 === 0 ? 3 : 5),
    (ranks: number) => Math.floor((ranks + 4) / 3),
  ],
] as const)('%s has its bubble and keeps as little as its authors say', (name, bubbleOf, keptOf) => {
  for (const ranks of [2, 4, 6, 8, 9, 12, 16]) {
    for (const microBatches of [2 * ranks, 4 * ranks]) {
      const shape = { ranks, microBatches, forward: 1, backward: 2, weight: 1, chunks: 2 };
      const bubble = Math.max(...(timelineOf(name, shape)?.ends ?? [])) - 6 * microBatches;
      // With an odd number of ranks V-Half needs no pause between its ways.
      if (name === 'v-min' || ranks % 2 === 0) expect(bubble).toBe(bubbleOf(ranks));
      else expect(bubble).toBeLessThanOrEqual(bubbleOf(ranks));
      const schedule = pipelineSchedule(name, shape);
      for (const stages of stagesOfRanks(name, { ranks, chunks: 2 }))
        expect(mostKept(schedule, stages)).toBeLessThanOrEqual(2 * keptOf(ranks));
    }
  }
});

it('no schedule waits for ever with few ranks or few micro-batches', () => {
  for (const name of pipelineSchedules) {
    for (let ranks = 1; ranks <= 8; ranks += 1) {
      const { usual: chunks } = chunksOfSchedule[name];
      const least = leastMicroBatches(name, { ranks, chunks });
      for (let microBatches = least; microBatches <= least + 2 * ranks; microBatches += 1) {
        const isWhole = name !== 'interleaved-1f1b' || microBatches % ranks === 0 || microBatches < ranks;
        if (!isWhole) continue;
        const shape = { ranks, microBatches, forward: 1, backward: 2, weight: 1, chunks };
        expect(
          timelineOf(name, shape),
          `${name}, ${ranks} ranks, ${microBatches} micro-batches`,
        ).toBeDefined();
      }
    }
  }
});

/**
 * deepseek-ai/DualPipe, README: of p stages on p/2 ranks a rank waits for (p/2 − 1)·(F&B + B − 3·W), and keeps p + 1 chunks. A forward
 * and a backward at once both wait for what either waits for; one after the other they wait no longer.
 */
it('dualpipe-v waits no longer than its authors say', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 8 }), fc.integer({ min: 0, max: 12 }), (ranks, more) => {
      const microBatches = 2 * ranks + more;
      const shape = { ranks, microBatches, forward: 1, backward: 2, weight: 1, chunks: 2 };
      const timeline = timelineOf('dualpipe-v', shape);
      const bubble = Math.max(...(timeline?.ends ?? [])) - 6 * microBatches;
      expect(bubble).toBeLessThanOrEqual((ranks - 1) * (3 + 2 - 3));
      expect(bubble).toBeGreaterThanOrEqual(ranks - 1);
      for (const stages of stagesOfRanks('dualpipe-v', { ranks, chunks: 2 }))
        expect(mostKept(pipelineSchedule('dualpipe-v', shape), stages)).toBeLessThanOrEqual(2 * ranks + 1);
    }),
  );
});

/** Chunks of a rank that have gone forward and whose weights have no gradients yet, at most. */
function mostKept(schedule: PipelineSchedule, stages: readonly number[]): number {
  const own = schedule.find(([first]) => stages.includes(first?.stage ?? -1)) ?? [];
  let [alive, most] = [0, 0];
  for (const action of own) {
    alive += keptBy(action);
    most = Math.max(most, alive);
  }
  return most;
}

const chunksOf = (name: PipelineScheduleName, chunks: number): number =>
  Math.min(chunksOfSchedule[name].most, Math.max(chunksOfSchedule[name].least, chunks));

describe.each(pipelineSchedules)('%s', (name) => {
  it('computes each micro-batch once in each pass of each stage, after the stage before', () => {
    fc.assert(
      fc.property(chunkedShapes, fc.integer({ min: 0, max: 20 }), (shape, transfer) => {
        const chunks = chunksOf(name, shape.chunks);
        const microBatches = Math.max(shape.microBatches, leastMicroBatches(name, { ...shape, chunks }));
        const { actions = [] } = timelineOf(name, { ...shape, microBatches, chunks }, transfer) ?? {};
        const owners = stagesOfRanks(name, { ranks: shape.ranks, chunks });
        const all = actions.flat();
        const parts = written(all);
        expect(new Set(parts).size).toBe(parts.length);
        const passes = microBatches * shape.ranks * chunks;
        expect(parts.filter((part) => part.includes('F')).length).toBe(passes);
        // Both parts of a backward are done where one is.
        expect(parts.filter((part) => /[BI]/.test(part)).length).toBe(passes);
        expect(
          parts
            .filter((part) => part.includes('I'))
            .map((part) => part.replace('I', 'W'))
            .sort(),
        ).toEqual(parts.filter((part) => part.includes('W')).sort());
        const ends = new Map(all.map((action) => [written([action])[0], action.end]));
        const endOf = (stage: number, letter: string, microBatch: number): number | undefined =>
          ends.get(`${stage}${letter}${microBatch}`);
        const faults: string[] = [];
        for (const [rank, own] of actions.entries()) {
          for (const { pass, stage, microBatch, start } of own) {
            if (owners[rank]?.includes(stage) !== true) faults.push(`stage ${stage} on rank ${rank}`);
            const before =
              pass === 'forward'
                ? endOf(stage - 1, 'F', microBatch)
                : pass === 'backward-weight'
                  ? (endOf(stage, 'I', microBatch) ?? Number.NaN) - transfer
                  : (endOf(stage + 1, 'B', microBatch) ?? endOf(stage + 1, 'I', microBatch));
            if (before !== undefined && !(start >= before + transfer))
              faults.push(`${pass} ${stage} ${microBatch} before it can`);
          }
        }
        expect(faults).toEqual([]);
      }),
    );
  });
});

// Megatron-LM, schedules.py: `send_forward_recv_backward` waits; `overlap_p2p_comm` is of interleaving. PyTorch waits at the end of a step.
it('only GPipe and 1F1B wait for what they send', () => {
  expect(pipelineSchedules.filter((name) => !sendsBesideCompute(name))).toEqual(['gpipe', '1f1b']);
});

it('a rank that sends beside its work is free when it has computed', () => {
  const work = {
    schedule: pipelineSchedule('1f1b', { ranks: 2, microBatches: 2, chunks: 1 }),
    forward: Float64Array.of(10, 10),
    backward: Float64Array.of(20, 20),
    weight: Float64Array.of(0, 0),
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
    weight: Float64Array.of(0, 0),
    transfer: new Float64Array(2),
    sendsBeside: false,
  });
  expect(timeline).toBeUndefined();
});
