/**
 * Collectives of tensor and sequence parallelism, as PyTorch's DTensor issues them when it runs the plan of a Llama on 2 and 4
 * processes with Gloo (`dtensor/writeCollectives.py`): pass, kind, number and elements.
 */

import { expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { shardTraining } from '../../server/src/parallel/shardTraining.ts';
import golden from './dtensor/collectives.json';

const mlp = {
  plain: `    - up: Linear(32, 64, bias=False)
    - act: GELU()
    - down: Linear(64, 32, bias=False)`,
  gated: `    - gate: Linear(32, 64, bias=False)
    - act: SiLU()
    - up: Linear(32, 64, bias=False) from norm_2
    - product: mul(act, up)
    - down: Linear(64, 32, bias=False)`,
};

/** The model of the script: 2 × 8 tokens, 96 words, 4 heads. */
const model = (gated: boolean, blocks: number): string => `name: llama
dims: { batch: 2, seq: 8 }
inputs:
  tokens: int64[batch, seq]
  labels: int64[batch*seq]
blocks:
  decoder:
    - norm_1: RMSNorm(32)
    - attn: MultiheadAttention(32, 4, bias=False, causal=True)
    - res_1: add(attn, input)
    - norm_2: RMSNorm(32)
${gated ? mlp.gated : mlp.plain}
    - res_2: add(down, res_1)
layers:
  - embed: Embedding(96, 32) from tokens
  - blocks: decoder() * ${blocks}
  - norm: RMSNorm(32)
  - head: Linear(32, 96, bias=False)
  - rows: reshape((batch*seq, 96))
  - loss: CrossEntropyLoss() from rows, labels
`;

test.each(golden)('$blocks blocks, gated $gated, sequence $sequence, $ways ways', (row) => {
  const { training, scenario } = estimateModel(
    openLayerSpec(model(row.gated, row.blocks), 'llama.layers.yaml'),
    [{ gpus: 1, batch: 2 }],
  );
  if (training === undefined || scenario === undefined) throw new Error('the model cannot be costed');
  const { collectives, whole } = shardTraining(training, new Map(Object.entries(scenario.dimensions)), {
    ways: row.ways,
    sequence: row.sequence,
    keepsGathered: true,
  });
  expect(whole).toEqual([]);
  const counts: Record<string, number> = {};
  for (const { pass, collective, elements } of collectives) {
    const key = `${pass} ${collective} ${elements}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  expect(counts).toEqual(row.collectives);
});
