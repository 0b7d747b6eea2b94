import { expect, test } from 'vitest';
import { findGpu } from '../../server/src/hardware/gpus.ts';
import { uncorrectedTime } from '../../server/src/hardware/kernelTime.ts';
import type { KernelWork } from '../../server/src/hardware/kernelWork.ts';
import { bytes, flops } from '../../server/src/model/units.ts';

/** Scale and shift of a layer normalization in half precision, as one kernel with a block for each 32 columns. */
const sums = (rows: number, columns: number): KernelWork => ({
  class: 'normalization',
  dtype: 'fp32',
  flops: flops(0),
  operations: 4 * rows * columns,
  bytes: bytes(4 * rows * columns),
  launches: 1,
  columnSums: { blocks: Math.ceil(columns / 32), rows, elements: rows * columns },
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

test('kernels of AMD share the rows out', () => {
  expect(microseconds('mi210', 40_000, 32)).toBeLessThan(microseconds('mi210', 40_000, 1024) / 30);
});
