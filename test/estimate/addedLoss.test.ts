/** A training step of a language model without a loss gets cross-entropy, and costs as if it were written there. */

import { describe, expect, test } from 'vitest';
import { openLayerSpec, openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { specOfConfig } from '../../server/src/lowering/hugging-face/specOfConfig.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { openGraph } from '../support/savedActivations.ts';

function estimate(opened: ReturnType<typeof openGraph>, request: ScenarioRequest = {}) {
  const { cost, issues } = estimateModel(opened, [request, opened.scenario]);
  const said = issues.find(({ code }) => code === 'scenario/added-loss')?.message;
  return { cost, issues, said, loss: cost?.layers.find(({ type }) => type === 'CrossEntropyLoss') };
}

/** Log-probabilities in fp32: 4 bytes × tokens × vocabulary. */
test.each<readonly [string, ScenarioRequest, RegExp, number]>([
  [
    'samples/gpt2.layers.yaml',
    { batch: 8 },
    /logits \[batch, seq, 50257\]|logits \[.*50257\]/,
    8 * 1024 * 50257,
  ],
  [
    'samples/gpt2.onnx',
    { batch: 8, dimensions: { sequence: 1024 } },
    /logits \[.*, 50257\]/,
    8 * 1024 * 50257,
  ],
  ['samples/more/llama-3-8b.layers.yaml', { batch: 1 }, /logits \[.*, 128256\]/, 2048 * 128256],
])('%s', (path, request, message, elements) => {
  const opened = openGraph(path);
  const { said, loss, cost } = estimate(opened, request);
  expect(said).toMatch(message);
  expect(loss?.time.forward).toBeGreaterThan(0);
  expect(cost?.totals.exact).toBe(true);
  const without = estimate(opened, { ...request, loss: 'none' });
  expect(without.said).toBeUndefined();
  expect(without.loss).toBeUndefined();
  const [saved, before] = [cost, without.cost].map((each) => each?.totals.memory.activations ?? Number.NaN);
  expect((saved ?? 0) - (before ?? 0)).toBeGreaterThanOrEqual(4 * elements);
  expect(estimate(opened, { ...request, mode: 'inference' }).loss).toBeUndefined();
});

/** Classifiers, encoders and other networks have none, or another loss. */
test.each([
  'samples/resnet50.onnx',
  'samples/vgg16.layers.yaml',
  'samples/more/vit-b-16.layers.yaml',
  'samples/more/unet.layers.yaml',
  'samples/more/dlrm.layers.yaml',
])('nothing is added to %s unless it is asked for', (path) => {
  const opened = openGraph(path);
  expect(estimate(opened).loss).toBeUndefined();
  expect(estimate(opened).said).toBeUndefined();
});

test.each([
  ['one token of 16', '  - last: Slice(embed, [15], [16], [1])\n', '16 tokens of a sequence'],
  ['all tokens', '', undefined],
])('says where the logits are of %s', (_, last, said) => {
  const text = `inputs: { x: "int64[4, 16]" }
layers:
  - embed: Embedding(1000, 64) from x
${last}  - head: Linear(64, 1000)
`;
  const { issues } = estimate(openLayerSpec(text, 'm.layers.yaml'));
  const found = issues.find(({ code }) => code === 'graph/last-token-logits');
  if (said === undefined) expect(found).toBeUndefined();
  else expect(found).toMatchObject({ severity: 'warning', message: expect.stringContaining(said) });
});

const head = `inputs: { x: "int64[2, 16]", labels: "int64[32]" }
layers:
  - embed: Embedding(1000, 64) from x
`;

const spec = (layers: string) => openLayerSpec(`${head}${layers}`, 'm.layers.yaml');

test.each([
  ['  - head: Linear(1000)\n', true],
  ['  - head: Linear(1000)\n  - small: div(30)\n  - bounded: tanh()\n  - logits: mul(30)\n', true],
  // Another number of classes than of tokens: tags, or a regression.
  ['  - head: Linear(12)\n', false],
  // As many classes, but no product: a probability of every token.
  ['  - head: Linear(1000)\n  - share: Softmax(dim=-1)\n', false],
  [
    '  - head: Linear(1000)\n  - flat: reshape(32, 1000)\n  - loss: CrossEntropyLoss() from flat, labels\n',
    false,
  ],
])('%j', (layers, added) => {
  expect(estimate(spec(layers)).said !== undefined).toBe(added);
});

describe.each<ScenarioRequest>([
  { precision: 'fp32' },
  { precision: 'bf16' },
  { precision: 'fp16', gpus: 8 },
  { precision: 'bf16', gpus: 8, framework: { name: 'pytorch-fsdp', options: {} }, accumulate: 2 },
])('%j', (request) => {
  test('the loss costs what it costs where it is written', () => {
    const blocks = `name: m
dims: { batch: 8 }
inputs: { x: "int64[batch, 128]", labels: "int64[batch*128]" }
blocks:
  block:
    - norm: LayerNorm(256)
    - up: Linear(1024)
    - act: GELU()
    - down: Linear(256)
    - sum: add(down, input)
layers:
  - embed: Embedding(30000, 256) from x
  - h: block() * 24
  - head: Linear(30000)
`;
    const written = openLayerSpec(
      `${blocks}  - flat: reshape(batch*128, 30000)\n  - loss: CrossEntropyLoss() from flat, labels\n`,
      'm.layers.yaml',
    );
    const added = estimate(openLayerSpec(blocks, 'm.layers.yaml'), { cluster: 'dgx-a100', ...request });
    const wanted = estimate(written, { cluster: 'dgx-a100', ...request });
    expect(added.cost?.totals.time).toEqual(wanted.cost?.totals.time);
    expect(added.cost?.totals.memory.activations).toBe(wanted.cost?.totals.memory.activations);
    expect(added.loss?.time).toEqual(wanted.loss?.time);
    expect(added.loss?.flops).toEqual(wanted.loss?.flops);
  });
});

/** In bf16 two bytes for each score, beside what cross-entropy takes. */
test('with-logits holds the logits until backward has ended', () => {
  const opened = openGraph('samples/gpt2.layers.yaml');
  const [held = Number.NaN, freed = Number.NaN] = (['with-logits', 'auto'] as const).map(
    (loss) => estimate(opened, { batch: 8, precision: 'bf16', loss }).cost?.totals.memory.peak,
  );
  // Logits in bf16; and in fp32 the gradients of scores and of their logarithms side by side, 8 bytes for 6 of what autocast keeps.
  expect(held - freed).toBe((2 + 2) * 8 * 1024 * 50257);
});

test('with-logits-uncast holds them, and takes the loss of them as they are', () => {
  const opened = openGraph('samples/gpt2.layers.yaml');
  const [held = Number.NaN, freed = Number.NaN] = (['with-logits-uncast', 'auto'] as const).map(
    (loss) => estimate(opened, { batch: 8, precision: 'bf16', loss }).cost?.totals.memory.peak,
  );
  expect(held - freed).toBe(2 * 8 * 1024 * 50257);
});

/** transformers 5.18, modeling_*.py: what each class does where it is given labels. */
test.each([
  ['gpt2', 'GPT2LMHeadModel', 'with-logits'],
  ['modernbert', 'ModernBertForMaskedLM', 'with-logits'],
  ['bert', 'BertForMaskedLM', 'with-logits-uncast'],
  ['t5', 'T5ForConditionalGeneration', 'with-logits-uncast'],
  ['bert', 'BertModel', undefined],
])('the loss of %s, %s', (model_type, architecture, expected) => {
  const config = Buffer.from(JSON.stringify({ model_type, architectures: [architecture] }));
  expect(openModel(byteSourceOfBuffer(config), 'config.json', { specOfConfig }).scenario.loss).toBe(expected);
});

test('cross-entropy is taken of any classes where it is asked for', () => {
  const asked = { loss: 'cross-entropy' } as const;
  expect(estimate(openGraph('samples/resnet50.onnx'), asked).loss).toBeDefined();
  const none = openLayerSpec('inputs: { x: "float32[64]" }\nlayers:\n  - a: ReLU()\n', 'm.layers.yaml');
  expect(
    estimate(none, asked)
      .issues.map(({ message }) => message)
      .join(),
  ).toContain('has an axis of classes');
});
