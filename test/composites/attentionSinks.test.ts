/** Attention with a sink: a column of scores without keys, which Transformer Engine takes and PyTorch's call does not. */

import { describe, expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { optionValues, resolveFramework } from '../../server/src/frameworks/registry.ts';

/** As gpt-oss of transformers computes it, 4 heads of 64 positions and 16 elements. `parts`: lines in place of those. */
const specOf = (parts: Partial<Record<'joined' | 'shifted' | 'weights', string>> = {}): string => `
dims: { batch: 2, seq: 64, d: 64 }
inputs:
  x: [batch, seq, d]
layers:
  - q_proj: Linear(d, d) from x
  - q_split: reshape((batch, seq, 4, 16))
  - q: transpose(1, 2)
  - k_proj: Linear(d, d) from x
  - k_split: reshape((batch, seq, 4, 16))
  - k: transpose(1, 2)
  - v_proj: Linear(d, d) from x
  - v_split: reshape((batch, seq, 4, 16))
  - v: transpose(1, 2)
  - mask_tokens: AttentionMask(seq)
  - mask: expand(mask_tokens, batch, 1, seq, seq)
  - k_turned: transpose(k, 2, 3)
  - products: matmul(q, k_turned)
  - scaled: mul(0.25)
  - scores: add(scaled, mask)
  - sinks: Parameter(1, 4, 1, 1)
  - column: expand(sinks, batch, 4, seq, 1)
  - joined: ${parts.joined ?? 'cat((scores, column), dim=-1)'}
${parts.shifted ?? ''}  - with_sinks: softmax(dim=-1)
  - weights: ${parts.weights ?? 'slice(-1, 0, -1)'}
  - context: matmul(weights, v)
  - turned: transpose(1, 2)
  - merged: reshape((batch, seq, d))
  - o_proj: Linear(d, d)
`;

const attentionOf = (text: string) => {
  const { analysis } = openLayerSpec(text, 'm.layers.yaml');
  const found = [...new Set(analysis?.composites.values())].filter(({ kind }) => kind === 'attention');
  return found.map(({ launchedAs, isFusible }) => [launchedAs, isFusible]);
};

const shifted = '  - largest: amax(joined, dim=-1, keepdim=True)\n  - shifted: sub(joined, largest)\n';

describe('a sink is one kernel where a person or a framework says so', () => {
  test.each([
    ['joined, and its weight cut off', {}, true],
    ['and the largest score taken off, which a softmax does by itself', { shifted }, true],
    ['whose weight stays', { weights: 'slice(-1, 0, 64)', joined: 'cat((scores, scores), dim=-1)' }, false],
    [
      'of two columns',
      { joined: 'cat((scores, column, column), dim=-1)', weights: 'slice(-1, 0, -2)' },
      false,
    ],
    ['before the keys', { joined: 'cat((column, scores), dim=-1)', weights: 'slice(-1, 1, 65)' }, false],
  ])('%s', (_, parts, isFusible) => {
    expect(attentionOf(specOf(parts))).toEqual([['several', isFusible]]);
  });
});

test.each([
  // PyTorch's call takes no sink: written out, scores are stored.
  ['pytorch-ddp', {}, 2 * 4 * 64 * 65],
  ['pytorch-ddp', { attention: 'fused' }, 0],
  ['megatron', {}, 0],
])('%s %o keeps weights of attention', (name, options, elements) => {
  const framework = { name, options: { ...options, ...(name === 'megatron' ? {} : { weights: 'half' }) } };
  const { training } = estimateModel(openLayerSpec(specOf(), 'm.layers.yaml'), [
    { cluster: 'dgx-h100', gpus: 1, precision: 'bf16', framework },
  ]);
  if (training === undefined) throw new Error('not costed');
  expect(optionValues(framework).get('attention')).toBeDefined();
  const { operators } = resolveFramework(framework).behaviour.lower(training, 'bf16', 'training');
  const softmax = training.analysis.graph.operators.findIndex(({ type }) => type === 'Softmax');
  const kept = operators[softmax]?.saved.reduce((total, { bytes }) => total + bytes, 0) ?? Number.NaN;
  expect(kept).toBe(2 * elements);
  // A kernel of attention computes the lower half of the scores, and gets no mask.
  const attended = operators
    .flatMap((each) => each?.forward ?? [])
    .find((kernel) => kernel.attention)?.attention;
  expect(attended).toEqual(
    elements > 0
      ? undefined
      : { pass: 'forward', sequences: 8, queries: 64, keys: 64, size: 16, causal: true },
  );
});
