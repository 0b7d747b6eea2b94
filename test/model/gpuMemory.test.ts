/** What decides whether a step fits, and how it is marked. */

import { expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { gpuMemory, memoryText } from '../../server/src/model/gpuMemory.ts';
import type { Fit } from '../../server/src/model/stepCost.ts';
import { bytes } from '../../server/src/model/units.ts';

const spec = 'inputs: { x: "float32[1, 64]" }\nlayers:\n  - l: Linear(64)\n';
const { cost } = estimateModel(openLayerSpec(spec, 'm.layers.yaml'), [{ cluster: 'a100-sxm-80gb', gpus: 1 }]);
const gibibytes = (count: number) => bytes(count * 2 ** 30);

// Beside 1 GiB of context; what is reserved for tensors counts where they alone fit and cannot surely be placed.
test.each<[number, Fit, boolean, string]>([
  [70, 'yes', true, '71.0 GiB of 80.0 GiB'],
  [70, 'may', true, 'may not fit: 78.0 GiB of 80.0 GiB'],
  [70, 'no', true, 'out of memory: 78.0 GiB of 80.0 GiB'],
  [90, 'no', true, 'out of memory: 91.0 GiB of 80.0 GiB'],
  // A lower bound, of which nothing is placed unless even that does not fit.
  [70, 'may', false, 'fit unknown: ≥ 71.0 GiB of 80.0 GiB'],
  [70, 'no', false, 'out of memory: ≥ 78.0 GiB of 80.0 GiB'],
])('tensors of %f GiB that fit: %s; exact: %s', (peak, fits, exact, text) => {
  if (cost === undefined) throw new Error('no cost');
  const memory = {
    ...cost.totals.memory,
    peak: gibibytes(peak),
    context: gibibytes(1),
    capacity: gibibytes(80),
    reserved: { low: gibibytes(peak), high: gibibytes(77) },
  };
  const step = { fits, totals: { ...cost.totals, memory, exact } };
  expect(memoryText(gpuMemory(step))).toBe(text);
  const unknown = { fits, totals: { ...cost.totals, exact, memory: { ...memory, capacity: null } } };
  expect(gpuMemory(unknown)).toEqual({ needed: gibibytes(peak + 1), capacity: null, fits: null, exact });
});
