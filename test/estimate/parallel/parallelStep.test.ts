/** A step in which several GPUs share a copy of the model: laws, parts that add up, and what is refused. */

import { describe, expect, it, test } from 'vitest';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { estimateParallelStep } from '../../../server/src/estimate/parallel/estimateParallelStep.ts';
import type {
  FrameworkChoice,
  ParallelScenario,
  ScenarioRequest,
} from '../../../server/src/model/scenario.ts';
import { finish } from '../../../server/src/model/steps.ts';
import { oneWorker } from '../../support/oneWorker.ts';
import { openGraph } from '../../support/savedActivations.ts';

const path = 'samples/tinyllama.layers.yaml';
const opened = openGraph(path);
const asked: ScenarioRequest = {
  cluster: 'dgx-h100',
  gpus: 16,
  batch: 2,
  accumulate: 4,
  dimensions: { seq: 512 },
};

const costOf = (parallel: ScenarioRequest['parallel'], request: ScenarioRequest = {}) => {
  const { cost, issues } = estimateModel(opened, [
    { ...request, ...(parallel === undefined ? {} : { parallel }) },
    asked,
  ]);
  if (cost === undefined) throw new Error(issues.map(({ message }) => message).join('\n'));
  return cost;
};

/** The law of degree 1, on the same path as other degrees. */
test.each<FrameworkChoice>([
  { name: 'pytorch-ddp', options: {} },
  { name: 'pytorch-fsdp', options: {} },
  { name: 'deepspeed-zero', options: { stage: '1' } },
  { name: 'megatron', options: { 'distributed-optimizer': 'true' } },
  { name: 'torchtitan', options: {} },
])('tp = pp = 1 costs what a copy on each GPU costs, to the last digit: $name', (framework) => {
  const { training, scenario, cluster, cost } = estimateModel(opened, [{ framework }, asked]);
  if (training === undefined || scenario === undefined || cluster === undefined)
    throw new Error('not costed');
  const parallel = finish(estimateParallelStep(training, scenario, oneWorker, cluster));
  expect(parallel?.totals.time.step).toBe(cost?.totals.time.step);
  expect(parallel?.totals.time.range).toEqual(cost?.totals.time.range);
  expect(parallel?.totals.memory.peak).toBe(cost?.totals.memory.peak);
  expect(parallel?.totals.memory.reserved).toEqual(cost?.totals.memory.reserved);
  expect(parallel?.totals.mfu).toBeCloseTo(cost?.totals.mfu ?? Number.NaN, 12);
  expect(parallel?.totals.throughput).toBe(cost?.totals.throughput);
  expect(parallel?.layers.map(({ time }) => time)).toEqual(cost?.layers.map(({ time }) => time));
});

test.each<ParallelScenario>([
  { ...oneWorker, pipeline: 2 },
  { ...oneWorker, pipeline: 2, tensor: 2 },
])(
  'no more is exposed than is sent, also where messages slow the last backward: $pipeline × $tensor',
  (parallel) => {
    const { time } = costOf(parallel, { framework: { name: 'megatron', options: {} } }).totals;
    expect(time.exposedCommunication).toBeGreaterThan(0);
    expect(time.exposedCommunication).toBeLessThanOrEqual(time.communication ?? Number.NaN);
  },
);

it('degrees of 1 are no parallelism', () => {
  const { parallel, scenario } = costOf({ tensor: 1, pipeline: 1 });
  expect(parallel).toBeUndefined();
  expect(scenario.parallel).toBeUndefined();
});

describe.each<NonNullable<ScenarioRequest['parallel']>>([
  { tensor: 4 },
  { tensor: 4, sequence: true },
  { pipeline: 4 },
  { pipeline: 4, schedule: 'gpipe', stages: 'uniform' },
  { tensor: 2, pipeline: 2, sequence: true },
  { tensor: 4, pipeline: 2 },
  { pipeline: 4, chunks: 2 },
  { tensor: 2, pipeline: 2, chunks: 5, sequence: true, stages: 'uniform' },
  { pipeline: 4, chunks: 5, schedule: 'looped-bfs' },
  { pipeline: 4, schedule: 'zb-h1' },
  { pipeline: 4, chunks: 2, schedule: 'zb-v', tensor: 2, sequence: true },
  { pipeline: 2, chunks: 2, schedule: 'dualpipe-v' },
  { context: 4, contextExchange: 'ring' },
  { tensor: 2, context: 2, pipeline: 2, sequence: true, contextExchange: 'all-gather' },
  { context: 8, contextExchange: 'all-to-all' },
])('%o', (parallel) => {
  const cost = costOf(parallel);

  it('parts of the slowest stage add up to the step', () => {
    const { time } = cost.totals;
    const parts = [
      time.forward,
      time.backward,
      time.exposedCommunication,
      time.update,
      cost.parallel?.bubble ?? 0,
    ];
    const sum = parts.reduce<number>((total, part) => total + (part ?? Number.NaN), 0);
    expect(sum / (time.step ?? Number.NaN)).toBeCloseTo(1, 6);
  });

  it('lies within its range', () => {
    const { step, range } = cost.totals.time;
    expect(range?.low).toBeLessThan(step ?? 0);
    expect(range?.high).toBeGreaterThan(step ?? Number.POSITIVE_INFINITY);
  });

  it('gives each layer to one stage', () => {
    const whole = costOf(undefined);
    expect(cost.layers.map(({ name }) => name)).toEqual(whole.layers.map(({ name }) => name));
  });

  it('the fullest stage is the memory of the step', () => {
    expect(cost.totals.memory.peak).toBe(Math.max(...(cost.parallel?.stages ?? []).map(({ peak }) => peak)));
    const { phase: _, layer: __, ...kinds } = cost.totals.memory.peakAt;
    expect(Object.values(kinds).reduce((total, size) => total + size, 0)).toBeCloseTo(
      cost.totals.memory.peak,
      0,
    );
  });

  it('trains as many samples as its copies take', () => {
    const { throughput, time } = cost.totals;
    const { tensor = 1, context = 1, pipeline = 1 } = parallel;
    const replicas = 16 / (tensor * context * pipeline);
    expect((throughput ?? 0) * (time.step ?? 0)).toBeCloseTo(2 * 4 * replicas, 6);
  });
});

it('parameters of the stages are those of the model', () => {
  const whole = costOf(undefined).layers.reduce((total, { parameters }) => total + parameters, 0);
  const { stages = [] } = costOf({ pipeline: 4 }).parallel ?? {};
  expect(stages.reduce((total, { parameters }) => total + parameters, 0)).toBe(whole);
});

/**
 * 22 blocks of TinyLlama. Uniform: the remainder at the front. torchtitan, `generate_llm_fqn_per_model_part` with the embedding and
 * the head as one block each: 24 on 4 stages are 6 each, less one at both ends; on 5 they are 5 5 5 5 4.
 */
test.each([
  ['uniform', 4, 1, [6, 6, 5, 5]],
  ['torchtitan', 4, 1, [5, 6, 6, 5]],
  ['torchtitan', 5, 1, [4, 5, 5, 5, 3]],
  ['torchtitan', 4, 2, [2, 3, 3, 3, 3, 3, 3, 2]],
  // A stage may have the embedding or the head alone, as the 128 stages of Llama 3 with 126 blocks (arXiv 2407.21783, section 3.3.2).
  ['torchtitan', 13, 1, [1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 0]],
  ['torchtitan', 6, 4, [0, ...Array.from({ length: 22 }, () => 1), 0]],
  [[7, 6, 5, 4], 4, 1, [7, 6, 5, 4]],
  // The last normalization and the head by themselves.
  [[8, 7, 7, 0], 4, 1, [8, 7, 7, 0]],
  [['layers.7', 'layers[13]', 'layers.18'], 4, 1, [7, 6, 5, 4]],
] as const)('%s: %i ranks with %i stages each have %o blocks', (stages, pipeline, chunks, blocks) => {
  const { parallel } = costOf({ pipeline, chunks, stages }, { gpus: 4 * pipeline });
  // Ranks differ in blocks, the embedding and the head: parameters of a block are what a stage between has of each.
  const each = parallel?.stages.map(({ parameters }) => parameters) ?? [];
  const block = (each[1] ?? Number.NaN) / (blocks[1] ?? Number.NaN);
  expect(each.slice(1, -1).map((size) => size / block)).toEqual(blocks.slice(1, -1));
  const ends = [each[0] ?? Number.NaN, each.at(-1) ?? Number.NaN];
  const table = 32000 * 2048;
  expect((ends[0] ?? 0) - table).toBe((blocks[0] ?? 0) * block);
  expect((ends[1] ?? 0) - table - 2048).toBe((blocks.at(-1) ?? 0) * block);
});

it('1F1B keeps fewer micro-batches than GPipe, and the first stage the most', () => {
  const alive = (schedule: ParallelScenario['schedule']) =>
    costOf({ pipeline: 4, schedule }, { accumulate: 8 }).parallel?.stages.map((stage) => stage.alive);
  expect(alive('1f1b')).toEqual([4, 3, 2, 1]);
  expect(alive('gpipe')).toEqual([8, 8, 8, 8]);
});

it('tensor parallelism across nodes is slower than within one', () => {
  const time = (tensor: number) =>
    costOf({ tensor }, { gpus: 32 }).parallel?.tensorCommunication ?? Number.NaN;
  expect(time(16)).toBeGreaterThan(1.5 * time(8));
});

describe('context parallelism', () => {
  const once: ScenarioRequest = { batch: 1, accumulate: 1 };

  it('activations fall as the sequence is shared, and weights stay', () => {
    const [one = Number.NaN, four] = [undefined, { context: 4, contextExchange: 'ring' as const }].map(
      (parallel) => costOf(parallel, once).totals.memory.activations,
    );
    // Masks of positions and constants are whole.
    expect((four ?? Number.NaN) / one).toBeCloseTo(1 / 4, 1);
    expect(costOf({ context: 4 }, once).totals.memory.parameters).toBe(
      costOf(undefined, once).totals.memory.parameters,
    );
  });

  it('gradients are added up over copies and over those that share a sequence', () => {
    const sent = (parallel: ScenarioRequest['parallel']) =>
      costOf(parallel, once).messages?.reduce((total, { bytes }) => total + bytes, 0);
    expect(sent({ context: 4 })).toBe(sent(undefined));
    expect(costOf({ context: 16 }, once).messages?.[0]?.description).toMatch(/16 GPUs/);
  });

  it('a ring hides what attention leaves time for, and all of it is counted', () => {
    const { parallel } = costOf({ context: 4, contextExchange: 'ring' }, once);
    const sends = parallel?.collectives.filter(({ collective }) => collective === 'send') ?? [];
    expect(sends.length).toBeGreaterThan(0);
    for (const { time, whole } of sends) expect(time).toBeLessThanOrEqual(whole * (1 + 1e-9));
    const gathered = costOf({ context: 4, contextExchange: 'all-gather' }, once).parallel;
    expect(parallel?.contextCommunication).toBeLessThan(gathered?.contextCommunication ?? 0);
  });

  it('FSDP shards weights over copies and those that share a sequence', () => {
    const framework: FrameworkChoice = { name: 'pytorch-fsdp', options: {} };
    const weights = (parallel: ScenarioRequest['parallel']) =>
      costOf(parallel, { ...once, framework }).totals.memory.optimizerState;
    expect(weights({ context: 4 })).toBe(weights(undefined));
  });
});

const megatron: FrameworkChoice = { name: 'megatron', options: {} };

/** megatron/training/arguments.py; torchtitan/config/job_config.py. */
it.each<readonly [string, Partial<ParallelScenario>]>([
  ['pytorch-ddp', { sequence: false, gathered: 'keep', contextExchange: 'all-gather', stages: 'balanced' }],
  ['deepspeed-zero', { sequence: false, contextExchange: 'all-to-all' }],
  ['megatron', { sequence: false, gathered: 'again', contextExchange: 'ring', stages: 'uniform' }],
  ['torchtitan', { sequence: true, gathered: 'keep', contextExchange: 'all-gather', stages: 'torchtitan' }],
])('%s lays out in its own way where nobody says', (name, usual) => {
  const { scenario } = costOf({ tensor: 2, pipeline: 2 }, { framework: { name, options: {} } });
  expect(scenario.parallel).toMatchObject(usual);
});

it('a layout that is refused says nothing of the copies that it would have had', () => {
  const { issues } = estimateModel(opened, [
    { cluster: 'dgx-h100', framework: megatron, gpus: 64, globalBatch: 16, parallel: { pipeline: 4 } },
  ]);
  const messages = issues.map(({ message }) => message).join('\n');
  expect(messages).toMatch(/22 layers do not divide by 4 stages/);
  expect(messages).not.toMatch(/without a sample/);
});

it('passes follow from the micro-batch and the batch over all GPUs', () => {
  const { scenario, parallel } = costOf(
    { tensor: 2, pipeline: 2, microBatch: 1 },
    { globalBatch: 64, gpus: 16 },
  );
  expect([scenario.batchPerGpu, scenario.accumulate, parallel?.microBatches, parallel?.replicas]).toEqual([
    1, 16, 16, 4,
  ]);
});

test.each<readonly [ScenarioRequest, RegExp]>([
  [{ gpus: 12, parallel: { tensor: 8 } }, /12 GPUs do not divide into groups of 8/],
  [{ gpus: 32, parallel: { pipeline: 32 } }, /22 blocks, fewer than its 32 pipeline stages/],
  [{ parallel: { tensor: 2 }, mode: 'inference' }, /costed in training/],
  [
    { parallel: { tensor: 2 }, framework: { name: 'mxnet', options: {} } },
    /`mxnet` is not costed with `parallel`/,
  ],
  [{ parallel: { tensor: 2 }, workers: { imbalance: 2 } }, /`workers` is not costed with `parallel`/],
  [{ gpus: 48, parallel: { context: 3 } }, /2048 positions, which do not divide into 6 pieces/],
  [{ gpus: 48, parallel: { context: 3, contextExchange: 'all-to-all' } }, /32 heads do not divide by `cp=3`/],
  [{ parallel: { pipeline: 2, sequence: true } }, /`sp` has no effect without `tp`/],
  [
    { gpus: 32, parallel: { pipeline: 4, chunks: 8 } },
    /22 blocks, fewer than the 32 stages of 4 ranks with 8 each; set `vp` to at most 5, or `pp` to at most 2/,
  ],
  [
    { gpus: 25, parallel: { pipeline: 25, stages: 'torchtitan' } },
    /22 blocks, 24 with the embedding and the head, fewer than its 25 pipeline stages; set `pp` to at most 24/,
  ],
  [
    { parallel: { pipeline: 2, stages: [11, 10] } },
    /`stages` has 21 blocks, and the model has 22; give numbers that add up to 22/,
  ],
  [
    { parallel: { pipeline: 2, stages: [11, 10, 1] } },
    /`stages` is of 3 stages, and the pipeline has 2; give 2 numbers of blocks/,
  ],
  [{ parallel: { tensor: 2, stages: [22] } }, /`stages` has blocks of several stages; set `pp` to as many/],
  [
    { parallel: { pipeline: 2, stages: ['layers.99'] } },
    /the model has no block `layers.99`; a stage may begin at `layers\[1\]` to `layers\[21\]`/,
  ],
  [{ parallel: { tensor: 2, chunks: 2 } }, /`vp` has no effect without `pp`/],
  [{ parallel: { pipeline: 2, chunks: 2, schedule: '1f1b' } }, /`schedule=1f1b` has one stage on each rank/],
  [
    { parallel: { pipeline: 2, chunks: 1, schedule: 'interleaved-1f1b' } },
    /has several stages on each rank; set `vp` to 2 or more/,
  ],
  [
    { accumulate: 9, parallel: { pipeline: 4, chunks: 2 } },
    /9 micro-batches do not divide into 2 like rounds for 4 interleaved pipeline ranks; use a multiple of 4, such as 12/,
  ],
  [{ parallel: { pipeline: 2, microBatch: 2 } }, /`micro-batch` has no effect without a global batch/],
  [
    { parallel: { pipeline: 4 }, framework: megatron },
    /22 layers do not divide by 4 stages; use other `pp` and `vp`, or `stages=balanced`/,
  ],
  [
    { parallel: { pipeline: 2, schedule: 'zb-h1' }, framework: megatron },
    /`megatron` has no schedule `zb-h1`; use `1f1b` or `interleaved-1f1b`/,
  ],
  [
    { parallel: { tensor: 3, stages: 'balanced' }, gpus: 24, framework: megatron },
    /32 heads do not divide by `tp=3`/,
  ],
  [
    { accumulate: 9, parallel: { pipeline: 2, chunks: 11 }, framework: megatron },
    /9 micro-batches do not divide into 5 like rounds for 2 interleaved pipeline ranks; use a multiple of 2, such as 10/,
  ],
  [
    {
      parallel: { pipeline: 2 },
      framework: { name: 'torchtitan', options: { 'reshard-after-forward': 'always' } },
    },
    /gathers every block in each micro-batch of a pipeline, which is not costed; leave it out/,
  ],
])('%o', (request, message) => {
  const { issues } = estimateModel(opened, [request, asked]);
  expect(issues.map((issue) => issue.message).join('\n')).toMatch(message);
});

it('torchtitan without copies computes in fp32 beside tensor parallelism, and says so', () => {
  const messages = (request: ScenarioRequest): string =>
    estimateModel(opened, [{ framework: { name: 'torchtitan', options: {} }, ...request }, asked])
      .issues.map(({ message }) => message)
      .join('\n');
  const said = /computes in fp32 where nothing is sharded/;
  expect(messages({ gpus: 8, parallel: { tensor: 8 } })).toMatch(said);
  expect(messages({ gpus: 8, parallel: { tensor: 8 }, precision: 'fp32' })).not.toMatch(said);
  expect(messages({ gpus: 16, parallel: { tensor: 8 } })).not.toMatch(said);
  expect(messages({ gpus: 8, parallel: { tensor: 4, context: 2 } })).not.toMatch(said);
});

/** Gradients of weights fill bubbles, and nothing else changes: passes take as long, stages are the same. */
it('zb-h1 waits less than 1f1b, and computes as long', () => {
  const [usual, split] = (['1f1b', 'zb-h1'] as const).map((schedule) => costOf({ pipeline: 4, schedule }));
  expect(split?.parallel?.bubble).toBeLessThan(usual?.parallel?.bubble ?? Number.NaN);
  expect(split?.parallel?.stages.map(({ forward, backward }) => [forward, backward])).toEqual(
    usual?.parallel?.stages.map(({ forward, backward }) => [forward, backward]),
  );
  // Each rank keeps as many micro-batches as the first, until its weights have gradients.
  expect(split?.parallel?.stages.map(({ alive }) => alive)).toEqual([4, 4, 4, 4]);
});

test.each([
  [
    { pipeline: 4, schedule: 'dualpipe-v' },
    '4 micro-batches are too few for `schedule=dualpipe-v`, which needs 8',
  ],
  [{ pipeline: 4, schedule: 'zb-v', chunks: 3 }, '`schedule=zb-v` has 2 stages on each rank; set `vp` to 2'],
] as const)('%o is refused', (parallel, message) => {
  const { issues } = estimateModel(opened, [{ parallel }, asked]);
  expect(issues.map((issue) => issue.message).join('\n')).toContain(message);
});
