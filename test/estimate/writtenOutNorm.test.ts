/** A normalization that a layer spec writes out runs as several kernels, and keeps what each of them reads. */

import { expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';

function costOf(norm: string, precision: 'fp32' | 'bf16' = 'fp32') {
  const text = `inputs:\n  x: float32[4, 64, 64]\nlayers:\n  - a: Linear(64, bias=False)\n  - norm: ${norm}\n  - b: Linear(64, bias=False)\n`;
  const { cost } = estimateModel(openLayerSpec(text, 'norm.layers.yaml'), [
    { cluster: 'dgx-a100', gpus: 1, precision },
  ]);
  if (cost === undefined) throw new Error('not costed');
  const { memory, time } = cost.totals;
  return { saved: memory.activations, step: time.step ?? Number.NaN };
}

/** Bytes that torch 2.13 keeps (`torch.autograd.graph.saved_tensors_hooks`): nn.RMSNorm, and LlamaRMSNorm of transformers 5.18. */
test.each([
  ['RMSNorm(64)', 197_632],
  ['RMSNorm(64, fused=False)', 263_168],
])('%s saves %i bytes', (norm, bytes) => {
  expect(Math.abs(costOf(norm).saved / bytes - 1)).toBeLessThan(0.005);
});

/** The same under autocast to bf16 (`scripts/huggingFace/fakeCuda.py`): LlamaRMSNorm, Olmo2RMSNorm, T5LayerNorm. */
test.each([
  ["cast='before'", 164_864],
  ["cast='behind'", 197_632],
  ["cast='never'", 230_400],
])('%s saves %i bytes in bf16', (cast, bytes) => {
  expect(Math.abs(costOf(`RMSNorm(64, fused=False, ${cast})`, 'bf16').saved / bytes - 1)).toBeLessThan(0.01);
});

test('six kernels forward take longer to launch than one', () => {
  expect(costOf('RMSNorm(64, fused=False)').step).toBeGreaterThan(1.3 * costOf('RMSNorm(64)').step);
});
