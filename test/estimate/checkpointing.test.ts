/** Activation checkpointing and gradient accumulation: what they save, and what they cost. */

import { describe, expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { checkpoints, type ScenarioRequest } from '../../server/src/model/scenario.ts';
import type { StepCost } from '../../server/src/model/stepCost.ts';
import { openGraph } from '../support/savedActivations.ts';

const models = [
  'samples/gpt2.onnx',
  'samples/resnet50.onnx',
  'samples/more/llama-3-8b.layers.yaml',
  'samples/more/vit-b-16.layers.yaml',
].map((path) => ({ path, opened: openGraph(path) }));

type Opened = (typeof models)[number]['opened'];

function costOf(opened: Opened, request: ScenarioRequest): StepCost {
  const { cost } = estimateModel(opened, [{ cluster: 'a100-sxm-80gb', gpus: 1, batch: 8, ...request }]);
  if (cost === undefined) throw new Error('no cost');
  return cost;
}

const openText = (text: string): Opened => openModel(byteSourceOfBuffer(Buffer.from(text)), 'm.layers.yaml');

const timeOf = ({ totals }: StepCost): number => totals.time.step ?? Number.NaN;

describe.each(models)('$path', ({ opened }) => {
  describe.each(['fp32', 'bf16'] as const)('%s', (precision) => {
    const costs = new Map(
      checkpoints.map((checkpoint) => [checkpoint, costOf(opened, { precision, checkpoint })]),
    );
    const cost = (checkpoint: (typeof checkpoints)[number]): StepCost => {
      const found = costs.get(checkpoint);
      if (found === undefined) throw new Error(checkpoint);
      return found;
    };

    test('more is kept, less is computed again', () => {
      const saved = (['block', 'alternate', 'selective', 'none'] as const).map(
        (checkpoint) => cost(checkpoint).totals.memory.activations,
      );
      expect(saved).toEqual([...saved].sort((a, b) => a - b));
      expect(new Set(saved).size).toBe(4);
      const times = (['none', 'selective', 'alternate', 'block'] as const).map((each) => timeOf(cost(each)));
      expect(times).toEqual([...times].sort((a, b) => a - b));
      expect(cost('block').totals.memory.peak).toBeLessThan(cost('none').totals.memory.peak);
    });

    test('forward computes the same, and no more than forward is computed again', () => {
      for (const checkpoint of checkpoints) {
        const { time } = cost(checkpoint).totals;
        expect(time.forward).toBeCloseTo(cost('none').totals.time.forward ?? 0, 9);
        expect((time.backward ?? 0) - (cost('none').totals.time.backward ?? 0)).toBeLessThanOrEqual(
          // Where the host launches too slowly, backward waits for more of it than forward does.
          (time.forward ?? 0) * 1.1,
        );
      }
    });
  });
});

test('a mark on every block and `checkpoint: block` are the same', () => {
  const spec = (mark: string) => `name: m
dims: { batch: 4, seq: 64, d: 64 }
inputs:
  x: float32[batch, seq, d]
blocks:
  layer:
    - norm: LayerNorm(d)
    - fc: Linear(d, 4*d)
    - act: GELU()
    - out: Linear(4*d, d)
    - res: add(out, input)
layers:
  - h: layer() * 24${mark}
`;
  const open = (mark: string) => openText(spec(mark));
  for (const precision of ['fp32', 'bf16'] as const) {
    const { scenario: _, ...marked } = costOf(open(' recompute'), { precision });
    const { scenario: __, ...asked } = costOf(open(''), { precision, checkpoint: 'block' });
    expect({ ...asked, layers: asked.layers.length }).toEqual({ ...marked, layers: marked.layers.length });
  }
});

test.each([
  [
    'none',
    0,
    '`checkpoint: none` replaces the `recompute` of 5 layers, first `stem`; leave `checkpoint` out to cost the marks',
  ],
  [
    'block',
    1,
    '`checkpoint: block` replaces the `recompute` of 4 layers, first `h[0].a`; leave `checkpoint` out to cost the marks',
  ],
] as const)(
  '`checkpoint: %s` goes before the marks it speaks of, and says so',
  (checkpoint, kept, message) => {
    const opened = openText(`name: m
inputs:
  x: float32[8, 64]
blocks:
  layer:
    - a: Linear(64, 64)
    - b: Linear(64, 64)
layers:
  - stem: Linear(64, 64) recompute
  - h: layer() * 2 recompute
`);
    const { cost, issues } = estimateModel(opened, [{ gpus: 1, checkpoint }]);
    const said = issues.filter(({ code }) => code === 'scenario/overridden-marks');
    expect(said.map((issue) => issue.message)).toEqual([message]);
    const recomputed = cost?.layers.filter(({ notes }) => notes.includes('recomputed in backward')) ?? [];
    expect(recomputed.filter(({ name }) => name === 'stem')).toHaveLength(kept);
  },
);

test('the sample marked throughout takes what is asked, and the marks where nothing is', () => {
  const opened = openGraph('samples/more/llama-3-8b.layers.yaml');
  const asked = [undefined, ...checkpoints].map((checkpoint) => {
    const cost = costOf(opened, {
      cluster: 'dgx-a100',
      gpus: 8,
      batch: 1,
      precision: 'bf16',
      framework: { name: 'pytorch-fsdp', options: {} },
      ...(checkpoint === undefined ? {} : { checkpoint }),
    });
    return [checkpoint, Math.round(timeOf(cost) * 100) / 100, Math.round(cost.totals.memory.peak / 2 ** 30)];
  });
  // Seconds and GiB.
  expect(asked).toEqual([
    [undefined, 2.84, 24],
    ['none', 2.32, 63],
    ['block', 2.84, 24],
    ['selective', 2.37, 47],
    ['alternate', 2.55, 37],
    ['alternate-block', 2.58, 43],
    ['attention', 2.42, 63],
  ]);
});

describe('by hand: Linear, ReLU, Linear in blocks of 8 × 64', () => {
  const text = `name: m
inputs:
  x: float32[8, 64]
blocks:
  layer:
    - a: Linear(64, 256)
    - act: ReLU()
    - b: Linear(256, 64)
layers:
  - h: layer() * 4
`;
  // Each block keeps 8 × 64 in and 8 × 256 of the ReLU, which the second product reads too; blocks alone what goes in.
  test.each([
    ['none', 4 * (8 * 64 + 8 * 256) * 4],
    ['block', 4 * 8 * 64 * 4],
    // And what both products give; what the last of them gives is the input of the next block.
    ['selective', (4 * (8 * 64 + 8 * 256) + 8 * 64) * 4],
    // The first product of each block alone.
    ['alternate', 4 * (8 * 64 + 8 * 256) * 4],
    // The second and the fourth keep what goes in.
    ['alternate-block', (4 * 8 * 64 + 2 * 8 * 256) * 4],
    // No block has attention.
    ['attention', 4 * (8 * 64 + 8 * 256) * 4],
  ] as const)('%s', (checkpoint, bytes) => {
    const { totals } = costOf(openText(text), { checkpoint, precision: 'fp32', optimizer: 'sgd' });
    expect(totals.memory.activations).toBe(bytes);
  });
});

/**
 * Korthikanti et al., arXiv:2205.05198, section 5: of a layer with a heads, the core of attention keeps 5·a·s²·b bytes in half
 * precision, with a mask of dropout of a byte, and takes 4·b·s²·h FLOPs to compute again.
 */
describe.each([
  ['eager', 4],
  ['eager', 24],
  ['fused', 4],
  ['fused', 24],
] as const)('the core of %s attention in %i blocks', (core, blocks) => {
  const [seq, width, heads, batch] = [256, 512, 8, 2];
  const opened = openText(`name: m
dims: { batch: 1, seq: ${seq}, d: ${width}, a: ${heads} }
inputs:
  x: float32[batch, seq, d]
blocks:
  layer:
    - norm: LayerNorm(d)
    - query: Linear(d, d)
    - query_heads: reshape((batch, seq, a, d/a))
    - query_rows: permute(0, 2, 1, 3)
    - key: Linear(d, d) from norm
    - key_heads: reshape((batch, seq, a, d/a))
    - key_rows: permute(0, 2, 1, 3)
    - value: Linear(d, d) from norm
    - value_heads: reshape((batch, seq, a, d/a))
    - value_rows: permute(0, 2, 1, 3)
    - core: scaled_dot_product_attention(query_rows, key_rows, value_rows)
    - rows: permute(0, 2, 1, 3)
    - merged: reshape((batch, seq, d))
    - out: Linear(d, d)
    - res: add(out, input)
layers:
  - h: layer() * ${blocks}
`);
  const cost = (checkpoint: 'none' | 'attention') =>
    costOf(opened, {
      batch,
      precision: 'fp16',
      checkpoint,
      framework: { name: 'megatron', options: { attention: core, 'launch-us': '0.1' } },
    });
  const [none, again] = [cost('none'), cost('attention')];
  const cores = ({ layers }: StepCost) => layers.filter(({ name }) => name.endsWith('core'));

  test('is computed again in backward, and nothing else', () => {
    const before = cores(none);
    expect(before).toHaveLength(blocks);
    for (const [index, { time, notes }] of cores(again).entries()) {
      expect(notes).toContain('recomputed in backward');
      expect(time?.forward).toBeCloseTo(before[index]?.time?.forward ?? 0, 12);
      const whole = (before[index]?.time?.forward ?? 0) + (before[index]?.time?.backward ?? 0);
      expect(time?.backward).toBeCloseTo(whole, 12);
    }
    const others = ({ layers }: StepCost): readonly number[] =>
      layers.filter(({ name }) => !name.endsWith('core')).map(({ time }) => time.backward ?? Number.NaN);
    for (const [index, time] of others(again).entries())
      expect(time).toBeCloseTo(others(none)[index] ?? 0, 12);
  });

  test('keeps what goes in alone', () => {
    const left = none.totals.memory.activations - again.totals.memory.activations;
    // Without dropout the softmax. Fused attention never has it: beside the result, which the next product reads too, it keeps a
    // statistic of each row.
    const kept = core === 'eager' ? 2 * heads * seq * seq * batch : 4 * heads * seq * batch;
    expect(left).toBe(blocks * kept);
  });
});

test('a GPT layer without the core of its attention keeps 5·a·s²·b bytes less', () => {
  const [seq, width, heads, batch, blocks] = [256, 512, 8, 2, 6];
  const opened = openText(`name: m
dims: { batch: 1, seq: ${seq}, d: ${width} }
inputs:
  x: float32[batch, seq, d]
blocks:
  layer:
    - norm: LayerNorm(d)
    - attn: MultiheadAttention(d, ${heads}, dropout=0.1, causal=True, fused=False)
    - res: add(attn, input)
layers:
  - h: layer() * ${blocks}
`);
  const kept = (checkpoint: 'none' | 'attention'): number =>
    costOf(opened, {
      batch,
      precision: 'fp16',
      checkpoint,
      framework: { name: 'megatron', options: { attention: 'eager' } },
    }).totals.memory.activations;
  expect(kept('none') - kept('attention')).toBe(blocks * 5 * heads * seq * seq * batch);
});

test('a model without blocks says that nothing changes', () => {
  const { issues } = estimateModel(openGraph('samples/vgg16.onnx'), [{ checkpoint: 'block' }]);
  expect(issues.map(({ code }) => code)).toContain('scenario/no-blocks');
});

describe('accumulation', () => {
  const { opened } = models[0] ?? { opened: openGraph('samples/gpt2.onnx') };
  const node = { cluster: 'dgx-a100', gpus: 8, batch: 1, precision: 'bf16' } as const;

  test('forward and backward of every pass, one exchange and one update', () => {
    // A host that is always ahead: what waits for one differs from step to step.
    const ahead = { ...node, framework: { name: 'pytorch-ddp', options: { 'launch-us': '1' } } };
    const one = costOf(opened, ahead).totals;
    const four = costOf(opened, { ...ahead, accumulate: 4 }).totals;
    const alone = costOf(opened, { ...ahead, gpus: 1 }).totals;
    const fourAlone = costOf(opened, { ...ahead, gpus: 1, accumulate: 4 }).totals;
    // What is sent and updated once is the same in both; the passes after the first add their gradients.
    const passes = (fourAlone.time.step ?? 0) - (alone.time.step ?? 0);
    expect(four.time.step).toBeCloseTo((one.time.step ?? 0) + passes, 9);
    expect(four.time.communication).toBe(one.time.communication);
    expect(four.time.update).toBeCloseTo(one.time.update ?? Number.NaN, 15);
    expect(four.flops.forward).toBe(4 * one.flops.forward);
    expect(four.throughput).toBeCloseTo((4 * 8) / (four.time.step ?? 0), 6);
  });

  test('sharded gradients are exchanged in every pass', () => {
    const sharded = { ...node, framework: { name: 'pytorch-fsdp', options: {} } };
    const one = costOf(opened, sharded).totals;
    const four = costOf(opened, { ...sharded, accumulate: 4 }).totals;
    expect(four.time.communication).toBeCloseTo(4 * (one.time.communication ?? 0), 9);
  });

  test.each(['pytorch-ddp', 'pytorch-fsdp'])('%s: layers add up to the totals', (name) => {
    const { layers, totals } = costOf(opened, { ...node, accumulate: 3, framework: { name, options: {} } });
    const add = (pick: (layer: StepCost['layers'][number]) => number | null): number =>
      layers.reduce((total, layer) => total + (pick(layer) ?? 0), 0);
    expect(add(({ flops }) => flops.forward)).toBeCloseTo(totals.flops.forward, 0);
    expect(add(({ time }) => time.forward)).toBeCloseTo(totals.time.forward ?? 0, 9);
    expect(add(({ time }) => time.backward)).toBeCloseTo(totals.time.backward ?? 0, 9);
    expect(add(({ time }) => time.communication)).toBeCloseTo(totals.time.communication ?? 0, 9);
  });

  test('gradients are there while forward runs, and a new one beside them', () => {
    const request = { precision: 'fp32', optimizer: 'sgd' } as const;
    const one = costOf(opened, request).totals.memory;
    const two = costOf(opened, { ...request, accumulate: 2 }).totals.memory;
    expect(two.peak).toBeGreaterThan(one.peak);
    expect(two.peak).toBeLessThanOrEqual(one.peak + 2 * one.gradients);
    expect(costOf(opened, { ...request, accumulate: 8 }).totals.memory).toEqual(two);
  });

  test('so are those of the step before, where they are filled with zeros', () => {
    const request = { precision: 'fp32', optimizer: 'sgd' } as const;
    const framework = { name: 'pytorch-ddp', options: { gradients: 'added' } };
    const added = costOf(opened, { ...request, framework }).totals.memory;
    const { reserved } = costOf(opened, { ...request, accumulate: 2 }).totals.memory;
    expect(added).toEqual(costOf(opened, { ...request, accumulate: 2 }).totals.memory);
    expect(added.reserved).toEqual(reserved);
  });

  test('inference has one pass', () => {
    expect(costOf(opened, { mode: 'inference', accumulate: 4 }).scenario.accumulate).toBeUndefined();
  });
});

describe('a block is computed again until the last tensor is saved that backward needs', () => {
  // What PyTorch 2.13 runs in backward of torch.utils.checkpoint with use_reentrant=False, seen by a TorchDispatchMode.
  test.each([
    ['the input of a product is saved before it runs', 'Linear(d, d)', false],
    ['the mask of dropout is saved after it', 'Dropout(0.1)', true],
    ['the output of ReLU is saved after it', 'ReLU()', true],
    ['an addition saves nothing', 'add(act, input)', false],
  ])('%s', (_, last, runsAgain) => {
    const backwardOf = (mark: string, reentrant: string): number => {
      const { layers } = costOf(
        openText(`name: m
dims: { batch: 4096, d: 2048 }
inputs:
  x: float32[batch, d]
blocks:
  layer:
    - fc: Linear(d, d)
    - act: GELU()
    - last: ${last}
layers:
  - h: layer()${mark}
  - head: Linear(d, 8)
`),
        // Without casts, which run again before the product that saves them.
        { batch: 4096, precision: 'fp32', framework: { name: 'pytorch-ddp', options: { reentrant } } },
      );
      return layers.find(({ name }) => name.endsWith('.last'))?.time.backward ?? Number.NaN;
    };
    const toItsEnd = backwardOf(' recompute', 'true');
    const none = backwardOf('', 'false');
    expect(toItsEnd).toBeGreaterThan(none);
    expect(backwardOf(' recompute', 'false')).toBe(runsAgain ? toItsEnd : none);
  });
});
