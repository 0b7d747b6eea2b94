import { join } from 'node:path';
import { expect, test } from 'vitest';
import { numberIn, readMeasured } from '../../scripts/measured/readMeasured.ts';
import { findGpu } from '../../server/src/hardware/gpus.ts';
import { kernelTime, uncorrectedTime } from '../../server/src/hardware/kernelTime.ts';
import type { ChannelSums, KernelWork } from '../../server/src/hardware/kernelWork.ts';
import { bytes, flops } from '../../server/src/model/units.ts';

/** Batch normalization of channels-first tensors of `elements` a channel. */
function normalization(
  pass: ChannelSums['pass'],
  channels: number,
  elements: number,
  bytesPerElement: number,
): KernelWork {
  const tensors = pass === 'forward' ? 3 : 5;
  return {
    class: 'normalization',
    dtype: 'fp32',
    flops: flops(0),
    operations: 4 * elements * channels,
    bytes: bytes(tensors * elements * channels * bytesPerElement),
    launches: 1,
    channelSums: { pass, channels, loads: (tensors - 1) * elements },
  };
}

function milliseconds(name: string, work: KernelWork): number {
  const gpu = findGpu(name);
  if (gpu === undefined) throw new Error(name);
  return uncorrectedTime(gpu, work) * 1e3;
}

test('nine of ten batch normalizations of few channels take what was measured, within a quarter', () => {
  const rows = readMeasured(join(import.meta.dirname, '../../measured'), 'batch-norm.csv');
  const errors = rows.map((row) => {
    const elements = numberIn(row, 'batch') * numberIn(row, 'side') ** 3;
    const pass = row.pass === 'backward' ? 'backward' : 'forward';
    const work = normalization(pass, numberIn(row, 'channels'), elements, 2);
    return Math.abs(milliseconds(row.gpu ?? '', work) / numberIn(row, 'milliseconds') - 1);
  });
  expect(errors.length).toBeGreaterThan(100);
  expect(errors.filter((error) => error < 0.25).length).toBeGreaterThan(0.9 * errors.length);
});

const time = (name: string, channels: number, bytesPerElement: number): number =>
  milliseconds(name, normalization('backward', channels, 10_000_000, bytesPerElement));

test('few channels wait for their loads: half of the bytes take far more than half of the time', () => {
  expect(time('b200', 64, 2) / time('b200', 64, 4)).toBeGreaterThan(0.85);
});

test('few channels are bound by memory, whose loads they wait for, not by arithmetic', () => {
  const gpu = findGpu('a100-sxm-80gb');
  if (gpu === undefined) throw new Error('no A100');
  for (const pass of ['forward', 'backward'] as const)
    expect(kernelTime(gpu, normalization(pass, 64, 800_000, 2)).bound).toBe('memory');
});

test('channels beyond what is on the GPU at once wait for another round', () => {
  const { value } = findGpu('b200')?.multiprocessors ?? { value: Number.NaN };
  const [one, two] = [time('b200', 3 * value, 2), time('b200', 3 * value + 1, 2)];
  expect(two / one).toBeGreaterThan(1.5);
});

test('many channels on a GPU of little bandwidth are bound by it', () => {
  const work = normalization('forward', 512, 1_000_000, 2);
  const { channelSums: _, ...unblocked } = work;
  expect(milliseconds('t4', work)).toBeCloseTo(milliseconds('t4', unblocked), 6);
});
