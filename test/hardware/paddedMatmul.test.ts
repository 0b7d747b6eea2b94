/** What Inductor pads, by its rules (PyTorch 2.13, torch/_inductor/fx_passes/pad_mm.py), and when that is taken. */

import { expect, test } from 'vitest';
import { computePath } from '../../server/src/hardware/computePath.ts';
import { findGpu } from '../../server/src/hardware/gpus.ts';
import type { KernelEnvironment } from '../../server/src/hardware/kernelEnvironment.ts';
import { leastGain, paddedShape } from '../../server/src/hardware/kernels/paddedMatmul.ts';
import { uncorrectedTime } from '../../server/src/hardware/kernelTime.ts';
import type { Dtype } from '../../server/src/model/dtype.ts';
import { matmulWork } from '../support/matmulWork.ts';

const gpuNamed = (name: string) => {
  const gpu = findGpu(name);
  if (gpu === undefined) throw new Error(name);
  return gpu;
};

type Sides = readonly [m: number, n: number, k: number];

// The intensity m·n·k ÷ (m·k + n·k + m·n) of Inductor against half of 312 TFLOP/s ÷ 2,039 GB/s = 76 on A100, and of
// 989.4 TFLOP/s ÷ 3,352 GB/s = 148 on H100.
test.each<[string, Dtype, number, Sides, Sides | undefined]>([
  ['a100-sxm-80gb', 'bf16', 2, [16384, 50257, 768], [16384, 50264, 768]],
  ['a100-sxm-80gb', 'bf16', 2, [16384, 768, 50257], [16384, 768, 50264]],
  ['a100-sxm-80gb', 'fp16', 2, [1001, 4099, 515], [1008, 4104, 520]],
  // Aligned already.
  ['a100-sxm-80gb', 'bf16', 2, [16384, 50304, 768], undefined],
  // 4 of fp32 are 16 bytes.
  ['a100-sxm-80gb', 'tf32', 4, [16384, 50257, 768], [16384, 50260, 768]],
  ['a100-sxm-80gb', 'tf32', 4, [16384, 50260, 768], undefined],
  // A side of one is no side.
  ['a100-sxm-80gb', 'bf16', 2, [1, 4097, 4096], undefined],
  // Heads of a ViT: 39 multiply-adds for each element that moves.
  ['a100-sxm-80gb', 'fp16', 2, [197, 197, 64], undefined],
  // 121 for each element: enough on A100, too few on H100.
  ['a100-sxm-80gb', 'fp16', 2, [4097, 4097, 128], [4104, 4104, 128]],
  ['h100-sxm', 'fp16', 2, [4097, 4097, 128], undefined],
  // A deep product in bf16 is tried before Hopper, whatever its intensity.
  ['a100-sxm-80gb', 'bf16', 2, [65, 33, 4096], [72, 40, 4096]],
  ['h100-sxm', 'bf16', 2, [65, 33, 4096], undefined],
])('%s, %s of %i bytes: %j becomes %j', (name, dtype, size, [m, n, k], expected) => {
  const gpu = gpuNamed(name);
  const shape = { kind: 'matmul', layout: 'nt', batch: 1, m, n, k } as const;
  const padded = paddedShape(gpu, computePath(gpu, dtype), shape, size);
  expect(padded && [padded.m, padded.n, padded.k]).toEqual(expected);
});

const common = { layout: 'channels-first', mixed: true, bf16: true } as const;

function milliseconds(sides: Sides, environment: KernelEnvironment): number {
  const [m, n, k] = sides;
  const work = { ...matmulWork({ layout: 'nt', m, n, k }, 'bf16'), environment };
  return 1e3 * uncorrectedTime(gpuNamed('a100-sxm-80gb'), work);
}

test('a compiled matmul of ragged rows takes what the padded one takes; an eager one does not', () => {
  const pads = { ...common, padsMatmuls: true } as const;
  expect(milliseconds([16384, 50257, 768], pads)).toBeCloseTo(milliseconds([16384, 50264, 768], common), 6);
  expect(milliseconds([16384, 50257, 768], common)).toBeGreaterThan(
    3 * milliseconds([16384, 50257, 768], pads),
  );
});

test('what padding would not make faster by a tenth stays as it is', () => {
  const pads = { ...common, padsMatmuls: true } as const;
  for (const m of [4097, 4100, 5001, 8190]) {
    const sides = [m, 4096, 4096] as const;
    const own = milliseconds(sides, common);
    const taken = milliseconds(sides, pads);
    expect(taken === own || taken * leastGain < own, `${m}: ${own} ms, ${taken} ms`).toBe(true);
  }
});
