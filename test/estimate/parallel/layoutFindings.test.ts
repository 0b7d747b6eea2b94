/** What is said of a layout is so when the advised layout is costed by itself. */

import { describe, expect, it } from 'vitest';
import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { formatBytes, formatPercent, formatTime } from '../../../server/src/model/format.ts';
import { gpuMemory } from '../../../server/src/model/gpuMemory.ts';
import type { ParallelRequest, ScenarioRequest } from '../../../server/src/model/scenario.ts';
import type { StepCost } from '../../../server/src/model/stepCost.ts';
import { seconds } from '../../../server/src/model/units.ts';
import { openGraph } from '../../support/savedActivations.ts';

const llama = openGraph('samples/more/llama-3-8b.layers.yaml');

const costOf = (request: ScenarioRequest, parallel: ParallelRequest): StepCost => {
  const { cost, issues } = estimateModel(llama, [
    { cluster: 'dgx-h100', gpus: 32, globalBatch: 64, ...request, parallel },
  ]);
  if (cost === undefined) throw new Error(issues.map(({ message }) => message).join('\n'));
  return cost;
};

const findingOf = (cost: StepCost, code: string) => cost.findings.find((each) => each.code === code);

/** The layout that a text advises, over the one there is. */
function advised(fix: string, parallel: ParallelRequest): readonly [ScenarioRequest, ParallelRequest] {
  const number = (name: string): number | undefined => {
    const found = new RegExp(`${name}=(\\d+)`).exec(fix)?.[1];
    return found === undefined ? undefined : Number(found);
  };
  const [tensor, pipeline, microBatch] = [number('tp'), number('pp'), number('micro-batch')];
  return [
    fix.includes('checkpoint: block') ? { checkpoint: 'block' } : {},
    {
      ...parallel,
      ...(tensor === undefined ? {} : { tensor, pipeline: pipeline ?? 1 }),
      ...(pipeline === undefined ? {} : { pipeline }),
      ...(microBatch === undefined ? {} : { microBatch }),
    },
  ];
}

describe('out of memory', () => {
  const given: ParallelRequest = { tensor: 2, pipeline: 2 };
  const cost = costOf({}, given);
  const finding = findingOf(cost, 'findings/out-of-memory');

  it('names the stage and the largest part', () => {
    expect(cost.fits).toBe('no');
    expect(finding?.message).toMatch(/^Stage 2 of 2 needs .* GiB; H100 SXM has 79\.2 GiB.*saved activations/);
  });

  it('each layout it advises fits, needs and takes what it says', () => {
    const ways = finding?.fix.split('; or ') ?? [];
    expect(ways.length).toBeGreaterThan(1);
    for (const way of ways) {
      // The options of a framework are costed in the same way; here layouts are.
      if (way.includes('deepspeed')) continue;
      const [request, parallel] = advised(way, given);
      // The micro-batch of the layout there is, where the advice is of degrees: as many samples in a step.
      const own = parallel.microBatch === undefined ? { ...parallel, microBatch: 8 } : parallel;
      const after = costOf(request, way.includes('micro-batch') ? parallel : own);
      expect(findingOf(after, 'findings/out-of-memory'), way).toBeUndefined();
      expect(way).toContain(`needs ${formatBytes(gpuMemory(after).needed)}`);
      expect(way).toContain(`takes ${formatTime(after.totals.time.step)}`);
    }
  });

  it('advises a smaller micro-batch and checkpointing together where neither is enough', () => {
    const long = openLayerSpec(
      'dims: { seq: 16384, d: 4096 }\ninputs: { x: "float32[batch, seq, d]" }\nlayers:\n  - h: TransformerEncoderLayer(d, 32, dim_feedforward=16384, batch_first=True) * 64\n',
      'm.layers.yaml',
    );
    const parallel: ParallelRequest = { pipeline: 8 };
    const estimate = (request: ScenarioRequest, layout: ParallelRequest): StepCost => {
      const asked = { cluster: 'dgx-h100', gpus: 8, globalBatch: 16, ...request, parallel: layout };
      const { cost: found, issues } = estimateModel(long, [asked]);
      if (found === undefined) throw new Error(JSON.stringify(issues));
      return found;
    };
    const fix = findingOf(estimate({}, parallel), 'findings/out-of-memory')?.fix ?? '';
    expect(fix).toMatch(/micro-batch=\d+.* and keep only the inputs of blocks/);
    const after = estimate(...advised(fix, parallel));
    expect(findingOf(after, 'findings/out-of-memory')).toBeUndefined();
    expect(fix).toContain(
      `needs ${formatBytes(gpuMemory(after).needed)} and takes ${formatTime(after.totals.time.step)}`,
    );
  });

  it('a layout that fits has no such finding', () => {
    const after = costOf({}, { tensor: 8, microBatch: 1 });
    expect(findingOf(after, 'findings/out-of-memory')).toBeUndefined();
  });
});

describe('a pipeline that waits', () => {
  const given: ParallelRequest = { tensor: 4, pipeline: 4, microBatch: 8 };
  const cost = costOf({}, given);
  const finding = findingOf(cost, 'findings/pipeline-bubble');

  it('says the share that the layout row says', () => {
    const { bubble = 0 } = cost.parallel ?? {};
    const { step } = cost.totals.time;
    expect(bubble / (step ?? 0)).toBeGreaterThan(0.2);
    expect(finding?.message).toContain(`the last of 4 pipeline stages waits`);
    expect(finding?.message).toContain('4 micro-batches');
  });

  it('the micro-batch it advises takes what it says, for as many samples', () => {
    const [way = ''] = finding?.fix.split('; or ') ?? [];
    const after = costOf(...advised(way, given));
    expect(way).toContain(`takes ${formatTime(after.totals.time.step)} a step`);
    expect(after.totals.time.step ?? 0).toBeLessThan(cost.totals.time.step ?? 0);
    const samples = (each: StepCost): number => (each.totals.throughput ?? 0) * (each.totals.time.step ?? 0);
    expect(samples(after)).toBeCloseTo(samples(cost), 6);
  });

  it('one stage waits for no other', () => {
    expect(findingOf(costOf({}, { tensor: 8, microBatch: 1 }), 'findings/pipeline-bubble')).toBeUndefined();
  });
});

describe('a pipeline of uneven stages', () => {
  const layout: ParallelRequest = { tensor: 2, pipeline: 4, microBatch: 1 };
  const many: ScenarioRequest = { globalBatch: 512 };
  const uneven = costOf(many, { ...layout, stages: 'uniform' });
  const finding = findingOf(uneven, 'findings/uneven-stages');

  it.each([
    ['a long first stage', [14, 9, 8, 1]],
    ['a last stage of the head alone', [14, 10, 8, 0]],
  ])('gives blocks of stages, %s, and is compared with other numbers of stages', (_, stages) => {
    const given = costOf(many, { ...layout, stages });
    expect(findingOf(given, 'findings/uneven-stages')?.fix).toContain('`stages=balanced`');
  });

  it('names the longest stage, by how much, and stages of like time', () => {
    const times = uneven.parallel?.stages.map(({ forward, backward }) => forward + backward) ?? [];
    const mean = times.reduce((total, time) => total + time, 0) / times.length;
    const excess = formatPercent(Math.max(...times) / mean - 1);
    expect(finding?.message).toContain(`Stage 4 of 4 takes ${excess} longer than the mean`);
    const balanced = costOf(many, { ...layout, stages: 'balanced' });
    expect(finding?.fix).toContain(
      `(\`stages=balanced\`), which takes ${formatTime(balanced.totals.time.step)} a step`,
    );
  });

  it.each([
    ['uneven stages are allowed', { ...many, thresholds: { 'uneven-stages': 0.5 } }, 'uniform'],
    ['there is one stage', many, undefined],
  ] as const)('is silent where %s', (_, request, stages) => {
    const parallel = stages === undefined ? { tensor: 8, microBatch: 1 } : { ...layout, stages };
    expect(findingOf(costOf(request, parallel), 'findings/uneven-stages')).toBeUndefined();
  });
});

describe('shards beside a pipeline', () => {
  const layout: ParallelRequest = { tensor: 2, pipeline: 2, microBatch: 1 };
  const codeOf = (name: string, options: Record<string, string>, parallel = layout) =>
    findingOf(costOf({ framework: { name, options } }, parallel), 'findings/sharded-pipeline');

  it.each([
    ['pytorch-fsdp', {}, 'gather their weights and scatter gradients in each of 8 micro-batches'],
    ['deepspeed-zero', { stage: '3' }, 'DeepSpeed runs no pipeline with ZeRO 2 and 3'],
    ['deepspeed-zero', { stage: '2' }, 'copies of a stage scatter gradients in each of 8'],
  ] as const)('%s %o', (name, options, text) => {
    const finding = codeOf(name, options);
    expect(finding?.message).toContain(text);
    const after = costOf({ framework: { name: 'deepspeed-zero', options: { stage: '1' } } }, layout);
    expect(finding?.fix).toContain(
      after.fits === 'no'
        ? '(`deepspeed-zero,stage=1`)'
        : `takes ${formatTime(after.totals.time.step)} a step`,
    );
  });

  it.each([
    ['one stage', 'pytorch-fsdp', {}, { tensor: 4, microBatch: 1 }],
    ['a shared update', 'deepspeed-zero', { stage: '1' }, layout],
    ['weights that torchtitan keeps', 'torchtitan', {}, layout],
  ] as const)('is silent for %s', (_, name, options, parallel) => {
    expect(codeOf(name, options, parallel)).toBeUndefined();
  });
});

describe('collectives beside products', () => {
  const megatron = (options: Readonly<Record<string, string>>) => ({
    framework: { name: 'megatron', options },
    gpus: 8,
    // The host launches so slowly that collectives are a small part of the step.
    thresholds: { 'tensor-communication': 0.05 },
  });
  const parallel: ParallelRequest = { tensor: 8, microBatch: 1 };
  const waiting = costOf(megatron({}), parallel);
  const beside = costOf(megatron({ 'tp-comm-overlap': 'true' }), { ...parallel, sequence: true });

  it('are advised with the time that the option takes by itself', () => {
    expect(findingOf(waiting, 'findings/tensor-communication')?.fix).toContain(
      `et \`tp-comm-overlap\` of \`megatron\` with \`sp\`, which takes ${formatTime(beside.totals.time.step)} a step`,
    );
    expect(findingOf(beside, 'findings/tensor-communication')?.fix ?? '').not.toContain('tp-comm-overlap');
  });

  it('wait for less than all, and exchange as much', () => {
    const plain = costOf(megatron({}), { ...parallel, sequence: true });
    const [hidden, whole] = [beside, plain].map((cost) => cost.parallel?.tensorCommunication ?? Number.NaN);
    expect(hidden).toBeGreaterThan(0);
    expect(hidden).toBeLessThan(whole ?? 0);
    const counted = (cost: StepCost) =>
      cost.parallel?.collectives.map(({ layer, collective, count }) => [layer, collective, count]);
    expect(counted(beside)).toEqual(counted(plain));
  });

  it('of Megatron-LM need sequence parallelism', () => {
    expect(() => costOf(megatron({ 'tp-comm-overlap': 'true' }), parallel)).toThrow(
      'needs sequence parallelism for `tp-comm-overlap`; add `sp`',
    );
  });
});

/** Each of the others is costed by itself; those that do not fit are not advised. */
it.each<[string, string, ParallelRequest, readonly Partial<ParallelRequest>[]]>([
  [
    'groups of a half and a quarter',
    'tensor-communication',
    { tensor: 8, microBatch: 1 },
    [{ tensor: 4 }, { tensor: 4, pipeline: 2 }, { tensor: 2 }, { tensor: 2, pipeline: 4 }],
  ],
  [
    'exchanges and smaller groups',
    'context-communication',
    { tensor: 4, context: 4, contextExchange: 'all-gather', microBatch: 1 },
    [{ contextExchange: 'ring' }, { contextExchange: 'all-to-all' }, { context: 2 }, { context: 1 }],
  ],
  [
    'micro-batches',
    'pipeline-bubble',
    { tensor: 4, pipeline: 4, microBatch: 8 },
    [{ microBatch: 4 }, { microBatch: 2 }, { microBatch: 1 }],
  ],
  [
    'schedules',
    'pipeline-bubble',
    { tensor: 4, pipeline: 4, microBatch: 8 },
    [
      { chunks: 2, schedule: 'interleaved-1f1b' },
      { chunks: 1, schedule: 'zb-h1' },
    ],
  ],
])('of %s, the fastest that fits is advised', (_, threshold, given, others) => {
  const cost = costOf({ thresholds: { [threshold]: 0.001 } }, given);
  const stepOf = ({ totals }: StepCost): number => totals.time.step ?? expect.fail();
  const faster = others
    .map((other) => costOf({}, { ...given, ...other }))
    .filter((other) => other.fits !== 'no' && stepOf(other) < stepOf(cost))
    .map(stepOf);
  expect(faster.length).toBeGreaterThan(0);
  const times = faster.map((step) => `which takes ${formatTime(seconds(step))} a step`);
  const fastest = times[faster.indexOf(Math.min(...faster))];
  const { fix = '' } = findingOf(cost, `findings/${threshold}`) ?? {};
  expect(times.filter((time) => fix.includes(time))).toEqual([fastest]);
});

it('a threshold that a person sets decides', () => {
  const parallel: ParallelRequest = { tensor: 4, pipeline: 4, microBatch: 8 };
  const never = costOf({ thresholds: { 'pipeline-bubble': 1 } }, parallel);
  expect(findingOf(never, 'findings/pipeline-bubble')).toBeUndefined();
});

describe('layers that stay whole', () => {
  it('are named with their share, and with the degree that splits them', () => {
    const { findings, parallel } = costOf({}, { tensor: 16, microBatch: 1 });
    const finding = findings.find(({ code }) => code === 'findings/unsplit-layers');
    const share = parallel?.whole.reduce((total, layer) => total + layer.share, 0) ?? 0;
    expect(share).toBeGreaterThan(0.05);
    expect(finding?.fix).toContain('`tp=8`');
    expect(finding?.message).toContain(
      '8 heads of keys and values do not divide by 16, so that attention stays whole',
    );
    const eight = costOf({}, { tensor: 8, microBatch: 1 });
    expect(eight.findings.map(({ code }) => code)).not.toContain('findings/unsplit-layers');
  });

  it('with Megatron-LM GPUs share heads of keys and values, and attention is split', () => {
    const framework = { name: 'megatron', options: {} };
    const cost = costOf({ framework }, { tensor: 16, microBatch: 1 });
    expect(findingOf(cost, 'findings/unsplit-layers')).toBeUndefined();
    const finding = findingOf(cost, 'findings/replicated-heads');
    expect(finding?.message).toContain(
      'K/V heads replicated: the 16 GPUs of a group share 8 heads of keys and values, 2 GPUs each',
    );
    expect(finding?.fix).toContain('`tp=8`');
    const eight = costOf({ framework }, { tensor: 8, microBatch: 1 });
    expect(findingOf(eight, 'findings/replicated-heads')).toBeUndefined();
  });
});

it('advises Megatron to send rows of experts once to each node, where that is faster', () => {
  const spec = `dims: { batch: 1, seq: 4096, d: 4096 }
inputs:
  tokens: int64[batch, seq]
layers:
  - embed: Embedding(32000, d)
  - experts: MixtureOfExperts(d, 1536, num_experts=32, top_k=8, gated=True)
  - head: Linear(d, 32000, bias=False)
`;
  const adviceOf = (options: Readonly<Record<string, string>>) => {
    const { cost, issues } = estimateModel(openLayerSpec(spec, 'm.layers.yaml'), [
      {
        ...{ cluster: 'dgx-h100', gpus: 32, batch: 1, precision: 'bf16', parallel: { expert: 32 } },
        framework: { name: 'megatron', options: { 'distributed-optimizer': 'true', ...options } },
        thresholds: { 'expert-communication': 0.05 },
      },
    ]);
    if (cost === undefined) throw new Error(issues.map(({ message }) => message).join('\n'));
    return { step: cost.totals.time.step, fix: findingOf(cost, 'findings/expert-communication')?.fix };
  };
  const [copies, once] = [adviceOf({}), adviceOf({ 'moe-token-dispatcher': 'flex' })];
  expect(copies.fix).toBe(
    `Send each row once to a node (\`moe-token-dispatcher=flex\` of \`megatron\`), which takes ${formatTime(once.step ?? expect.fail())} a step instead of ${formatTime(copies.step ?? expect.fail())}`,
  );
  expect(once.fix).not.toContain('flex');
});
