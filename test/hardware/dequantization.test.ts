/**
 * What frozen layers in NF4 add to a pass, by published times of fine-tuning with and without them.
 *
 * The share of the bandwidth that bitsandbytes reaches was set by the first two rows. Of the others nothing was fitted to. Only
 * linear layers of decoder blocks are counted; embeddings and heads are as they were.
 */

import { expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { resolveFramework } from '../../server/src/frameworks/registry.ts';
import { findGpu } from '../../server/src/hardware/gpus.ts';
import { kernelTime } from '../../server/src/hardware/kernelTime.ts';

/** One layer of 4,096 by 4,096, as often as the weights of a model hold it. */
const layer = 4096 * 4096;

/** Seconds that making one such layer whole takes. */
function secondsOf(gpu: string): { readonly middle: number; readonly low: number; readonly high: number } {
  const spec =
    'inputs: { x: "float32[batch, 4096]" }\nlayers:\n  - l: Linear(4096, 4096, bias=False)\n  - head: Linear(4096, 8)\n';
  const { training } = estimateModel(openLayerSpec(spec, 'm.layers.yaml'), [
    { gpus: 1, batch: 1, lora: { rank: 1, base: 'nf4' } },
  ]);
  const profile = findGpu(gpu);
  if (training === undefined || profile === undefined) throw new Error(gpu);
  const { behaviour } = resolveFramework({ name: 'pytorch-ddp', options: { weights: 'half' } });
  const times = behaviour
    .lower(training, 'bf16', 'training')
    .operators.flatMap((operator) => operator?.forward ?? [])
    .filter(({ dequantizes }) => dequantizes === true)
    .map((kernel) => kernelTime(profile, kernel));
  const [only] = times;
  if (only === undefined || times.length !== 1) throw new Error('one layer is made whole');
  return { middle: only.time, low: only.low, high: only.high };
}

/**
 * litgpt 26857050, Apache-2.0. tutorials/resource-tables.md, LoRA on one A100 (40 GB: 13B runs out of memory beyond it), minutes of
 * 1,000 passes, None and bnb.nf4. config_hub/finetune/README.md on one A10G, minutes of so many epochs of 1,900 samples of Alpaca2k (a
 * twentieth of 2,000 is kept back), lora.yaml and qlora.yaml of the same micro-batch. `billions`: weights of linear layers.
 */
test.each([
  { model: 'Llama 2 7B', gpu: 'a100-sxm-40gb', billions: 6.476, passes: 1000, minutes: [2.36, 3.68] },
  { model: 'Llama 2 13B', gpu: 'a100-sxm-40gb', billions: 12.688, passes: 1000, minutes: [3.19, 6.38] },
  { model: 'Llama 2 7B', gpu: 'a10g', billions: 6.476, passes: (4 * 1900) / 2, minutes: [32.82, 45.67] },
  { model: 'Mistral 7B', gpu: 'a10g', billions: 6.979, passes: (4 * 1900) / 2, minutes: [31.01, 44.75] },
  { model: 'Falcon 7B', gpu: 'a10g', billions: 6.626, passes: 4 * 1900, minutes: [24.84, 50.85] },
  { model: 'StableLM Alpha 3B', gpu: 'a10g', billions: 3.221, passes: 4 * 1900, minutes: [13.07, 25.86] },
])('$model on $gpu takes longer by what is predicted, within a quarter and the range', (row) => {
  const { gpu, billions, passes, minutes } = row;
  const [without = 0, quantized = 0] = minutes;
  const measured = ((quantized - without) * 60) / passes;
  const { middle, low, high } = secondsOf(gpu);
  // Forward and backward.
  const times = (2 * billions * 1e9) / layer;
  expect(middle * times).toBeGreaterThan(measured / 1.25);
  expect(middle * times).toBeLessThan(measured * 1.25);
  expect(measured).toBeGreaterThan(low * times);
  expect(measured).toBeLessThan(high * times);
});
