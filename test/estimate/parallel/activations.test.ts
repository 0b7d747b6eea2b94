/**
 * Activations of a transformer layer under tensor and sequence parallelism, by the formulas of Korthikanti et al.,
 * arXiv:2205.05198, table 2. They follow from the graph: no formula of theirs is in the engine.
 */

import { describe, expect, test } from 'vitest';
import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';

interface Sizes {
  readonly name: string;
  readonly h: number;
  readonly a: number;
  readonly tokens: number;
  readonly batch: number;
}

/** A layer of GPT with dropout; `fused`: attention by one kernel, which keeps no scores. */
const model = ({ h, a, tokens }: Sizes, layers: number, fused: boolean): string => `name: gpt
dims: { batch: 1, seq: ${tokens}, h: ${h}, a: ${a} }
inputs:
  tokens: int64[batch, seq]
blocks:
  decoder:
    - ln_1: LayerNorm(h)
    - attn: MultiheadAttention(h, a, dropout=0.1, causal=True, fused=${fused ? 'True' : 'False'})
    - drop_1: Dropout(0.1)
    - res_1: add(drop_1, input)
    - ln_2: LayerNorm(h)
    - fc: Linear(h, 4*h)
    - act: GELU()
    - proj: Linear(4*h, h)
    - drop_2: Dropout(0.1)
    - res_2: add(drop_2, res_1)
layers:
  - embed: Embedding(51200, h) from tokens
  - h: decoder() * ${layers}
  - last: LayerNorm(h)
`;

/** What a layer more keeps for backward, over s·b·h. */
function perLayer(sizes: Sizes, ways: number, sequence: boolean, fused: boolean): number {
  const [fewer, more] = [2, 3].map((layers) => {
    const opened = openLayerSpec(model(sizes, layers, fused), 'gpt.layers.yaml');
    const { cost } = estimateModel(opened, [
      {
        cluster: 'dgx-a100',
        gpus: 8,
        batch: sizes.batch,
        loss: 'none',
        precision: 'fp16',
        framework: { name: 'deepspeed-zero', options: { stage: '1' } },
        // The formulas are those of Megatron-LM.
        parallel: { tensor: ways, sequence, gathered: 'again' },
      },
    ]);
    return cost?.totals.memory.activations ?? Number.NaN;
  });
  return ((more ?? Number.NaN) - (fewer ?? Number.NaN)) / (sizes.tokens * sizes.batch * sizes.h);
}

/** Table 3 of the paper, with fewer layers. */
describe.each<Sizes>([
  { name: '22B', h: 6144, a: 64, tokens: 2048, batch: 4 },
  { name: '175B', h: 12288, a: 96, tokens: 2048, batch: 1 },
  { name: '530B', h: 20480, a: 128, tokens: 2048, batch: 1 },
])('$name', (sizes) => {
  const scores = (5 * sizes.a * sizes.tokens) / sizes.h;
  test.each<readonly [string, number, boolean, boolean, number]>([
    ['none', 1, false, false, 34 + scores],
    ['tensor parallelism 8', 8, false, false, 10 + 24 / 8 + scores / 8],
    ['and sequence parallelism', 8, true, false, (34 + scores) / 8],
    ['tensor parallelism, no scores kept', 8, false, true, 10 + 24 / 8],
    ['and sequence parallelism', 8, true, true, 34 / 8],
    ['tensor parallelism 2', 2, false, false, 10 + 24 / 2 + scores / 2],
    ['and sequence parallelism', 2, true, false, (34 + scores) / 2],
  ])('%s %i', (_, ways, sequence, fused, formula) => {
    const own = perLayer(sizes, ways, sequence, fused);
    expect(Math.abs(own / formula - 1)).toBeLessThan(0.005);
  });
});
