/** How fast the host of a machine launches, from steps of benchmarks. */

import { expect, test } from 'vitest';
import { fitHost } from '../../../server/src/benchmark/calibration/fitHost.ts';

const step = (launches: number, host: number) => ({ launches, host: host * 1e-3, whole: 1, waits: false });
const waiting = (launches: number, whole: number) => ({
  launches,
  host: whole * 0.8e-3,
  whole: whole * 1e-3,
  waits: true,
});

// A model of modules takes 1.16 times as long as the program of a benchmark.
test.each([
  ['one step', [step(500, 10)], 20 * 1.16],
  ['the median of three', [step(500, 10), step(100, 3), step(200, 20)], 30 * 1.16],
  ['between two, the mean of the logarithms', [step(500, 10), step(500, 22.5)], 30 * 1.16],
  ['a long step that waited for its host', [waiting(5000, 200)], 40 * 1.16],
  ['steps that waited before all others', [step(100, 1), waiting(400, 12), step(100, 1)], 30 * 1.16],
  ['a long step that filled the queue is left out', [step(500, 10), step(5000, 800)], 20 * 1.16],
])('%s', (_, timings, expected) => {
  const found = fitHost(timings, 'test');
  expect(found?.microseconds).toBeCloseTo(expected, 1);
  expect((found?.low ?? 0) * 1.25).toBeCloseTo(expected, 0);
  expect((found?.high ?? 0) / 1.25).toBeCloseTo(expected, 0);
});

test.each([
  ['nothing was timed', []],
  ['the host only waited for the queue', [step(5000, 800)]],
  ['nothing was launched', [step(0, 1)]],
])('nothing is told where %s', (_, timings) => {
  expect(fitHost(timings, 'test')).toBeUndefined();
});
