/** What a decode step keeps of its context, and how much of it fits. */

import { expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';

function decoded(layer: string, request: ScenarioRequest, inputs = ['x: "float32[batch, seq, 64]"']) {
  const text = `dims: { batch: 1, seq: 16 }\ninputs: { ${inputs.join(', ')} }\nlayers:\n  - attn: ${layer}\n`;
  const { cost, issues } = estimateModel(openLayerSpec(text, 'm.layers.yaml'), [
    { cluster: 'a100-sxm-80gb', gpus: 1, mode: 'inference', ...request },
  ]);
  const { decoding, totals } = cost ?? {};
  if (decoding === undefined || totals === undefined) throw new Error(JSON.stringify(issues));
  return { ...decoding, memory: totals.memory };
}

// Four heads of 16 share two of keys and two of values: 2 · 2 · 16 numbers for a token.
const shared = 'MultiheadAttention(64, 4, num_kv_heads=2, causal=True)';

test.each([
  [1, 'bf16', 100],
  [4, 'bf16', 100],
  [4, 'fp32', 1000],
  [3, 'fp8', 7],
] as const)('%i sequences in %s, %i tokens', (batch, precision, past) => {
  const { bytesPerToken, cache, fixed } = decoded(shared, { batch, precision, past });
  const width = precision === 'fp32' ? 4 : 2;
  expect([bytesPerToken, cache, fixed]).toEqual([64 * width, batch * past * 64 * width, 0]);
});

test('the longest context is the last that fits beside all else of the step', () => {
  const past = 1000;
  const { longestContext, memory } = decoded(shared, { batch: 8, precision: 'bf16', past });
  if (longestContext === null || memory.capacity === null) throw new Error('not known');
  const ofToken = 8 * 128;
  const at = (context: number) => memory.peak + (context - past) * ofToken;
  const room = memory.capacity - memory.context;
  expect(at(longestContext)).toBeLessThanOrEqual(room);
  expect(at(longestContext + 1)).toBeGreaterThan(room);
});

test('a window keeps one token less than it sees, and fits for any context', () => {
  const windowed = 'scaled_dot_product_attention(q, k, v, is_causal=True, window=8)';
  const inputs = ['q', 'k', 'v'].map((name) => `${name}: "float32[batch, 1, seq, 64]"`);
  const { cache, longestContext } = decoded(windowed, { batch: 2, precision: 'bf16', past: 100 }, inputs);
  expect(cache).toBe(2 * 7 * 2 * 64 * 2);
  expect(longestContext).toBeNull();
});
