import { expect, it } from 'vitest';
import { runEnergy, usualPue } from '../../server/src/estimate/runEnergy.ts';
import { builtInGpus } from '../../server/src/hardware/gpus.ts';
import { formatEnergy } from '../../server/src/model/format.ts';
import { joules, seconds } from '../../server/src/model/units.ts';

const gpuOf = (name: string) => {
  const gpu = builtInGpus.find((each) => each.name === name);
  if (gpu === undefined) throw new Error(`no GPU ${name}`);
  return { gpu };
};
const day = seconds(86_400);

it.each([
  // 8 boards of 700 W for a day are 134.4 kWh.
  ['h100-sxm', 8, 0, 1, 134.4],
  ['h100-sxm', 8, 0, undefined, 134.4 * usualPue],
  ['h100-sxm', 8, 0.025, 1.2, 134.4 * 0.75 * 1.2],
  ['t4', 1, 0.1, 1, 0],
] as const)('%s × %i, waiting %f of 0.1 s, PUE %s: %f kWh', (name, gpus, waiting, pue, expected) => {
  const energy = runEnergy(gpuOf(name), gpus, day, seconds(0.1), seconds(waiting), pue);
  expect((energy?.atMost ?? Number.NaN) / 3.6e6).toBeCloseTo(expected, 9);
});

it('is not known without the power of a board, or what the GPU waits for', () => {
  expect(runEnergy(gpuOf('k80'), 8, day, seconds(0.1), seconds(0))).toBeNull();
  expect(runEnergy(gpuOf('t4'), 8, day, seconds(0.1), null)).toBeNull();
});

it.each([
  [3.6e6, '1.00 kWh'],
  [3.6e9 * 1.234, '1.23 MWh'],
  [3.6e12 * 56.7, '56.7 GWh'],
])('%f J is %s', (energy, text) => {
  expect(formatEnergy(joules(energy))).toBe(text);
});
