/** Where a layer stands under the roofs of its GPU: work over bytes, work over time, and its part of all time. */

import { expect, test } from 'vitest';
import { rooflinePoints } from '../../../server/src/estimate/figures/rooflinePoints.ts';
import type { LayerReport } from '../../../server/src/estimate/report/report.ts';
import { smallReport } from '../../support/smallReport.ts';

const [linear] = smallReport.layers;
if (linear === undefined) throw new Error('no layer');

/** 6 FLOPs on 4 bytes in 3 s. */
const layer = (name: string, change: Partial<LayerReport> = {}): LayerReport => ({
  ...linear,
  ...{ name, operators: [name], exact: true },
  flops: { forward: 1, backwardData: 2, backwardWeight: 3 },
  bytes: { forward: 1, backward: 3 },
  time: { ...linear.time, forward: 1, backward: 2 },
  ...change,
});

test('a point of each layer', () => {
  const long = layer('b', { type: 'Other', time: { ...linear.time, forward: 4, backward: 5 } });
  expect(rooflinePoints([layer('a'), long])).toEqual([
    { name: 'a', intensity: 1.5, rate: 2, share: 0.25, layer: 'a' },
    { name: 'b', intensity: 1.5, rate: 6 / 9, share: 0.75, layer: 'b' },
  ]);
});

test('layers that a model repeats are one, which leads to the first', () => {
  const [point, ...others] = rooflinePoints([layer('h.0.fc'), layer('h.1.fc'), layer('h.2.fc')]);
  expect(others).toEqual([]);
  // Three times the work, the bytes and the time.
  expect(point).toEqual({ name: 'h.*.fc', intensity: 1.5, rate: 2, share: 1, layer: 'h.0.fc' });
});

test.each<[string, Partial<LayerReport>]>([
  ['of which a part is unknown', { exact: false }],
  ['without FLOPs', { flops: { forward: 0, backwardData: 0, backwardWeight: 0 } }],
  ['whose FLOPs are unknown', { flops: { forward: 1, backwardData: null, backwardWeight: 3 } }],
  ['that moves nothing', { bytes: { forward: 0, backward: 0 } }],
  ['that moves nobody knows what', { bytes: { forward: 1, backward: null } }],
  ['that takes no time', { time: { ...linear.time, forward: 0, backward: 0 } }],
  ['that takes nobody knows how long', { time: { ...linear.time, forward: null, backward: 2 } }],
])('a layer %s has none', (_, change) => {
  expect(rooflinePoints([layer('a', change)])).toEqual([]);
});

test('a layer without operators goes by its name', () => {
  expect(rooflinePoints([layer('a', { operators: [] })])[0]?.layer).toBe('a');
});
