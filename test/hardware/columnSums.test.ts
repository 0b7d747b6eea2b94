import { expect, test } from 'vitest';
import { findGpu } from '../../server/src/hardware/gpus.ts';
import { uncorrectedTime } from '../../server/src/hardware/kernelTime.ts';
import type { KernelWork } from '../../server/src/hardware/kernelWork.ts';
import { bytes, flops } from '../../server/src/model/units.ts';

/** Scale and shift of a layer normalization in half precision, as one kernel with a block for each 32 columns. */
const sums = (rows: number, columns: number, environment?: KernelWork['environment']): KernelWork => ({
  class: 'normalization',
  dtype: 'fp32',
  flops: flops(0),
  operations: 4 * rows * columns,
  bytes: bytes(4 * rows * columns),
  launches: 1,
  columnSums: { blocks: Math.ceil(columns / 32), rows, elements: rows * columns },
  ...(environment && { environment }),
});

function microseconds(name: string, rows: number, columns: number): number {
  const gpu = findGpu(name);
  if (gpu === undefined) throw new Error(name);
  return uncorrectedTime(gpu, sums(rows, columns)) * 1e6;
}

// PyTorch pull request 87445, forward and backward on an A100 in half precision: 32.6 µs more for 2,048 more rows of 1,024
// columns and 40.4 µs for those of 1,536, of which reading and writing five tensors takes about half.
test.each([
  [1024, 15],
  [1536, 15],
])('2,048 rows of %i columns take about as long as was measured', (columns, expected) => {
  const more = microseconds('a100-sxm-80gb', 8192, columns) - microseconds('a100-sxm-80gb', 6144, columns);
  expect(more).toBeGreaterThan(expected * 0.8);
  expect(more).toBeLessThan(expected * 1.4);
});

test('columns cost nothing until each multiprocessor has a block; rows always do', () => {
  expect(microseconds('a100-sxm-80gb', 40_000, 1024)).toBeCloseTo(
    microseconds('a100-sxm-80gb', 40_000, 32),
    6,
  );
  expect(microseconds('a100-sxm-80gb', 80_000, 1024)).toBeCloseTo(
    2 * microseconds('a100-sxm-80gb', 40_000, 1024),
    6,
  );
});

test('from PyTorch 2.8 on few columns of many rows are shared out over the GPU, and no others', () => {
  const gpu = findGpu('a100-sxm-80gb');
  if (gpu === undefined) throw new Error('a100-sxm-80gb');
  const shared = { layout: 'channels-first', mixed: true, sharesRows: true } as const;
  const timeOf = (rows: number, columns: number) => uncorrectedTime(gpu, sums(rows, columns, shared));
  const body = (rows: number, columns: number) => {
    const { columnSums: _, ...plain } = sums(rows, columns);
    return uncorrectedTime(gpu, plain);
  };
  // 108 multiprocessors: 53 blocks leave half of them idle, 54 do not; blocks that wait take longer than what they move.
  expect(timeOf(65_537, 53 * 32)).toBe(body(65_537, 53 * 32));
  expect(timeOf(65_537, 54 * 32)).toBeGreaterThan(body(65_537, 54 * 32));
  expect(timeOf(65_536, 53 * 32)).toBeGreaterThan(body(65_536, 53 * 32));
});

test('kernels of AMD share the rows out', () => {
  expect(microseconds('mi210', 40_000, 32)).toBeLessThan(microseconds('mi210', 40_000, 1024) / 30);
});
