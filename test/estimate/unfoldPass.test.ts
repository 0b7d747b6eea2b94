/** Where blocks repeat, a pass takes and gives back what it does over the whole graph, in the same order. */

import { describe, expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { lowerWhole } from '../../server/src/estimate/memory/memoryTrace.ts';
import { type PassEvents, passEvents } from '../../server/src/estimate/memory/passEvents.ts';
import { unfoldPass } from '../../server/src/estimate/memory/unfoldPass.ts';
import { planStep } from '../../server/src/estimate/plan/planStep.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';

const decoder = `
  decoder:
    - ln1: LayerNorm(d)
    - attn: MultiheadAttention(d, 4, causal=True)
    - res1: add(attn, input)
    - ln2: LayerNorm(d)
    - up: Linear(d, 4*d)
    - act: GELU()
    - down: Linear(4*d, d)
    - drop: Dropout(0.1)
    - res2: add(drop, res1)`;

const spec = (blocks: string, layers: string): ReturnType<typeof openLayerSpec> =>
  openLayerSpec(
    `dims: { batch: 2, seq: 64, d: 256, vocab: 1000 }\ninputs:\n  tokens: int64[batch, seq]\nblocks:${blocks}\nlayers:\n  - embed: Embedding(vocab, d)\n${layers}\n  - head: Linear(d, vocab, bias=False)\n`,
    'blocks.layers.yaml',
  );

const models = [
  ['one row of blocks', spec(decoder, '  - h: decoder() * 40')],
  ['two rows', spec(decoder, '  - h: decoder() * 24\n  - mid: ReLU()\n  - g: decoder() * 30')],
  [
    'blocks that all read one value',
    spec(
      `${decoder}\n  gated:\n    - fc: Linear(d, d)\n    - gate: mul(fc, embed)\n    - out: ReLU()`,
      '  - h: gated() * 40',
    ),
  ],
] as const;

const requests: readonly (readonly [string, ScenarioRequest])[] = [
  ['fp32', { optimizer: 'sgd' }],
  ['bf16', { precision: 'bf16' }],
  ['accumulated', { precision: 'bf16', accumulate: 4 }],
  ['inference', { mode: 'inference' }],
  ['sharded', { precision: 'bf16', gpus: 8, framework: { name: 'pytorch-fsdp', options: {} } }],
];

/** By place: bytes where something is taken, and the number of its taking where it is given back. */
function inOrder({ events, taken }: PassEvents): readonly string[] {
  const numbers = new Map<number, number>();
  return events.map((own) =>
    own
      .map((event) => {
        if (event < 0) return `-${numbers.get(~event)}`;
        numbers.set(event, numbers.size);
        return `+${taken[event]?.bytes}`;
      })
      .join(' '),
  );
}

const rows = models.flatMap(([model, opened]) =>
  requests.map(([what, request]) => ({ what: `${model}, ${what}`, opened, request })),
);
const [one] = models;
const checkpoints = (['block', 'alternate'] as const).map((checkpoint) => ({
  what: `${one[0]}, checkpoint: ${checkpoint}`,
  opened: one[1],
  request: { precision: 'fp16', checkpoint } as const,
}));

describe.each([...rows, ...checkpoints])('$what', ({ opened, request }) => {
  test.each(['let go of', 'held'] as const)('variables %s', (variables) => {
    const { training, scenario, cluster } = estimateModel(opened, [
      { cluster: 'dgx-a100', gpus: 1, ...request },
    ]);
    if (training === undefined || scenario === undefined || cluster === undefined) throw new Error('no plan');
    const plan = planStep(training, scenario, cluster);
    const layout = training.analysis.folded?.layout;
    if (plan.folded === undefined || layout === undefined) throw new Error('nothing is folded');
    const unfolded = unfoldPass(layout, passEvents({ ...plan, ...plan.folded }, variables));
    expect(unfolded).toBeDefined();
    if (unfolded === undefined) return;
    expect(inOrder(unfolded)).toEqual(inOrder(passEvents({ ...plan, lowered: lowerWhole(plan) }, variables)));
  });
});
