/** A link from measured collectives, by nccl-tests' definitions worked out by hand. */

import { expect, it } from 'vitest';
import { fitLink } from '../../../server/src/benchmark/calibration/fitLink.ts';
import type { MeasuredCollective } from '../../../server/src/benchmark/runCollectives.ts';
import { seconds } from '../../../server/src/model/units.ts';

const row = (
  bytes: number,
  time: number,
  operation: MeasuredCollective['operation'] = 'all-reduce',
): MeasuredCollective => ({
  operation,
  bytes,
  ranks: 8,
  median: seconds(time),
  low: seconds(time),
  high: seconds(time),
});

it.each([
  // 2 · 7/8 · 256 MiB / 2 ms = 234.9 GB/s; 42 µs over 14 steps.
  ['NVLink', [row(1_024, 42e-6), row(2 ** 28, 2e-3)], 32, 'nvlink', 234.9, 3],
  // 2 · 7/8 · 256 MiB / 30 ms = 15.66 GB/s.
  ['PCIe', [row(2 ** 28, 30e-3), row(1_024, 84e-6)], 32, 'pcie', 15.66, 6],
  ['an unknown GPU', [row(1_024, 42e-6), row(2 ** 28, 2e-3)], undefined, 'pcie', 234.9, 3],
] as const)('%s', (_, rows, pcie, kind, rate, latency) => {
  expect(fitLink(rows, pcie, 'measured')).toEqual({
    kind,
    busBandwidthGBs: { value: rate, source: 'measured' },
    latencyMicroseconds: { value: latency, source: 'measured' },
  });
});

it.each([
  ['nothing', []],
  ['other collectives', [row(2 ** 28, 2e-3, 'all-gather')]],
  ['small messages only', [row(1_024, 42e-6), row(2 ** 20, 60e-6)]],
])('%s tells no link', (_, rows) => {
  expect(fitLink(rows, 32, 'measured')).toBeUndefined();
});
