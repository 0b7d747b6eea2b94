/** Where a training step of a language model has no loss, the report says what cross-entropy would need. */

import { expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { openGraph } from '../support/savedActivations.ts';

const saidOf = (opened: ReturnType<typeof openGraph>, request: ScenarioRequest = {}): string | undefined =>
  estimateModel(opened, [request, opened.scenario]).issues.find(({ code }) => code === 'scenario/no-loss')
    ?.message;

/** 4 bytes × tokens × vocabulary: 8 × 1024 × 50257, and 2 × 512 × 32000. */
test.each<readonly [string, ScenarioRequest, RegExp]>([
  ['samples/gpt2.layers.yaml', { batch: 8 }, /logits \[8, 1024, 50257\] at .* keep 1\.53 GiB /],
  ['samples/gpt2.onnx', { batch: 8, dimensions: { sequence: 1024 } }, /logits \[8, \d+, 50257\]/],
  ['samples/tinyllama.onnx', { batch: 2 }, /logits \[2, \d+, 32000\]/],
  ['samples/more/llama-3-8b.layers.yaml', { batch: 1 }, /logits \[1, \d+, 128256\]/],
])('%s', (path, request, message) => {
  expect(saidOf(openGraph(path), request)).toMatch(message);
  expect(saidOf(openGraph(path), { ...request, mode: 'inference' })).toBeUndefined();
});

/** Classifiers, encoders and other networks have none, or another loss. */
test.each([
  'samples/resnet50.onnx',
  'samples/vgg16.layers.yaml',
  'samples/more/vit-b-16.layers.yaml',
  'samples/more/unet.layers.yaml',
  'samples/more/dlrm.layers.yaml',
])('nothing is said of %s', (path) => {
  expect(saidOf(openGraph(path))).toBeUndefined();
});

test.each([
  ['  - head: Linear(1000)\n', /logits \[2, 16, 1000\] at .* keep 125 KiB /],
  // Another number of classes than of tokens: tags, or a regression.
  ['  - head: Linear(12)\n', undefined],
  [
    '  - head: Linear(1000)\n  - flat: Reshape(32, 1000)\n  - loss: CrossEntropyLoss(flat, labels)\n',
    undefined,
  ],
])('%j', (layers, message) => {
  const text = `inputs: { x: "int64[2, 16]", labels: "int64[32]" }\nlayers:\n  - embed: Embedding(1000, 64)(x)\n${layers}`;
  const said = saidOf(openLayerSpec(text, 'm.layers.yaml'));
  if (message === undefined) expect(said).toBeUndefined();
  else expect(said).toMatch(message);
});
