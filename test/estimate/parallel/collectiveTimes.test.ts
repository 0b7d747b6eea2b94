/** Collectives on the operators that wait for them: their time, and the launches that they take of the host. */

import { expect, it } from 'vitest';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import {
  type TimedCollective,
  withCollectives,
} from '../../../server/src/estimate/parallel/collectiveTimes.ts';
import { planStep } from '../../../server/src/estimate/plan/planStep.ts';
import { bytes, seconds } from '../../../server/src/model/units.ts';
import { openGraph } from '../../support/savedActivations.ts';

const { training, scenario, cluster } = estimateModel(openGraph('samples/tinyllama.layers.yaml'), [
  { cluster: 'dgx-h100', gpus: 1, batch: 1, precision: 'bf16', dimensions: { seq: 512 } },
]);
if (training === undefined || scenario === undefined || cluster === undefined) throw new Error('not costed');
const { times } = planStep(training, scenario, cluster);

const collective: TimedCollective = {
  axis: 'tensor',
  operator: 7,
  pass: 'forward',
  collective: 'all-reduce',
  elements: 1,
  bytes: bytes(4),
  time: seconds(3e-5),
  low: seconds(2e-5),
  high: seconds(5e-5),
  whole: seconds(3e-5),
  description: 'ring',
};

it.each([
  ['one', collective, 1, 1],
  ['several, one after another', { ...collective, times: 3 }, 1, 3],
  ['several whose calls take two launches and a half', { ...collective, times: 3 }, 2.5, 7.5],
])('%s: the host launches each, and its operator waits', (_, own, ofCall, launches) => {
  const { forward, backward } = withCollectives(times, [own], ofCall);
  const at = (column: Float64Array): number => column[own.operator] ?? Number.NaN;
  expect(at(forward.launches)).toBe(at(times.forward.launches) + launches);
  expect(at(forward.middle)).toBe(at(times.forward.middle) + own.time);
  expect(at(forward.low)).toBe(at(times.forward.low) + own.low);
  expect(at(forward.high)).toBe(at(times.forward.high) + own.high);
  // What is no collective's stays.
  expect(forward.bytes).toEqual(times.forward.bytes);
  expect(backward.launches).toEqual(times.backward.launches);
  const others = (column: Float64Array): number[] => [...column].filter((_, index) => index !== own.operator);
  expect(others(forward.launches)).toEqual(others(times.forward.launches));
});
