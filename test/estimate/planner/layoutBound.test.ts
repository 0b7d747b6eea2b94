/** What a layout takes at least, by the passes of others that were costed. */

import { expect, test } from 'vitest';
import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { type CostedLayout, LayoutBounds } from '../../../server/src/estimate/planner/layoutBound.ts';
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
