/** Updates that were measured on an H200 (`measured/kernels-h200.jsonl`, PyTorch 2.11 for CUDA 13), each by its own tensors. */

import { expect, test } from 'vitest';
import { readKernels } from '../../scripts/measured/readKernels.ts';
import { numberIn } from '../../scripts/measured/readMeasured.ts';
import type { OptimizerKernels } from '../../server/src/frameworks/pytorch/listPasses.ts';
import { optimizerUpdate } from '../../server/src/frameworks/pytorch/optimizerUpdate.ts';
import { findGpu } from '../../server/src/hardware/gpus.ts';
import { kernelTime } from '../../server/src/hardware/kernelTime.ts';
import type { Optimizer } from '../../server/src/model/scenario.ts';
import { vectors } from '../support/updateSizes.ts';

const block = [2304 * 768, 768 * 768, 3072 * 768, 768 * 3072, 768, 768];
/** As `updates` of scripts/measured/gpuKernels.py makes them. */
const lengthsOf: Readonly<Record<string, readonly number[]>> = {
  transformer: [50257 * 768, ...Array.from({ length: 12 }, () => block).flat()],
  small: Array.from({ length: 80 }, () => [65_536, 256]).flat(),
  large: Array.from({ length: 6 }, () => 8192 * 8192),
};

const rows = readKernels('measured', 'updates');

test('every row is judged', () => expect(rows).toHaveLength(9));

test.each(rows.map((row) => [`${row.parameters} ${row.optimizer} ${row.kernels}`, row] as const))(
  '%s',
  (_, row) => {
    const lengths = lengthsOf[row.parameters ?? ''] ?? [];
    const gpu = findGpu('h200-sxm');
    const sizes = vectors(lengths);
    expect(sizes.elements).toBe(numberIn(row, 'elements'));
    const { kernels } = optimizerUpdate(
      row.optimizer as Optimizer,
      row.kernels as OptimizerKernels,
      'bf16',
      sizes,
    );
    const predicted = kernels.reduce((sum, work) => sum + (gpu ? kernelTime(gpu, work).time : Number.NaN), 0);
    const ratio = (predicted * 1e6) / numberIn(row, 'microseconds');
    expect(ratio).toBeGreaterThan(0.88);
    expect(ratio).toBeLessThan(1.12);
  },
);
