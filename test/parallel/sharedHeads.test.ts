/** Several workers compute with the same head of keys and values, as Megatron-LM lays such attention out. */

import { describe, expect, it, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { shardTraining } from '../../server/src/parallel/shardTraining.ts';

/** 8 heads of queries and 2 of keys and values, 16 wide. `projections` give `q`, `k` and `v`. */
const specOf = (projections: string): string => `dims: { batch: 2, seq: 32, d: 128 }
inputs:
  x: [batch, seq, d]
layers:
  - norm: RMSNorm(d) from x
${projections}  - q_heads: reshape(q, (batch, seq, 8, 16))
  - q_turned: permute(0, 2, 1, 3)
  - k_heads: reshape(k, (batch, seq, 2, 16))
  - k_normed: RMSNorm(16)
  - k_turned: permute(0, 2, 1, 3)
  - v_heads: reshape(v, (batch, seq, 2, 16))
  - v_turned: permute(0, 2, 1, 3)
  - attention: scaled_dot_product_attention(q_turned, k_turned, v_turned, is_causal=True, enable_gqa=True)
  - turned: permute(0, 2, 1, 3)
  - merged: reshape((batch, seq, d))
  - out_proj: Linear(d, d, bias=False)
`;

const forms: readonly (readonly [string, string])[] = [
  [
    'three weights',
    specOf('  - q: Linear(d, 128)\n  - k: Linear(d, 32) from norm\n  - v: Linear(d, 32) from norm\n'),
  ],
  [
    'keys before queries',
    specOf('  - k: Linear(d, 32)\n  - v: Linear(d, 32) from norm\n  - q: Linear(d, 128) from norm\n'),
  ],
  ['one weight, split', specOf('  - qkv: Linear(d, 192)\n  - q, k, v: split([128, 32, 32], dim=-1)\n')],
  [
    'one weight, sliced',
    specOf(
      '  - qkv: Linear(d, 192)\n  - q: slice(qkv, -1, 0, 128)\n  - k: slice(qkv, -1, 128, 160)\n  - v: slice(qkv, -1, 160, 192)\n',
    ),
  ],
  [
    'one layer, with rotation',
    `dims: { batch: 2, seq: 32, d: 128 }
inputs:
  x: [batch, seq, d]
layers:
  - norm: RMSNorm(d) from x
  - attention: MultiheadAttention(d, 8, num_kv_heads=2, rotary=True, causal=True)
`,
  ],
];

function shard(text: string, ways: number, sharesHeads: boolean, sequence = false) {
  const { training, scenario, issues } = estimateModel(openLayerSpec(text, 'm.layers.yaml'), [
    { cluster: 'dgx-h100', gpus: 1 },
  ]);
  if (training === undefined || scenario === undefined)
    throw new Error(issues.map(({ message }) => message).join('\n'));
  const bindings = new Map(Object.entries(scenario.dimensions));
  const sharded = shardTraining(training, bindings, { ways, sequence, keepsGathered: true, sharesHeads });
  return { training, sharded };
}

const rowsAndWidth = 2 * 32 * (128 + 2 * 32);

describe.each(forms)('%s', (_, text) => {
  it.each([4, 8])('%i workers compute an even part of everything', (ways) => {
    const { training, sharded } = shard(text, ways, true);
    expect(sharded.whole).toEqual([]);
    for (const [index, cost] of sharded.training.costs.entries()) {
      const { type, name } = training.analysis.graph.operators[index] ?? {};
      const whole = training.costs[index];
      if (cost.kind !== 'known' || whole?.kind !== 'known') continue;
      if (type === 'MatMul' || type === 'Attention')
        expect(cost.forward.flops * ways, name).toBe(whole.forward.flops);
    }
    for (const { name, elements } of sharded.training.analysis.parameters) {
      if (!/(q|k|v|qkv|q_proj|k_proj|v_proj|out_proj)\.weight$/.test(name)) continue;
      const whole = training.analysis.parameters.find((own) => own.name === name);
      expect(elements * ways, name).toBe(whole?.elements);
    }
  });

  it('attention has one head of keys and values beside its own of queries', () => {
    const { training, sharded } = shard(text, 4, true);
    const attention = training.analysis.graph.operators.find(({ type }) => type === 'Attention');
    const sizes = attention?.inputs
      .slice(0, 3)
      .map((name) => sharded.training.tensors.get(name)?.elements ?? Number.NaN);
    // 2 of 8 heads of queries, 1 of 2 of keys and values, of 32 positions of 2 samples, 16 wide.
    expect(sizes).toEqual([2, 1, 1].map((heads) => heads * 2 * 32 * 16));
  });

  it.each([false, true])('projections are gathered once and their gradients scattered, sp %s', (sequence) => {
    const { training, sharded } = shard(text, 4, true, sequence);
    const own = sharded.collectives.filter(
      ({ operator }) => training.analysis.graph.operators[operator]?.type === 'Attention',
    );
    expect(own.map(({ pass, collective, elements }) => [pass, collective, elements])).toEqual([
      ['forward', 'all-gather', rowsAndWidth],
      ['backward', 'reduce-scatter', rowsAndWidth],
    ]);
  });

  it('where heads divide nothing changes', () => {
    const [own, other] = [true, false].map((shares) => shard(text, 2, shares).sharded);
    expect(own?.collectives).toEqual(other?.collectives);
    expect(own?.training.costs).toEqual(other?.training.costs);
  });
});

test('the norm of keys that each worker has one head of is whole, and its gradient a part', () => {
  const { sharded } = shard(forms[0]?.[1] ?? '', 4, true);
  expect([...sharded.partialGradients]).toEqual(['k_normed.weight']);
});
