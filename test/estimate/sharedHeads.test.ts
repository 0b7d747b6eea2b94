/** Where PyTorch has no fused kernel for heads that share keys and values, the estimate says so. */

import { expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { sharedHeadIssues } from '../../server/src/estimate/sharedHeads.ts';
import { findCluster } from '../../server/src/hardware/clusters.ts';
import type { Precision } from '../../server/src/model/scenario.ts';

/** 8 heads of queries, 16 wide. */
const specOf = (heads: number, call: string): string => `dims: { batch: 2, seq: 32, d: 128 }
inputs:
  x: [batch, seq, d]
  mask: [seq, seq]
layers:
  - q: Linear(d, 128) from x
  - k: Linear(d, ${heads * 16}) from x
  - v: Linear(d, ${heads * 16}) from x
  - qh: reshape(q, (batch, seq, 8, 16))
  - qt: permute(0, 2, 1, 3)
  - kh: reshape(k, (batch, seq, ${heads}, 16))
  - kt: permute(0, 2, 1, 3)
  - vh: reshape(v, (batch, seq, ${heads}, 16))
  - vt: permute(0, 2, 1, 3)
  - attention: scaled_dot_product_attention(qt, kt, vt, ${call})
`;

const shared = specOf(2, 'is_causal=True, enable_gqa=True');
const masked = specOf(2, 'attn_mask=mask, enable_gqa=True');
const alike = specOf(8, 'is_causal=True');

interface Row {
  readonly spec: string;
  readonly cluster: string;
  readonly precision: Precision;
  readonly framework?: string;
  /** Part of the message; left out, nothing is said. */
  readonly says?: string;
}

const rows: readonly Row[] = [
  { spec: shared, cluster: 'h100-sxm', precision: 'fp32', says: 'share 2 of keys in fp32' },
  { spec: shared, cluster: 'h100-sxm', precision: 'tf32', says: 'share 2 of keys in tf32' },
  { spec: shared, cluster: 'h100-sxm', precision: 'bf16' },
  { spec: shared, cluster: 'v100-sxm2-16gb', precision: 'fp16', says: 'share 2 of keys on this GPU' },
  { spec: shared, cluster: 'a100-sxm-80gb', precision: 'bf16' },
  { spec: masked, cluster: 'a100-sxm-80gb', precision: 'bf16', says: 'with a mask on this GPU' },
  { spec: masked, cluster: 'h100-sxm', precision: 'bf16' },
  { spec: alike, cluster: 'h100-sxm', precision: 'fp32' },
  { spec: shared, cluster: 'h100-sxm', precision: 'fp32', framework: 'mxnet' },
];

test.each(rows)('$cluster in $precision: $says', ({ spec, cluster, precision, framework, says }) => {
  const { issues, cost } = estimateModel(openLayerSpec(spec, 'm.layers.yaml'), [
    {
      ...{ cluster, gpus: 1, precision },
      ...(framework === undefined ? {} : { framework: { name: framework, options: {} } }),
    },
  ]);
  expect(cost?.totals.time.forward).toBeGreaterThan(0);
  const found = issues.filter(({ code }) => code === 'scenario/shared-heads');
  expect(found.map(({ message }) => message.includes(says ?? ''))).toEqual(says === undefined ? [] : [true]);
});

/** All that is said, of the first such attention. */
test.each([
  {
    spec: shared,
    cluster: 'h100-sxm',
    precision: 'fp32' as const,
    where: 'in fp32',
    fix: 'Train in half precision, or repeat keys and values before attention',
  },
  {
    spec: shared,
    cluster: 'v100-sxm2-16gb',
    precision: 'fp16' as const,
    where: 'on this GPU',
    fix: 'Choose a newer GPU, or repeat keys and values before attention',
  },
  {
    spec: masked,
    cluster: 'a100-sxm-80gb',
    precision: 'bf16' as const,
    where: 'with a mask on this GPU',
    fix: 'Say `is_causal` without a mask, or repeat keys and values before attention',
  },
])('$where', ({ spec, cluster, precision, where, fix }) => {
  const profile = findCluster(cluster);
  const { training, scenario } = estimateModel(openLayerSpec(spec, 'm.layers.yaml'), [
    { cluster, gpus: 1, precision },
  ]);
  if (training === undefined || scenario === undefined || profile === undefined)
    throw new Error('not costed');
  const { analysis } = training;
  const core = analysis.graph.operators.find(({ type }) => type === 'Attention');
  if (core === undefined) throw new Error('no attention');
  const issuesOf = (name: string) => {
    const operators = analysis.graph.operators.map((each) => (each === core ? { ...each, name } : each));
    const graph = { ...analysis.graph, operators };
    const { folded: _, ...whole } = training;
    return sharedHeadIssues(
      { ...whole, analysis: { ...analysis, graph } },
      scenario,
      profile.gpu.architecture,
    );
  };
  for (const [name, first] of [
    ['core', 'core'],
    ['', core.outputs[0]],
  ] as const)
    expect(issuesOf(name)).toEqual([
      {
        code: 'scenario/shared-heads',
        severity: 'warning',
        message: `No fused kernel of PyTorch lets 8 heads of queries share 2 of keys ${where}, first at \`${first}\`. PyTorch stores all scores there. That is not costed: the step takes longer, and more memory. ${fix}`,
        scenarioKey: 'precision',
      },
    ]);
});
