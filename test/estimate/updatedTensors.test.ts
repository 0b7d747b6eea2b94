/** What an optimizer sees of the parameters of a model, and what a layer keeps for it. */

import { expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { shardOf, updatedTensors } from '../../server/src/estimate/plan/updatedTensors.ts';

const language = `
dims: { batch: 2, seq: 8 }
inputs: { tokens: "int64[batch, seq]" }
blocks:
  mlp:
    - norm: LayerNorm(16)
    - up: Linear(16, 64)
    - act: GELU()
    - down: Linear(64, 16)
layers:
  - table: Embedding(100, 16)
  - body: mlp() * 2
  - head: Linear(16, 100, bias=False)
`;

const estimate = (optimizer: 'adamw' | 'muon' | 'adafactor') =>
  estimateModel(openLayerSpec(language, 'language.layers.yaml'), [
    { cluster: 'dgx-a100', gpus: 1, optimizer, precision: 'bf16' },
  ]);

test('matrices of hidden layers are neither tables nor of the shape of one', () => {
  const { training } = estimate('muon');
  if (training === undefined) throw new Error('not costed');
  const hidden = updatedTensors(training, 'muon').flatMap(({ isHidden, shape }) =>
    isHidden ? [shape.toSorted((a, b) => a - b).join('×')] : [],
  );
  expect(hidden).toEqual(['16×64', '16×64', '16×64', '16×64']);
});

// Bytes by hand, 4 a value. AdamW: two of each element. Muon: one of each element of a hidden matrix, two of the others.
// Adafactor: a value for each row and column of a matrix, and for each element of a vector.
test.each([
  ['adamw', { table: 8 * 1600, 'body[0].norm': 8 * 32, 'body[1].up': 8 * (1024 + 64), head: 8 * 1600 }],
  ['muon', { table: 8 * 1600, 'body[0].norm': 8 * 32, 'body[1].up': 4 * 1024 + 8 * 64, head: 8 * 1600 }],
  ['adafactor', { table: 4 * 116, 'body[0].norm': 4 * 32, 'body[1].up': 4 * 80 + 4 * 64, head: 4 * 116 }],
] as const)('%s: what layers keep between steps', (optimizer, expected) => {
  const { cost } = estimate(optimizer);
  const layers = new Map(cost?.layers.map((layer) => [layer.name, layer.memory.optimizerState]));
  for (const [name, bytes] of Object.entries(expected))
    expect([name, layers.get(name)]).toEqual([name, bytes]);
  const all = cost?.layers.reduce((total, { memory }) => total + memory.optimizerState, 0);
  expect(cost?.totals.memory.optimizerState).toBe(all);
});

test('a shard has rows of its tensor', () => {
  const tensor = { elements: 6144, shape: [64, 96], isHidden: true };
  expect(shardOf(tensor, 8)).toEqual({ elements: 768, shape: [8, 96], isHidden: true });
});
