import { expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { openGraph } from '../support/savedActivations.ts';

test.each([
  ['samples/more/llama-3-8b.layers.yaml', 8192],
  ['samples/gpt2.layers.yaml', 1024],
  ['samples/gpt2.onnx', 1024],
  ['samples/bert-base.onnx', 512],
  ['samples/tinyllama.onnx', 2048],
  // Images, and categories in bags.
  ['samples/resnet50.onnx', undefined],
  ['samples/more/vit-b-16.layers.yaml', undefined],
  ['samples/more/dlrm.layers.yaml', undefined],
])('a sample of %s has %s tokens', (path, tokens) => {
  const opened = openGraph(path);
  expect(estimateModel(opened, [opened.scenario]).cost?.totals.tokensPerSample).toBe(tokens);
});

const spec = (inputs: string, layers: readonly string[]): string =>
  `inputs: { ${inputs} }\nlayers:\n${layers.map((layer) => `  - ${layer}\n`).join('')}`;
const embedding = 'e: Embedding(100, 16) from ids';
const head = 'h: Linear(100)';
const of = (text: string, request: ScenarioRequest = {}): number | undefined => {
  const { cost, issues } = estimateModel(openLayerSpec(text, 'm.layers.yaml'), [
    { cluster: 'h100-sxm', gpus: 1, batch: 2, ...request },
  ]);
  if (cost === undefined) throw new Error(JSON.stringify(issues));
  expect(cost.totals.unknown).toEqual([]);
  return cost.totals.tokensPerSample;
};

test.each<[string, string, number | undefined]>([
  ['a sequence', spec('ids: "int64[batch, 12]"', [embedding, head]), 12],
  ['two tokens', spec('ids: "int64[batch, 2]"', [embedding, head]), 2],
  ['one number, as a category is', spec('ids: "int64[batch, 1]"', [embedding, head]), undefined],
  ['numbers in three axes', spec('ids: "int64[batch, 4, 12]"', [embedding, head]), undefined],
  ['numbers in one axis', spec('ids: "int64[batch]"', [embedding, head]), undefined],
  [
    'a sequence in another shape',
    spec('ids: "int64[batch, 12]"', ['r: reshape(ids, (-1, 4))', 'e: Embedding(100, 16)', head]),
    12,
  ],
  ['features', spec('x: "float32[batch, 12]"', [head]), undefined],
  [
    'the first of two sequences, behind features',
    spec('x: "float32[batch, 12]", ids: "int64[batch, 7]", more: "int64[batch, 9]"', [
      ...[
        'a: Linear(16) from x',
        'b: Embedding(100, 16) from more',
        embedding,
        's: sum(e, dim=1)',
        'r: add(s, a)',
      ],
      ...['t: sum(b, dim=1)', 'u: add(t, r)', head],
    ]),
    7,
  ],
  // Rows of what the model computed are not rows of a vocabulary.
  [
    'numbers that pick rows of an activation',
    spec('x: "float32[batch, 16]", ids: "int64[4, 3]"', [
      'a: Linear(16) from x',
      'g: onnx.Gather(a, ids)',
      'h: Linear(4)',
    ]),
    undefined,
  ],
])('of %s', (_, text, tokens) => {
  expect(of(text)).toBe(tokens);
});

test('a decode step gives one', () => {
  const text = `
dims: { seq: 12 }
inputs: { ids: "int64[batch, seq]" }
layers:
  - e: Embedding(100, 64)
  - a: MultiheadAttention(64, 4, causal=True)
  - h: Linear(100)
`;
  expect([of(text), of(text, { mode: 'inference' }), of(text, { mode: 'inference', past: 100 })]).toEqual([
    12, 12, 1,
  ]);
});
