/** Queries, keys and values of several sizes in one weight are split as three weights are. */

import { describe, expect, it, test } from 'vitest';
import type { TrainingGraph } from '../../server/src/analysis/modelAnalysis.ts';
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
  - k_turned: permute(0, 2, 1, 3)
  - v_heads: reshape(v, (batch, seq, 2, 16))
  - v_turned: permute(0, 2, 1, 3)
  - attention: scaled_dot_product_attention(q_turned, k_turned, v_turned, is_causal=True, enable_gqa=True)
  - turned: permute(0, 2, 1, 3)
  - merged: reshape((batch, seq, d))
  - out: Linear(d, d, bias=False)
`;

const apart = `  - q: Linear(d, 128)
  - k: Linear(d, 32) from norm
  - v: Linear(d, 32) from norm
`;

/** One weight, taken apart in several ways. */
const together: readonly (readonly [string, string])[] = [
  ['split', '  - qkv: Linear(d, 192)\n  - q, k, v: split([128, 32, 32], dim=-1)\n'],
  [
    'sliced',
    '  - qkv: Linear(d, 192)\n  - q: slice(qkv, -1, 0, 128)\n  - k: slice(qkv, -1, 128, 160)\n  - v: slice(qkv, -1, 160, 192)\n',
  ],
  [
    'with an adapter',
    '  - qkv: Linear(d, 192)\n  - down: Linear(d, 4, bias=False) from norm\n  - up: Linear(4, 192, bias=False)\n  - both: add(qkv, up)\n  - q, k, v: split([128, 32, 32], dim=-1)\n',
  ],
];

function shard(text: string, ways: number) {
  const { training, scenario, issues } = estimateModel(openLayerSpec(text, 'm.layers.yaml'), [
    { cluster: 'dgx-h100', gpus: 1 },
  ]);
  if (training === undefined || scenario === undefined)
    throw new Error(issues.map(({ message }) => message).join('\n'));
  const bindings = new Map(Object.entries(scenario.dimensions));
  const degree = { ways, sequence: false, keepsGathered: true };
  return { whole: training, sharded: shardTraining(training, bindings, degree) };
}

const flopsOf = ({ costs }: TrainingGraph): number =>
  costs.reduce((total, cost) => total + (cost.kind === 'known' ? cost.forward.flops : 0), 0);
const elementsOf = ({ analysis }: TrainingGraph, like: string): number =>
  analysis.parameters.reduce((total, { name, elements }) => total + (name.includes(like) ? elements : 0), 0);

describe.each(together)('%s', (_, projections) => {
  const { whole, sharded } = shard(specOf(projections), 2);

  it('each worker computes its part of the projection', () => {
    expect(
      sharded.whole.filter(({ operator }) => whole.analysis.graph.operators[operator]?.name.includes('qkv')),
    ).toEqual([]);
    expect(elementsOf(sharded.training, 'qkv')).toBe(elementsOf(whole, 'qkv') / 2);
  });

  it('attention has half of the heads, of keys and values as of queries', () => {
    for (const [name, heads] of [
      ['q_turned', 4],
      ['k_turned', 1],
      ['v_turned', 1],
    ] as const) {
      const value = [...sharded.training.tensors].find(([key]) => key.startsWith(`${name}/`));
      expect(value?.[1].dimensions, name).toEqual([2, heads, 32, 16]);
    }
  });
});

test('one weight is split and exchanges what three do', () => {
  const three = shard(specOf(apart), 2);
  const one = shard(specOf(together[0]?.[1] ?? ''), 2);
  expect(
    one.sharded.collectives.map(({ pass, collective, elements }) => [pass, collective, elements]),
  ).toEqual(three.sharded.collectives.map(({ pass, collective, elements }) => [pass, collective, elements]));
  expect(flopsOf(one.sharded.training)).toBe(flopsOf(three.sharded.training));
});

test.each([
  // 2 heads of keys do not divide by 4.
  ['four workers', specOf(together[0]?.[1] ?? ''), 4],
  // Something of the weight is left out: which block would be whose is not known.
  [
    'a part that nobody takes',
    specOf(
      '  - qkv: Linear(d, 196)\n  - q: slice(qkv, -1, 0, 128)\n  - k: slice(qkv, -1, 128, 160)\n  - v: slice(qkv, -1, 160, 192)\n',
    ),
    2,
  ],
])('%s leave the projection whole, and say so', (_, text, ways) => {
  const { whole, sharded } = shard(text, ways);
  const names = sharded.whole.map(({ operator }) => whole.analysis.graph.operators[operator]?.name ?? '');
  expect(names.some((name) => name.includes('qkv'))).toBe(true);
  expect(elementsOf(sharded.training, 'qkv')).toBe(elementsOf(whole, 'qkv'));
});
