/** A GPU that multiplies without a pause lowers its clock; one that waits for memory does not. */

import { expect, test } from 'vitest';
import { findGpu } from '../../server/src/hardware/gpus.ts';
import { emptyKernelTime, kernelTime, uncorrectedTime } from '../../server/src/hardware/kernelTime.ts';
import { matmulWork } from '../support/matmulWork.ts';

// 4,096 × 14,336 weights of Llama 3 8B: for one token 117 MB of them are read; for 16,384 tokens 1.9 TFLOP are computed.
test.each([
  ['a100-sxm-80gb', 1, false],
  ['a100-sxm-80gb', 16384, true],
  ['h100-sxm', 1, false],
  ['h100-sxm', 16384, true],
])('%s with %i tokens', (name, tokens, isLonger) => {
  const gpu = findGpu(name) ?? expect.fail(name);
  const work = {
    ...matmulWork({ layout: 'nt', m: tokens, n: 14336, k: 4096 }, 'bf16'),
    environment: { layout: 'channels-first', mixed: true, bf16: true },
  } as const;
  const [whole, alone] = [kernelTime(gpu, work).time - emptyKernelTime, uncorrectedTime(gpu, work)];
  if (isLonger) expect(whole / alone).toBeGreaterThan(1.1);
  // One row of a tile of 64 or more is not computed for nothing: 0.4 % of the peak.
  else expect(whole / alone).toBeLessThan(1.002);
});
