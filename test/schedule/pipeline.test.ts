/** Schedules of pipelines: orders of actions as PyTorch's, bubbles as the formulas for stages alike. */

import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import type { PipelineScheduleName } from '../../server/src/model/scenario.ts';
import { pipelineSchedule } from '../../server/src/schedule/pipelineSchedules.ts';
import { pipelineTimeline } from '../../server/src/schedule/pipelineTimeline.ts';
import golden from './pipelineGolden.json';

const nameOf = (name: string): PipelineScheduleName => (name === 'gpipe' ? 'gpipe' : '1f1b');

/** `2F3`: the forward of micro-batch 3 on stage 2, as PyTorch writes it. */
describe('order of actions', () => {
  test.each(golden.map((row) => [row.schedule, row.ranks, row.microBatches, row.order] as const))(
    '%s, %i ranks, %i micro-batches',
    (name, ranks, microBatches, order) => {
      const schedule = pipelineSchedule(nameOf(name), { ranks, microBatches, chunks: 1 });
      const written = schedule.map((actions, rank) =>
        actions.map(({ pass, microBatch }) => `${rank}${pass === 'forward' ? 'F' : 'B'}${microBatch}`),
      );
      expect(written).toEqual(order);
    },
  );
});

const shapes = fc.record({
  ranks: fc.integer({ min: 1, max: 12 }),
  microBatches: fc.integer({ min: 1, max: 24 }),
  forward: fc.integer({ min: 1, max: 50 }),
  backward: fc.integer({ min: 1, max: 50 }),
});

const timelineOf = (
  name: PipelineScheduleName,
  {
    ranks,
    microBatches,
    forward,
    backward,
  }: { ranks: number; microBatches: number; forward: number; backward: number },
  transfer = 0,
) =>
  pipelineTimeline({
    schedule: pipelineSchedule(name, { ranks, microBatches, chunks: 1 }),
    forward: new Float64Array(ranks).fill(forward),
    backward: new Float64Array(ranks).fill(backward),
    transfer: new Float64Array(ranks).fill(transfer),
  });

describe.each(['gpipe', '1f1b'] as const)('%s', (name) => {
  /** (m + p − 1)·(F + B): Huang et al., arXiv:1811.06965; Narayanan et al., arXiv:2104.04473, section 2.2. */
  it('takes (m + p − 1)·(F + B) with stages alike', () => {
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
        const alive = timelineOf(name, shape)?.alive.map((own) => own[0]);
        expect(alive).toEqual(
          Array.from({ length: ranks }, (_, rank) =>
            name === 'gpipe' ? microBatches : Math.min(microBatches, ranks - rank),
          ),
        );
      }),
    );
  });

  it('computes each micro-batch once in each pass on each rank, after the stage before', () => {
    fc.assert(
      fc.property(shapes, fc.integer({ min: 0, max: 20 }), (shape, transfer) => {
        const { actions = [] } = timelineOf(name, shape, transfer) ?? {};
        for (const [rank, own] of actions.entries()) {
          expect(new Set(own.map(({ pass, microBatch }) => `${pass} ${microBatch}`)).size).toBe(
            2 * shape.microBatches,
          );
          for (const { pass, microBatch, start } of own) {
            const before = actions[pass === 'forward' ? rank - 1 : rank + 1]?.find(
              (other) => other.pass === pass && other.microBatch === microBatch,
            );
            if (before !== undefined) expect(start).toBeGreaterThanOrEqual(before.end + transfer);
          }
        }
      }),
    );
  });

  /** The slowest computes 6·(5 + 7) without a pause in 1F1B, behind F and before B of the first; GPipe drains all stages. */
  it('waits for the slowest stage', () => {
    const forward = Float64Array.of(1, 5, 2);
    const backward = Float64Array.of(2, 7, 3);
    const timeline = pipelineTimeline({
      schedule: pipelineSchedule(name, { ranks: 3, microBatches: 6, chunks: 1 }),
      forward,
      backward,
      transfer: new Float64Array(3),
    });
    expect(timeline?.ends[0]).toBe(6 * 12 + (1 + 2) + (name === 'gpipe' ? 2 + 3 : 0));
  });
});

it('a schedule in which ranks wait for each other for ever has no timeline', () => {
  const forward = { pass: 'forward', chunk: 0, microBatch: 0 } as const;
  const backward = { pass: 'backward', chunk: 0, microBatch: 0 } as const;
  const timeline = pipelineTimeline({
    schedule: [
      [backward, forward],
      [forward, backward],
    ],
    forward: Float64Array.of(1, 1),
    backward: Float64Array.of(1, 1),
    transfer: new Float64Array(2),
  });
  expect(timeline).toBeUndefined();
});
