/** What a layout takes at least, by the passes of others that were costed. */

import { expect, test } from 'vitest';
import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import {
  type CostedLayout,
  LayoutBounds,
  leastElsewhere,
  leastWith,
  withoutWaits,
} from '../../../server/src/estimate/planner/layoutBound.ts';
import { seconds } from '../../../server/src/model/units.ts';

const spec = 'inputs: { x: "float32[batch, 64]" }\nlayers:\n  - l: Linear(64)\n';
const { cost } = estimateModel(openLayerSpec(spec, 'm.layers.yaml'), [
  { cluster: 'dgx-a100', gpus: 8, batch: 1 },
]);

/** One stage whose passes take 8 s forward and backward. */
function costed(name: string, step: number): CostedLayout {
  if (cost === undefined) throw new Error('no cost');
  const time = { ...cost.totals.time, forward: seconds(3), backward: seconds(5) };
  return {
    tensor: 1,
    context: 1,
    expert: 1,
    pipeline: 1,
    microBatch: 2,
    framework: { name },
    cost: { ...cost, totals: { ...cost.totals, time } },
    step,
  };
}

const asked = (pipeline: number, name = 'megatron') => ({
  degrees: { tensor: 1, context: 1, expert: 1, pipeline },
  framework: { name },
});

test('1F1B of p ranks and m micro-batches takes m + p − 1 times a p-th of a pass', () => {
  const bounds = new LayoutBounds(3);
  expect(bounds.leastStep(asked(4), 2, 16)).toBe(0);
  bounds.learn(costed('megatron', 10));
  expect(bounds.leastStep(asked(1), 2, 16)).toBe(8 * 16);
  expect(bounds.leastStep(asked(4), 2, 16)).toBe((8 / 4) * (16 + 3));
  // Passes of another size, or of another framework, say nothing.
  expect(bounds.leastStep(asked(4), 4, 16)).toBe(0);
  expect(bounds.leastStep(asked(4, 'torchtitan'), 2, 16)).toBe(0);
});

test('a layout is too slow beyond the last that is listed, or 1.3 times the fastest', () => {
  const bounds = new LayoutBounds(2);
  expect(bounds.isOverLimit(1000)).toBe(false);
  for (const [name, step] of [
    ['a', 10],
    ['b', 11],
    ['c', 12],
  ] as const)
    bounds.list(costed(name, step));
  expect([10.9, 11, 11.1].map((step) => bounds.isOverLimit(step))).toEqual([false, false, true]);
  const wide = new LayoutBounds(9);
  wide.list(costed('a', 10));
  expect([12.9, 13.1].map((step) => wide.isOverLimit(step))).toEqual([false, true]);
});

/** A pass of 3 s forward and 5 s backward, of which 2.5 s may be gradients of weights. */
test('whatever the schedule, a micro-batch goes through all stages and back, and a stage takes all of them', () => {
  const bounds = new LayoutBounds(3);
  expect(bounds.leastOf(asked(4), 2, 1)).toBe(0);
  bounds.learn(costed('megatron', 10));
  // One micro-batch waits for all stages, whatever is put off.
  expect(bounds.leastOf(asked(4), 2, 1)).toBeCloseTo(0.98 * 5.5, 9);
  // Two on eight ranks make no round of chunks: the last stage takes both, seven come before and behind.
  expect(bounds.leastOf(asked(8), 2, 2)).toBeCloseTo(0.98 * 5.5 * (9 / 8), 9);
  // Many leave an eighth of the bubble with eight chunks.
  expect(bounds.leastOf(asked(4), 2, 64)).toBeCloseTo(0.98 * (8 / 4) * (64 + 3 / 8), 9);
  // Twice as many samples take no less than these do.
  expect(bounds.leastOf(asked(1), 4, 8)).toBeCloseTo(0.95 * 8 * 8, 9);
});

test('copies that update all are no faster than those that share the update', () => {
  const bounds = new LayoutBounds(3);
  const { degrees } = asked(1);
  expect(bounds.areCopiesTooSlow(degrees)).toBe(true);
  const { scenario } = costed('any', 0).cost;
  const framework = { name: 'deepspeed-zero', options: { stage: '1' } };
  for (const step of [14, 13]) {
    const layout = costed(framework.name, step);
    bounds.learn({ ...layout, cost: { ...layout.cost, scenario: { ...scenario, framework } } });
  }
  bounds.list(costed('faster', 10));
  // 0.95 times 13 s is within 1.3 times 10 s.
  expect(bounds.areCopiesTooSlow(degrees)).toBe(false);
  bounds.list(costed('faster', 9));
  expect(bounds.areCopiesTooSlow(degrees)).toBe(true);
});

test('copies that took twice as long elsewhere take half as much longer here', () => {
  const bounds = new LayoutBounds(3);
  const framework = { name: 'deepspeed-zero', options: { stage: '1' } };
  const layout = costed(framework.name, 10);
  const { scenario } = layout.cost;
  bounds.learn({ ...layout, cost: { ...layout.cost, scenario: { ...scenario, framework } } });
  bounds.list(costed('faster', 8));
  const { degrees } = asked(1);
  expect(bounds.areCopiesTooSlow(degrees, layout.microBatch)).toBe(false);
  bounds.learn(costed('pytorch-ddp', 20));
  // 1.5 times 10 s is more than 1.3 times 8 s.
  expect(bounds.areCopiesTooSlow(degrees, layout.microBatch)).toBe(true);
});

test('another schedule waits for a part of the bubble, and chunks for a part of what is exchanged', () => {
  const { cost: own } = costed('megatron', 10);
  const parallel = {
    ...{
      replicas: 1,
      microBatches: 4,
      bubble: seconds(3),
      stages: [],
      collectives: [],
      whole: [],
      shardings: [],
    },
    ...{ tensorCommunication: seconds(0), contextCommunication: seconds(0), expertCommunication: seconds(0) },
  };
  const time = { ...own.totals.time, exposedCommunication: seconds(1) };
  const cost = { ...own, parallel, totals: { ...own.totals, time } };
  const least = (chunks: number, schedule: 'zb-h1' | 'zb-v' | 'interleaved-1f1b') =>
    leastWith({ step: 10, cost }, { chunks, schedule });
  expect(least(1, 'zb-h1')).toBeCloseTo(8, 9);
  expect(least(2, 'interleaved-1f1b')).toBeCloseTo(8, 9);
  // Of four chunks a quarter of both is left.
  expect(least(4, 'interleaved-1f1b')).toBeCloseTo(7, 9);
  expect(least(2, 'zb-v')).toBeCloseTo(6.5, 9);
  expect(withoutWaits({ step: 10, cost })).toBeCloseTo(6, 9);
  // Another framework may hide all of the exchange; its kernels are alike within 5 %.
  const elsewhere = (chunks: number, schedule: 'zb-h1' | 'zb-v' | 'interleaved-1f1b') =>
    leastElsewhere({ step: 10, cost }, { chunks, schedule });
  expect(elsewhere(1, 'zb-h1')).toBeCloseTo(0.95 * 7, 9);
  expect(elsewhere(2, 'zb-v')).toBeCloseTo(0.95 * 6, 9);
  expect(elsewhere(2, 'interleaved-1f1b')).toBeCloseTo(0.95 * 7.5, 9);
});

test('no bound of another framework where the exchange is not known', () => {
  const { cost: own } = costed('deepspeed-zero', 10);
  const time = { ...own.totals.time, exposedCommunication: null };
  const unknown = { ...own, totals: { ...own.totals, time } };
  expect(leastElsewhere({ step: 10, cost: unknown }, { chunks: 2, schedule: 'zb-v' })).toBe(0);
});
