/** The same step in another layout: as many samples, in as many passes as the copies that are left need. */

import { describe, expect, test } from 'vitest';
import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { type LaidOutStep, layOutStep } from '../../../server/src/estimate/parallel/laidOutStep.ts';
import {
  changed,
  fits,
  largerMicroBatches,
  microBatchText,
  smallerMicroBatches,
  timeOf,
} from '../../../server/src/estimate/parallel/otherLayouts.ts';
import type { ParallelScenario, ScenarioRequest } from '../../../server/src/model/scenario.ts';
import { bytes } from '../../../server/src/model/units.ts';

const spec = (batch: string): string => `
inputs: { x: "float32[${batch}, 256]" }
blocks:
  part:
    - up: Linear(512)
    - act: GELU()
    - down: Linear(256)
layers:
  - h: part() * 8
`;

/** Eight GPUs in two copies of a pipeline of four, each with eight passes of eight samples. */
function laidOut(
  parallel: Partial<ParallelScenario> = { pipeline: 4 },
  request: ScenarioRequest = {},
  batch = 'batch',
): LaidOutStep {
  const asked = { cluster: 'dgx-h100', gpus: 8, batch: 8, accumulate: 8, precision: 'bf16' } as const;
  const opened = openLayerSpec(spec(batch), 'm.layers.yaml');
  const { training, scenario, cluster, issues } = estimateModel(opened, [{ parallel, ...request }, asked]);
  if (training === undefined || scenario?.parallel === undefined || cluster === undefined)
    throw new Error(JSON.stringify(issues));
  return layOutStep(training, scenario, scenario.parallel, cluster) ?? expect.fail('not laid out');
}

describe('another layout', () => {
  const passes = (step: LaidOutStep, layout: Partial<ParallelScenario>): number | undefined =>
    changed(step, layout)?.scenario.accumulate;

  test('has as many samples in a step', () => {
    // Two copies of four: copies of eight are one, of two are four, and each GPU is a copy at last.
    expect([8, 4, 2, 1].map((pipeline) => passes(laidOut(), { pipeline }))).toEqual([16, 8, 4, 2]);
    expect(passes(laidOut(), { pipeline: 2, tensor: 2 })).toBe(8);
    expect(passes(laidOut(), { pipeline: 4, tensor: 2 })).toBe(16);
  });

  test('is none where GPUs do not divide into copies', () => {
    expect(passes(laidOut(), { pipeline: 3 })).toBeUndefined();
    expect(passes(laidOut(), { pipeline: 8, tensor: 2 })).toBeUndefined();
  });

  test('is none where a pass would be a part of one', () => {
    const once = laidOut({ pipeline: 4 }, { accumulate: 1 });
    expect(passes(once, { pipeline: 2 })).toBeUndefined();
    expect(passes(once, { pipeline: 8 })).toBe(2);
  });

  test('is none that the framework refuses', () => {
    // DeepSpeed has 1F1B alone (deepspeed/runtime/pipe/schedule.py, `TrainSchedule`).
    const framework = { name: 'deepspeed-zero', options: { stage: '1' } };
    expect(changed(laidOut(), { schedule: 'gpipe' }, { framework })).toBeUndefined();
    expect(changed(laidOut(), { schedule: '1f1b' }, { framework })).toBeDefined();
    expect(changed(laidOut(), { schedule: 'gpipe' })).toBeDefined();
  });

  test('has the rest of the step as it was, and what is changed beside', () => {
    const step = laidOut();
    const after = changed(step, { pipeline: 2 }, { checkpoint: 'block' });
    expect(after?.scenario).toEqual({
      ...step.scenario,
      accumulate: 4,
      checkpoint: 'block',
      parallel: { ...step.parallel, pipeline: 2 },
    });
    expect(after?.parallel).toEqual({ ...step.parallel, pipeline: 2 });
  });

  test('of one rank has one stage, whatever the schedule was', () => {
    const interleaved = laidOut({ pipeline: 4, chunks: 2, schedule: 'interleaved-1f1b' });
    expect(changed(interleaved, { pipeline: 1 })?.parallel).toMatchObject({ chunks: 1, schedule: '1f1b' });
    expect(changed(interleaved, { pipeline: 2 })?.parallel).toMatchObject({
      chunks: 2,
      schedule: 'interleaved-1f1b',
    });
  });

  test('of another number of stages is cut evenly, where blocks were given', () => {
    const given = laidOut({ pipeline: 4, stages: [1, 3, 3, 1] });
    expect(changed(given, { pipeline: 2 })?.parallel.stages).toBe('balanced');
    expect(changed(given, { schedule: 'gpipe' })?.parallel.stages).toEqual([1, 3, 3, 1]);
    expect(changed(laidOut({ pipeline: 4, stages: 'uniform' }), { pipeline: 2 })?.parallel.stages).toBe(
      'uniform',
    );
  });

  test('has sequences split where layers are', () => {
    const both = laidOut({ tensor: 2, sequence: true, pipeline: 2 });
    expect(both.parallel.sequence).toBe(true);
    expect(changed(both, { tensor: 4 })?.parallel.sequence).toBe(true);
    expect(changed(both, { tensor: 1 })?.parallel.sequence).toBe(false);
  });
});

describe('other micro-batches', () => {
  const sizes = (steps: readonly LaidOutStep[]) =>
    steps.map(({ scenario, training }) => [scenario.batchPerGpu, scenario.accumulate, training.batch]);

  test('are halves as far as whole samples go', () => {
    expect(sizes(smallerMicroBatches(laidOut()))).toEqual([
      [4, 16, 4],
      [2, 32, 2],
      [1, 64, 1],
    ]);
    expect(sizes(smallerMicroBatches(laidOut({ pipeline: 4 }, { batch: 6 })))).toEqual([[3, 16, 3]]);
    expect(sizes(smallerMicroBatches(laidOut({ pipeline: 4 }, { batch: 1 })))).toEqual([]);
  });

  test('are of joined passes as far as these go', () => {
    expect(sizes(largerMicroBatches(laidOut()))).toEqual([
      [16, 4, 16],
      [32, 2, 32],
      [64, 1, 64],
    ]);
    expect(sizes(largerMicroBatches(laidOut({ pipeline: 4 }, { accumulate: 6 })))).toEqual([[16, 3, 16]]);
  });

  test('are none where the model fixes its batch', () => {
    const fixed = laidOut({ pipeline: 4 }, { batch: 8 }, '8');
    expect(smallerMicroBatches(fixed)).toEqual([]);
    expect(largerMicroBatches(fixed)).toEqual([]);
  });

  test('are named as a scenario says them', () => {
    const step = laidOut();
    const text = (accumulate: number | undefined, globalBatch?: number): string => {
      const { accumulate: _, globalBatch: __, ...scenario } = step.scenario;
      return microBatchText({
        ...step,
        scenario: {
          ...scenario,
          batchPerGpu: 2000,
          ...(accumulate === undefined ? {} : { accumulate }),
          ...(globalBatch === undefined ? {} : { globalBatch }),
        },
      });
    };
    expect(text(16)).toBe('use 16 micro-batches of 2,000 (`batch=2000`, `accumulate=16`)');
    expect(text(1)).toBe('use one micro-batch of 2,000 (`batch=2000`, `accumulate=1`)');
    expect(text(undefined)).toBe('use one micro-batch of 2,000 (`batch=2000`, `accumulate=1`)');
    expect(text(16, 64)).toBe('use a micro-batch of 2,000 (`micro-batch=2000`)');
  });
});

test('a layout fits where its fullest rank does, and takes what its step takes', () => {
  const step = laidOut();
  expect(fits(step)).toBe(true);
  const memories = step.memories.map((memory, rank) =>
    rank === step.fullest ? { ...memory, peak: bytes(1e12) } : memory,
  );
  expect(fits({ ...step, memories })).toBe(false);
  expect(timeOf({ ...step, times: { ...step.times, step: 0.25 } })).toBe('250 ms');
});
