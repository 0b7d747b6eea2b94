/** A GPU that multiplies without a pause lowers its clock; one that waits for memory does not. */

import { expect, test } from 'vitest';
import { findGpu } from '../../server/src/hardware/gpus.ts';
import { emptyKernelTime, kernelTime, uncorrectedTime } from '../../server/src/hardware/kernelTime.ts';
import { bytes, flops } from '../../server/src/model/units.ts';

// 4,096 × 14,336 weights of Llama 3 8B: for one token 117 MB of them are read; for 16,384 tokens 1.9 TFLOP are computed.
test.each([
  ['a100-sxm-80gb', 1, false],
  ['a100-sxm-80gb', 16384, true],
  ['h100-sxm', 1, false],
  ['h100-sxm', 16384, true],
])('%s with %i tokens', (name, tokens, isLonger) => {
  const gpu = findGpu(name) ?? expect.fail(name);
  const [m, n, k] = [tokens, 14336, 4096];
  const work = {
    class: 'matmul',
    dtype: 'bf16',
    flops: flops(2 * m * n * k),
    operations: 0,
    bytes: bytes(2 * (m * k + n * k + m * n)),
    launches: 1,
    matmuls: [{ shape: { kind: 'matmul', layout: 'nt', batch: 1, m, n, k }, count: 1 }],
    bytesPerElement: 2,
    environment: { layout: 'channels-first', mixed: true, bf16: true },
  } as const;
  const [whole, alone] = [kernelTime(gpu, work).time - emptyKernelTime, uncorrectedTime(gpu, work)];
  if (isLonger) expect(whole / alone).toBeGreaterThan(1.1);
  // One row of a tile of 64 or more is not computed for nothing: 0.4 % of the peak.
  else expect(whole / alone).toBeLessThan(1.002);
});
