import { expect, it } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';

const spec = (fused: string): string => `inputs:
  x: float32[2, 128, 64]
layers:
  - attn: MultiheadAttention(64, 4${fused})
scenario: { gpus: 1, framework: "pytorch-ddp,attention=eager" }
`;

it('says that a line decides before the option', () => {
  const opened = openLayerSpec(spec(', fused=True'), 'm.layers.yaml');
  const { issues } = estimateModel(opened, [opened.scenario]);
  expect(issues).toMatchObject([
    {
      code: 'scenario/invalid',
      severity: 'information',
      message: expect.stringContaining(
        '`attn/Attention`; in a layer spec, take `fused=True` out of its line',
      ),
      span: {
        start: spec(', fused=True').indexOf('attention=eager'),
        end: spec(', fused=True').indexOf('" }'),
      },
    },
  ]);
});

it('says nothing where attention is written out: its scores are stored', () => {
  const opened = openLayerSpec(spec(', fused=False'), 'm.layers.yaml');
  const { issues, cost } = estimateModel(opened, [opened.scenario]);
  expect(issues).toEqual([]);
  // Two samples, four heads, scores of 128 × 128 in fp32, kept once as what softmax gives.
  expect(cost?.layers[0]?.memory.activations).toBeGreaterThanOrEqual(2 * 4 * 128 * 128 * 4);
});

it.each([
  ['', 'as-exported', 'one'],
  ['', 'fused', 'one'],
  ['', 'eager', 'several'],
  [', fused=False', 'as-exported', 'several'],
  [', fused=False', 'eager', 'several'],
  [', fused=False', 'fused', 'several'],
  [', fused=True', 'fused', 'one'],
  [', fused=True', 'eager', 'one'],
])('the line decides before the option: `%s`, attention=%s', (fused, attention, kernels) => {
  const text = spec(fused).replace('attention=eager', `attention=${attention}`);
  const opened = openLayerSpec(text, 'm.layers.yaml');
  const { cost, issues } = estimateModel(opened, [opened.scenario]);
  const saved = cost?.layers[0]?.memory.activations ?? 0;
  // Inputs of the projections, queries, keys, values and what attention gives; and scores where they are stored.
  expect(saved > 2 * 4 * 128 * 128 * 4).toBe(kernels === 'several');
  const isOverridden = attention === (kernels === 'one' ? 'eager' : 'fused');
  expect(issues.map(({ scenarioPart }) => scenarioPart)).toEqual(isOverridden ? ['attention'] : []);
});
