/** Windows of configs: `scaled_dot_product_attention` is given a mask, and one kernel of a framework makes it itself. */

import { describe, expect, it } from 'vitest';
import type { TrainingGraph } from '../../server/src/analysis/modelAnalysis.ts';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { resolveFramework } from '../../server/src/frameworks/registry.ts';
import { specOfConfig } from '../../server/src/lowering/hugging-face/specOfConfig.ts';
import type { AttentionShape } from '../../server/src/operators/definition.ts';
import { cutsOf } from '../../server/src/parallel/pipelineStages.ts';
import { stageTraining } from '../../server/src/parallel/stageTraining.ts';

const configOf = (window: number | null): string =>
  JSON.stringify({
    ...{ model_type: 'mistral', architectures: ['MistralForCausalLM'], hidden_size: 512, vocab_size: 1000 },
    ...{ num_hidden_layers: 2, num_attention_heads: 8, num_key_value_heads: 8, intermediate_size: 1024 },
    sliding_window: window,
  });

/** Of the first attention, in forward. */
const lowered = (window: number | null, options: Readonly<Record<string, string>>) =>
  shapeIn(trainingOf(window), options);

function trainingOf(window: number | null): TrainingGraph {
  const { text } = specOfConfig(configOf(window), 'mistral', { seq: 2048 });
  const { training, issues } = estimateModel(openLayerSpec(text ?? '', 'm.layers.yaml'), [
    { cluster: 'dgx-h100', gpus: 1, precision: 'bf16' },
  ]);
  if (training === undefined) throw new Error(issues.map(({ message }) => message).join('\n'));
  return training;
}

function shapeIn(training: TrainingGraph, options: Readonly<Record<string, string>>) {
  const { behaviour } = resolveFramework({ name: 'pytorch-ddp', options });
  const { operators } = behaviour.lower(training, 'bf16', 'training');
  const own = operators.find((operator) =>
    operator?.forward.some((kernel) => kernel.attention !== undefined),
  );
  const shape = own?.forward.find((kernel) => kernel.attention !== undefined)?.attention;
  return { shape, saved: own?.saved ?? [], launches: own?.forward.length };
}

const seen = ({ causal, window, mask }: AttentionShape) => ({ causal, window, mask: mask !== undefined });

describe('a window shorter than the sequence', () => {
  it('is a mask, which is kept', () => {
    const { shape, saved } = lowered(512, {});
    expect(shape && seen(shape)).toEqual({ causal: false, window: undefined, mask: true });
    expect(saved.length).toBe(6);
  });

  it('is made by the kernel with `attention=fused`, and nothing of it is kept', () => {
    const { shape, saved, launches } = lowered(512, { attention: 'fused' });
    expect(shape && seen(shape)).toEqual({ causal: true, window: 512, mask: false });
    expect(saved.length).toBe(5);
    // Those that make numbers of the mask.
    expect((lowered(512, {}).launches ?? 0) - (launches ?? 0)).toBe(2);
  });
});

it.each([4096, null])('a window of %s hides nothing of 2,048 tokens', (window) => {
  for (const options of [{}, { attention: 'fused' }]) {
    const { shape } = lowered(window, options);
    expect(shape && seen(shape)).toEqual({ causal: true, window: undefined, mask: false });
  }
});

it('a later stage of a pipeline makes its masks, too', () => {
  const training = trainingOf(512);
  const [, second = 0] = cutsOf(training.analysis);
  const stage = stageTraining(training, { begin: second, end: training.costs.length });
  const { shape } = shapeIn(stage, { attention: 'fused' });
  expect(shape && seen(shape)).toEqual({ causal: true, window: 512, mask: false });
});

/** Attention of four windows of two images each, written out, with a mask that the file stores. */
const written = (mask: string, scores: string): string => `inputs: { x: "float32[8, 4, 49, 32]" }
dims: { batch: 1 }
layers:
  - start: Linear(32, 32, bias=False)
  - turned: transpose(start, -2, -1)
  - products: matmul(start, turned)
  - scores: reshape(products, (${scores}))
  - mask: Buffer(${mask})
  - masked: add(scores, mask)
  - again: reshape(masked, (8, 4, 49, 49))
  - weights: softmax(dim=-1)
  - out: matmul(weights, start)
`;

it.each([
  // What `is_causal=True` is exported as is one for all, or the same for each sample; that of each window, as Swin has it, is none.
  ['49, 49', '8, 4, 49, 49', true],
  ['1, 1, 49, 49', '8, 4, 49, 49', true],
  ['8, 1, 49, 49', '8, 4, 49, 49', true],
  ['1, 4, 1, 49, 49', '2, 4, 4, 49, 49', false],
  ['4, 49, 49', '8, 4, 49, 49', false],
  ['49, 1', '8, 4, 49, 49', false],
])('of a stored mask of %s on scores of %s a kernel makes one itself: %s', (mask, scores, causal) => {
  const { training, issues } = estimateModel(openLayerSpec(written(mask, scores), 'm.layers.yaml'), [
    { cluster: 'dgx-h100', gpus: 1, precision: 'bf16' },
  ]);
  if (training === undefined) throw new Error(issues.map(({ message }) => message).join('\n'));
  const { shape } = shapeIn(training, { attention: 'fused' });
  expect(shape && seen(shape)).toEqual({ causal, window: undefined, mask: !causal });
});
