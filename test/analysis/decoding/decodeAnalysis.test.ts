/**
 * Decode steps by the graph: what is kept and computed, held to what transformers keeps and PyTorch counts
 * (`scripts/huggingFace/decoding.py`), to values derived by hand, and what is refused.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bindTrainingGraph } from '../../../server/src/analysis/bindTrainingGraph.ts';
import { decodeAnalysis } from '../../../server/src/analysis/decoding/decodeAnalysis.ts';
import type { ModelAnalysis } from '../../../server/src/analysis/modelAnalysis.ts';
import type { OpenedModel } from '../../../server/src/analysis/openedModel.ts';
import { openLayerSpec, openModel, openOnnxText } from '../../../server/src/analysis/openModel.ts';
import { bytesOfToken, tokensKept } from '../../../server/src/estimate/decoding/cacheBytes.ts';
import { byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';
import { specOfConfig } from '../../../server/src/lowering/hugging-face/specOfConfig.ts';

const linesOf = <Row>(path: string): readonly Row[] =>
  readFileSync(join(import.meta.dirname, path), 'utf8')
    .trim()
    .split('\n')
    .map((line): Row => JSON.parse(line));

const configs = new Map(
  linesOf<{ name: string; config: object }>('../../lowering/hugging-face/configs.jsonl').map(
    ({ name, config }) => [name, config],
  ),
);

const openConfig = (name: string, dimensions: Record<string, number>): OpenedModel =>
  openModel(byteSourceOfBuffer(new TextEncoder().encode(JSON.stringify(configs.get(name)))), 'config.json', {
    specOfConfig,
    dimensions,
  });

/** Elements of all keys and values after `past` tokens, and FLOPs of the step behind them. */
function decoded(opened: OpenedModel, past: number, batch: number) {
  const decoding = decodeAnalysis(opened, past);
  if (decoding.kind === 'refused') return decoding.reason;
  const { analysis } = decoding;
  const bindings = new Map(analysis.batchSymbol === undefined ? [] : [[analysis.batchSymbol, batch]]);
  return { ...kept(analysis, past, bindings), flops: flopsOf(analysis, bindings) };
}

function kept({ caches = [] }: ModelAnalysis, past: number, bindings: ReadonlyMap<string, number>) {
  const bytes = caches.map((cache) => tokensKept(cache, past) * bytesOfToken(cache, bindings, 'bf16'));
  return { attentions: caches.length, elements: bytes.reduce((total, each) => total + each, 0) / 2 };
}

const flopsOf = (analysis: ModelAnalysis, bindings: ReadonlyMap<string, number>): number =>
  bindTrainingGraph(analysis, bindings, 'inference').costs.reduce(
    (total, cost) => total + (cost.kind === 'known' ? cost.forward.flops : Number.NaN),
    0,
  );

interface Golden {
  readonly name: string;
  readonly batch: number;
  readonly past: number;
  readonly elements: number;
  readonly flops: number;
}

const golden = linesOf<Golden>('transformers.jsonl');
describe('as transformers', () => {
  test.each(golden)('$name', ({ name, batch, past, elements, flops }) => {
    const step = decoded(openConfig(name, { seq: 128, target: 128 }), past, batch);
    expect(step).toMatchObject({ elements });
    expect(typeof step === 'string' ? step : step.flops / flops).toBeCloseTo(1, 2);
  });
});

const spec = (layers: string, inputs = 'x: float32[batch, seq, 64]') =>
  openLayerSpec(
    `dims: { batch: 2, seq: 16 }\ninputs: { ${inputs} }\nlayers:\n${layers
      .split('\n')
      .map((line) => `  - ${line.trim()}`)
      .join('\n')}\n`,
    'model.layers.yaml',
  );
const onnx = (text: string) => openOnnxText(text, 'model.onnxtxt');

/** One head of 8: keys and values of a step behind those of the cache. */
const withPast = onnx(`<ir_version: 10, opset_import: ["" : 23]>
model (float[N, 1, S, 8] q, float[N, 1, S, 8] k, float[N, 1, S, 8] v, float[N, 1, P, 8] past_k, float[N, 1, P, 8] past_v)
  => (float[N, 1, S, 8] y, float[N, 1, T, 8] keys, float[N, 1, T, 8] values)
{
  keys = Concat <axis = 2> (past_k, k)
  values = Concat <axis = 2> (past_v, v)
  turned = Transpose <perm = [0, 1, 3, 2]> (keys)
  scores = MatMul (q, turned)
  weights = Softmax <axis = -1> (scores)
  y = MatMul (weights, values)
}
`);

/** Tokens see three before them. */
const windowed = onnx(`<ir_version: 10, opset_import: ["" : 25]>
model (float[N, 1, S, 8] q, float[N, 1, S, 8] k, float[N, 1, S, 8] v) => (float[N, 1, S, 8] y)
{
  y = Attention <is_causal = 1, left_window_size = 3> (q, k, v)
}
`);

test.each([
  {
    // Four heads of 16 share two heads of keys; 12,288 weights, 10 tokens of context.
    name: 'grouped heads',
    opened: spec('attn: MultiheadAttention(64, 4, bias=False, num_kv_heads=2, causal=True)'),
    step: { attentions: 1, elements: 2 * 9 * 2 * 32, flops: 2 * 2 * 12_288 + 2 * 2 * 2 * 4 * 16 * 10 },
  },
  {
    name: 'grouped heads, written out',
    opened: spec('attn: MultiheadAttention(64, 4, bias=False, num_kv_heads=2, causal=True, fused=False)'),
    step: { attentions: 1, elements: 2 * 9 * 2 * 32, flops: 2 * 2 * 12_288 + 2 * 2 * 2 * 4 * 16 * 10 },
  },
  {
    name: 'a window',
    opened: windowed,
    step: { attentions: 1, elements: 2 * 3 * 2 * 8, flops: 2 * 2 * 2 * 8 * 4 },
  },
  {
    name: 'a window of a layer spec',
    opened: spec(
      'attn: scaled_dot_product_attention(q, k, v, is_causal=True, window=4)',
      'q: float32[batch, 1, seq, 8], k: float32[batch, 1, seq, 8], v: float32[batch, 1, seq, 8]',
    ),
    step: { attentions: 1, elements: 2 * 3 * 2 * 8, flops: 2 * 2 * 2 * 8 * 4 },
  },
  {
    name: 'a mask of a layer spec',
    opened: spec(
      `mask: AttentionMask(seq, window=4, dtype='bool')
      attn: scaled_dot_product_attention(q, k, v, mask)`,
      'q: float32[batch, 1, seq, 8], k: float32[batch, 1, seq, 8], v: float32[batch, 1, seq, 8]',
    ),
    step: { attentions: 1, elements: 2 * 3 * 2 * 8, flops: 2 * 2 * 2 * 8 * 4 },
  },
  {
    name: 'inputs for the cache',
    opened: withPast,
    step: { attentions: 1, flops: 2 * 2 * 2 * 8 * 10 },
  },
  {
    // Self-attention of 16,384 weights; of the cross-attention to 5 frames, projections of query and result.
    name: 'an encoder',
    opened: spec(
      `encoded: Linear(64, 64, bias=False) from memory
      self: MultiheadAttention(64, 4, bias=False, causal=True) from x
      cross: MultiheadAttention(64, 4, bias=False) from self, encoded`,
      'x: float32[batch, seq, 64], memory: float32[batch, 5, 64]',
    ),
    step: {
      attentions: 2,
      elements: 2 * (9 + 5) * 2 * 64,
      flops: 2 * 2 * (16_384 + 8_192) + 2 * 2 * 2 * 64 * (10 + 5),
    },
  },
])('$name', ({ opened, step }) => {
  expect(decoded(opened, 9, 2)).toMatchObject(step);
});

test.each([
  [
    'no causal mask',
    spec('attn: MultiheadAttention(64, 4)'),
    /No causal mask was found in attention, first `attn/,
  ],
  [
    'a later layer without a mask',
    spec('a: MultiheadAttention(64, 4, causal=True)\nb: MultiheadAttention(64, 4)'),
    /lets tokens see those behind them/,
  ],
  ['no attention', spec('fc: Linear(64, 64)'), /No attention was found/],
  [
    'a state in the place of attention',
    spec(
      'heads: reshape(x, batch, seq, 4, 16)\ndecay: mean(heads, dim=-1)\nscan: gated_delta_rule(heads, heads, heads, decay, decay)',
    ),
    /`scan.*` \(GatedDeltaRule\) carries a state from token to token/,
  ],
  [
    'a fixed length',
    spec('attn: MultiheadAttention(64, 4, causal=True)', 'x: float32[batch, 16, 64]'),
    /length of the sequence is fixed.*Give it a name in `dims`/,
  ],
  [
    'a state that is no cache',
    spec('attn: MultiheadAttention(64, 4, causal=True)\nrnn: LSTM(64, 64, batch_first=True)'),
    /\(LSTM\) carries a state from token to token/,
  ],
])('refuses %s', (_, opened, reason) => {
  expect(decoded(opened, 9, 2)).toMatch(reason);
});
