/** Stored weights beside the model that a config describes: counted, without buffers, and not where they are quantized. */

import { expect, test } from 'vitest';
import { compareWeights } from '../../server/src/analysis/compareWeights.ts';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import type { StoredTensor } from '../../server/src/formats/storedTensor.ts';

const { analysis } = openLayerSpec(
  'name: n\ninputs: { x: "float32[1, 4]" }\nlayers:\n  - fc: Linear(3)\n',
  'n.layers.yaml',
);

const stored = (name: string, shape: readonly number[], elementType = 'BF16'): StoredTensor => {
  const elements = shape.reduce((product, size) => product * size, 1);
  return { name, shape, elementType, elements, bytes: elements * 2 };
};

const weight = stored('fc.weight', [3, 4]);
const bias = stored('fc.bias', [3]);

test.each([
  [
    'all of them',
    [weight, bias],
    'information',
    'hold 15 numbers in 2 tensors (BF16, 30 B); the config describes as many',
  ],
  ['two types', [weight, stored('fc.bias', [3], 'F32')], 'information', '(BF16, F32, 30 B)'],
  // Names of buffers: transformers 4 and older stored them.
  ['with angles', [weight, bias, stored('layers.0.rotary_emb.inv_freq', [8])], 'information', 'as many'],
  ['with a mask of GPT-2', [weight, bias, stored('h.0.attn.bias', [1, 1, 8, 8])], 'information', 'as many'],
  [
    'with statistics',
    [weight, bias, stored('bn.running_mean', [3]), stored('bn.num_batches_tracked', [])],
    'information',
    'as many',
  ],
  ['a bias of attention is no mask', [weight, stored('h.0.attn.bias', [3])], 'information', 'as many'],
  [
    'another model',
    [weight],
    'warning',
    'the config describes 15 parameters: check that both are of one model',
  ],
  ['packed', [stored('fc.qweight', [2, 3], 'I32'), bias], 'information', 'quantized, and were not compared'],
] as const)('%s', (_, tensors, severity, message) => {
  if (analysis === undefined) throw new Error('not read');
  expect(compareWeights(tensors, analysis)).toMatchObject({
    code: 'config/weights',
    severity,
    message: expect.stringContaining(message),
  });
});
