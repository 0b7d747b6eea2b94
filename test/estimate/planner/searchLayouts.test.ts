/** The search for layouts: what it finds is what a report says, and no layout that it did not try is much better. */

import { describe, expect, it } from 'vitest';
import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import { renderPlan } from '../../../server/src/cli/plan/renderPlan.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { bestOfDegrees } from '../../../server/src/estimate/planner/bestOfDegrees.ts';
import { chooseLayout, type PlanGoal } from '../../../server/src/estimate/planner/chooseLayout.ts';
import { whySlower } from '../../../server/src/estimate/planner/compareLayouts.ts';
import { launcherOptions } from '../../../server/src/estimate/planner/launcherOptions.ts';
import type { LayoutSearch } from '../../../server/src/estimate/planner/layoutCandidate.ts';
import { layoutSearch } from '../../../server/src/estimate/planner/layoutSearch.ts';
import { type PlannedLayout, paretoFront } from '../../../server/src/estimate/planner/paretoFront.ts';
import { type FoundLayouts, searchLayouts } from '../../../server/src/estimate/planner/searchLayouts.ts';
import { checkpoints, type ScenarioRequest } from '../../../server/src/model/scenario.ts';
import { finish } from '../../../server/src/model/steps.ts';
import { bytes } from '../../../server/src/model/units.ts';
import { openGraph } from '../../support/savedActivations.ts';

function planOf(
  path: string,
  asked: ScenarioRequest,
): { readonly search: LayoutSearch; readonly found: FoundLayouts } {
  const opened = openGraph(path);
  const cost = (request: ScenarioRequest) => estimateModel(opened, [{ ...asked, ...request }]).cost;
  const search = layoutSearch(estimateModel(opened, [asked]), asked, cost);
  if (search === undefined || 'problem' in search) throw new Error(search?.problem ?? 'not costed');
  return { search, found: finish(searchLayouts(search)) };
}

describe('TinyLlama on 8 GPUs', () => {
  const asked: ScenarioRequest = {
    cluster: 'dgx-a100',
    gpus: 8,
    globalBatch: 16,
    dimensions: { seq: 2048 },
  };
  const { search, found } = planOf('samples/tinyllama.layers.yaml', asked);
  const [best] = found.fitting;

  it('the fastest comes first, and each may fit', () => {
    expect(found.fitting.length).toBeGreaterThan(10);
    const steps = found.fitting.map(({ step }) => step);
    expect(steps).toEqual(steps.toSorted((one, other) => one - other));
    expect(found.fitting.filter(({ cost }) => cost.fits === 'no')).toEqual([]);
  });

  it('each layout uses all GPUs, and a step has all samples', () => {
    for (const { tensor, pipeline, replicas, microBatch, passes, cost, step } of found.fitting) {
      expect(tensor * pipeline * replicas).toBe(8);
      expect(microBatch * passes * replicas).toBe(16);
      expect((cost.totals.throughput ?? 0) * step).toBeCloseTo(16, 9);
    }
  });

  it('the first line is what a report of that layout says', () => {
    const opened = openGraph('samples/tinyllama.layers.yaml');
    const { cost } = estimateModel(opened, [{ ...asked, ...best?.request }]);
    expect(cost?.totals.time.step).toBe(best?.step);
    expect(cost?.totals.memory.peak).toBe(best?.cost.totals.memory.peak);
  });

  /** What layouts share while they are searched must change no digit of any. */
  it('each line is what a report of that layout alone says', () => {
    const lines = bestOfDegrees(found.fitting);
    expect(new Set(lines.map(({ framework }) => framework.name)).size).toBeGreaterThan(1);
    for (const line of lines) {
      const opened = openGraph('samples/tinyllama.layers.yaml');
      const { cost } = estimateModel(opened, [{ ...asked, ...line.request }]);
      expect(cost?.totals.time.step).toBe(line.step);
      expect(cost?.totals.time.range).toEqual(line.cost.totals.time.range);
      expect(cost?.totals.memory.peak).toBe(line.cost.totals.memory.peak);
      expect(line.cost.mayFit).toBe(cost?.fits !== 'no');
    }
  });

  it('a runner-up has a reason, and the best has none', () => {
    const [first, ...others] = bestOfDegrees(found.fitting);
    if (first === undefined) throw new Error('nothing fits');
    for (const other of others) expect(whySlower(other, first)).toMatch(/^\+.+ of /);
    expect(whySlower(first, first)).toBe('');
  });

  it('says the best in the words of launchers', () => {
    const layout = found.fitting.find(
      ({ tensor, pipeline, schedule }) => tensor === 2 && pipeline === 2 && schedule === '1f1b',
    );
    if (layout === undefined) throw new Error('no such layout');
    const texts = new Map(launcherOptions(layout).map(({ launcher, text }) => [launcher, text]));
    expect(texts.get('Megatron-LM')).toContain(
      '--tensor-model-parallel-size 2 --sequence-parallel --pipeline-model-parallel-size 2',
    );
    expect(texts.get('layercost report')).toContain('tp=2,sp,pp=2');
  });

  describe('goals, of layouts on 8 and 16 GPUs', () => {
    const [any] = found.fitting;
    if (any === undefined) throw new Error('nothing fits');
    const planned = (gpus: number, step: number, gib: number, tensor = 1): PlannedLayout => {
      const { cost } = any;
      const memory = { ...cost.totals.memory, peak: bytes(gib * 2 ** 30) };
      // A run of 16,000 samples has 1,000 steps.
      const scenario = { ...cost.scenario, run: { samples: 16_000, epochs: 1 } };
      return {
        gpus,
        layout: {
          ...any,
          tensor,
          step,
          cost: { ...cost, fits: 'yes', scenario, totals: { ...cost.totals, memory } },
        },
      };
    };
    const layouts = [planned(16, 6, 20), planned(8, 10, 40), planned(8, 11, 50, 2), planned(8, 12, 30, 4)];

    it('the front leaves out what another beats in time, GPUs and memory', () => {
      expect(paretoFront(layouts).map(({ gpus, layout }) => [gpus, layout.step])).toEqual([
        [16, 6],
        [8, 10],
        [8, 12],
      ]);
    });

    it.each<readonly [PlanGoal, number | undefined, number, number, string]>([
      ['fastest', undefined, 16, 6, ' takes 4.00 s longer a step and 17 % fewer GPU-hours.'],
      ['cheapest', undefined, 8, 10, ' takes 1.00 s longer a step'],
      ['cheapest', 9_000, 16, 6, ' would be better, and ends 16.7 min too late.'],
      ['fewest', undefined, 8, 10, ' takes 1.00 s longer a step'],
    ])('%s within %s seconds', (goal, deadline, gpus, step, why) => {
      const result = chooseLayout(layouts, goal, deadline);
      if ('problem' in result) throw new Error(result.problem);
      expect([result.chosen.gpus, result.chosen.layout.step]).toEqual([gpus, step]);
      expect(result.why).toContain(why);
    });

    it('says by how much the next differs on another number of GPUs', () => {
      const choose = (goal: PlanGoal, ...some: readonly PlannedLayout[]) => {
        const result = chooseLayout(some, goal);
        return 'problem' in result ? result.problem : result.why;
      };
      const [slow, fast] = [planned(8, 12, 30), planned(16, 10, 30, 2)];
      expect(choose('fewest', slow, fast)).toMatch(/takes 2\.00 s less a step and 67 % more GPU-hours\.$/);
      expect(choose('fastest', slow, fast)).toMatch(
        /takes 2\.00 s longer a step and 40 % fewer GPU-hours\.$/,
      );
    });

    it('says that none ends in time', () => {
      expect(chooseLayout(layouts, 'cheapest', 3600)).toEqual({
        problem: 'No layout ends within 1.00 h: the fastest takes 1.67 h; use more GPUs, or a later deadline',
      });
    });
  });

  it('a table has a line for each pair of degrees', () => {
    const text = renderPlan([{ gpus: 8, search, found }], 'table', 3);
    expect(text).toContain('8 GPUs, 16 samples of 2,048 tokens a step');
    expect(text.split('\n').filter((line) => /^[123] /.test(line))).toHaveLength(3);
    expect(JSON.parse(renderPlan([{ gpus: 8, search, found }], 'json', 3))[0].layouts).toHaveLength(3);
    expect(text).not.toMatch(/[≥≤]|lower bounds/);
  });

  it('where parts of a model are unknown, what is printed is a bound and says so', () => {
    const fitting = found.fitting.map((layout) => {
      const { totals } = layout.cost;
      const time = { ...totals.time, exact: false };
      return { ...layout, cost: { ...layout.cost, totals: { ...totals, exact: false, time } } };
    });
    const text = renderPlan([{ gpus: 8, search, found: { ...found, fitting } }], 'table', 3);
    expect(text).toContain('Parts of the model are unknown: times and memory are lower bounds');
    const lines = text.split('\n').filter((line) => /^[123] /.test(line));
    expect(lines).toHaveLength(3);
    for (const line of lines) expect(line).toMatch(/≥ [\d.,]+ m?s .*≤ [\d,]+ tokens/);
    expect(text).toMatch(/Fastest: .* ≥ [\d.,]+ m?s a step/);
  });
});

it('no layout of all there are is over 2 % faster', () => {
  const asked: ScenarioRequest = { cluster: 'g4dn-12xlarge', gpus: 4, globalBatch: 16 };
  const { search, found } = planOf('samples/gpt2.layers.yaml', asked);
  let fastest = Number.POSITIVE_INFINITY;
  for (const tensor of [1, 2, 4])
    for (const pipeline of [1, 2, 4].filter((degree) => tensor * degree <= 4))
      for (const microBatch of [1, 2, 4, 8, 16])
        for (const checkpoint of ['none', 'block'] as const)
          for (const framework of [
            { name: 'pytorch-ddp', options: {} },
            { name: 'deepspeed-zero', options: { stage: '1' } },
          ]) {
            const replicas = 4 / (tensor * pipeline);
            if ((16 / replicas) % microBatch !== 0) continue;
            const cost = search.cost({
              gpus: 4,
              globalBatch: 16,
              checkpoint,
              framework,
              parallel: { tensor, pipeline, sequence: tensor > 1, microBatch },
            });
            if (cost !== undefined && cost.fits !== 'no')
              fastest = Math.min(fastest, cost.totals.time.step ?? fastest);
          }
  expect(Number.isFinite(fastest)).toBe(true);
  expect(found.fitting[0]?.step ?? Number.POSITIVE_INFINITY).toBeLessThan(fastest * 1.02);
});

/** 14 billion weights: sharded they fit a GPU for each copy, whole they take eight. */
describe('a deep model whose weights fit no GPU', () => {
  const text = `dims: { batch: 1, seq: 2048, d: 6144 }
inputs:
  tokens: int64[batch, seq]
blocks:
  decoder:
    - norm: RMSNorm(d)
    - attn: MultiheadAttention(d, 48, causal=True)
    - res_1: add(attn, input)
    - up: Linear(d, 24576)
    - act: GELU()
    - down: Linear(24576, d)
    - res_2: add(down, res_1)
layers:
  - embed: Embedding(32000, d)
  - h: decoder() * 32
  - head: Linear(d, 32000)
`;
  const asked: ScenarioRequest = { cluster: 'p4d-24xlarge', gpus: 64, globalBatch: 256, precision: 'bf16' };
  const opened = openLayerSpec(text, 'deep.layers.yaml');
  const cost = (request: ScenarioRequest) => estimateModel(opened, [{ ...asked, ...request }]).cost;
  const search = layoutSearch(estimateModel(opened, [asked]), asked, cost);
  if (search === undefined || 'problem' in search) throw new Error('not costed');
  const found = finish(searchLayouts(search));

  it('has pipelines with more GPUs of a copy than eight times those that shards need', () => {
    expect(found.fitting.some(({ framework }) => framework.name === 'pytorch-fsdp')).toBe(true);
    expect(found.fitting.some(({ tensor, pipeline }) => tensor * pipeline > 8)).toBe(true);
  });

  it('no interleaved pipeline is faster than the layout that is chosen', () => {
    const [best] = found.fitting;
    for (const [tensor, pipeline] of [
      [2, 4],
      [4, 2],
      [4, 4],
      [8, 2],
    ] as const) {
      const layout = { tensor, pipeline, sequence: true, microBatch: 1, chunks: 2 } as const;
      const each = cost({
        framework: { name: 'deepspeed-zero', options: { stage: '1' } },
        checkpoint: 'none',
        parallel: { ...layout, schedule: 'interleaved-1f1b' },
      });
      if (each === undefined || each.fits === 'no') continue;
      expect(each.totals.time.step ?? 0).toBeGreaterThanOrEqual(best?.step ?? Number.POSITIVE_INFINITY);
    }
  });
});

it('what a person asks for is kept', () => {
  const { found } = planOf('samples/tinyllama.layers.yaml', {
    cluster: 'dgx-a100',
    gpus: 4,
    globalBatch: 8,
    dimensions: { seq: 2048 },
    framework: { name: 'pytorch-fsdp', options: {} },
    checkpoint: 'block',
  });
  expect(found.fitting.length).toBeGreaterThan(0);
  for (const { framework, checkpoint } of found.fitting)
    expect([framework.name, checkpoint]).toEqual(['pytorch-fsdp', 'block']);
});

it('a model without blocks is not cut, and one that fits nowhere says so', () => {
  const alexnet = planOf('samples/alexnet.layers.yaml', { cluster: 'dgx-1-v100', gpus: 8, globalBatch: 512 });
  expect(alexnet.found.fitting.every(({ pipeline }) => pipeline === 1)).toBe(true);
  expect(alexnet.found.fitting[0]).toMatchObject({ tensor: 1, pipeline: 1, replicas: 8 });
  const mixtral = planOf('samples/more/mixtral-8x7b.layers.yaml', { cluster: 't4', gpus: 1, globalBatch: 1 });
  expect(mixtral.found.fitting).toEqual([]);
  expect(renderPlan([{ gpus: 1, ...mixtral }], 'table', 3)).toContain(
    'no layout fits, of 1 costed. Use more GPUs',
  );
});

describe('a model that fixes its batch at 4', () => {
  const planned = (last: string, globalBatch: number) => {
    const opened = openLayerSpec(
      `inputs: { x: "float32[4, 1024]" }\nlayers:\n  - l: Linear(1024, 1024)\n  - last: ${last}\n`,
      'fixed',
    );
    const asked: ScenarioRequest = { cluster: 'dgx-h100', gpus: 8, globalBatch, framework: ddp };
    const cost = (request: ScenarioRequest) => estimateModel(opened, [{ ...asked, ...request }]).cost;
    const search = layoutSearch(estimateModel(opened, [asked]), asked, cost);
    if (search === undefined || 'problem' in search) throw new Error('not searched');
    return { search, found: finish(searchLayouts(search)) };
  };
  const ddp = { name: 'pytorch-ddp', options: {} };
  const sizes = ({ found }: { readonly found: FoundLayouts }): ReadonlySet<number> =>
    new Set(found.fitting.map(({ microBatch }) => microBatch));

  it('is planned with every micro-batch where its batch can be opened', () => {
    expect(sizes(planned('ReLU()', 64)).has(1)).toBe(true);
    expect(sizes(planned('ReLU()', 64)).has(8)).toBe(true);
  });

  it('is planned with its own where it cannot', () => {
    expect(sizes(planned('permute(l, 1, 0)', 64))).toEqual(new Set([4]));
  });

  it('says so where no copy has as many samples', () => {
    const none = planned('permute(l, 1, 0)', 6);
    expect(renderPlan([{ gpus: 8, ...none }], 'table', 3)).toContain(
      'no layout can be costed. The file fixes its batch at 4:',
    );
  });
});

it('the ways to checkpoint that are tried are ways there are', () => {
  for (const name of ['none', 'selective', 'attention', 'alternate', 'block'])
    expect(checkpoints).toContain(name);
});

/** Three matrices of 512 × 4,096 in each of 64 experts of 8 blocks: 3.2 billion weights, most of them of experts. */
it('experts are divided where a model has them, and a report of the layout says the same', () => {
  const opened = openLayerSpec(
    `dims: { batch: 1, seq: 1024, d: 512 }
inputs:
  tokens: int64[batch, seq]
blocks:
  decoder:
    - norm: RMSNorm(d)
    - experts: MixtureOfExperts(d, 4096, num_experts=64, top_k=2, gated=True)
    - res: add(experts, input)
layers:
  - embed: Embedding(1000, d)
  - h: decoder() * 8
  - head: Linear(d, 1000)
`,
    'experts.layers.yaml',
  );
  const asked: ScenarioRequest = { cluster: 'dgx-h100', gpus: 8, globalBatch: 64, precision: 'bf16' };
  const cost = (request: ScenarioRequest) => estimateModel(opened, [{ ...asked, ...request }]).cost;
  const search = layoutSearch(estimateModel(opened, [asked]), asked, cost);
  if (search === undefined || 'problem' in search) throw new Error('not costed');
  const found = finish(searchLayouts(search));
  const [best] = found.fitting;
  if (best === undefined) throw new Error('nothing fits');
  expect(best.expert).toBeGreaterThan(1);
  expect(cost(best.request)?.totals.time.step).toBe(best.step);
  expect(best.cost.scenario.parallel?.expert).toBe(best.expert);
  const texts = new Map(launcherOptions(best).map(({ launcher, text }) => [launcher, text]));
  expect(texts.get('layercost report')).toContain(`ep=${best.expert}`);
});

/** Widths and depths of language models that cost little to search whole. */
const small = (block: string): string => `dims: { batch: 1, seq: 1024, d: 1024 }
inputs:
  tokens: int64[batch, seq]
blocks:
  decoder:
${block}
layers:
  - embed: Embedding(32000, d)
  - h: decoder() * 8
  - head: Linear(d, 32000)
`;
const dense = small(`    - norm: RMSNorm(d)
    - attn: MultiheadAttention(d, 16, causal=True)
    - res_1: add(attn, input)
    - up: Linear(d, 4096)
    - act: GELU()
    - down: Linear(4096, d)
    - res_2: add(down, res_1)`);
const experts = small(`    - norm: RMSNorm(d)
    - experts: MixtureOfExperts(d, 2048, num_experts=8, top_k=2, gated=True)
    - res: add(experts, input)`);

describe.each<readonly [string, string, ScenarioRequest]>([
  ['dense', dense, { cluster: 'dgx-a100', gpus: 8, globalBatch: 64 }],
  ['dense', dense, { cluster: 'g4dn-12xlarge', gpus: 16, globalBatch: 64 }],
  ['dense', dense, { cluster: 'dgx-h100', gpus: 64, globalBatch: 64 }],
  ['experts', experts, { cluster: 'dgx-h100', gpus: 16, globalBatch: 32 }],
])('what is not costed of the model that is %s', (_, text, asked) => {
  const opened = openLayerSpec(text, 'small.layers.yaml');
  const cost = (request: ScenarioRequest) => estimateModel(opened, [{ ...asked, ...request }]).cost;
  const search = layoutSearch(estimateModel(opened, [asked]), asked, cost);
  if (search === undefined || 'problem' in search) throw new Error('not costed');
  const found = finish(searchLayouts(search));
  const all = finish(searchLayouts({ ...search, top: Number.MAX_SAFE_INTEGER }));

  it(`on ${asked.gpus} of ${asked.cluster} is neither chosen, listed nor on the front`, () => {
    expect(all.costed).toBeGreaterThanOrEqual(found.costed);
    const lines = bestOfDegrees(found.fitting).slice(0, 8);
    const last = lines.at(-1)?.step ?? 0;
    const fastest = found.fitting[0]?.step ?? 0;
    const within = (step: number): boolean => step <= Math.min(last, 1.3 * fastest);
    const listed = (layouts: FoundLayouts) =>
      bestOfDegrees(layouts.fitting).flatMap(({ step, request }) =>
        within(step) ? [{ step, request }] : [],
      );
    expect(listed(found)).toEqual(listed(all));
    const front = ({ fitting }: FoundLayouts) =>
      paretoFront(fitting.map((layout) => ({ gpus: search.gpus, layout }))).flatMap(({ layout }) =>
        within(layout.step) ? [layout.request] : [],
      );
    expect(front(found)).toEqual(front(all));
  });
});

describe('what is not costed', () => {
  const asked: ScenarioRequest = {
    cluster: 'dgx-a100',
    gpus: 8,
    globalBatch: 64,
    dimensions: { seq: 2048 },
    framework: { name: 'pytorch-ddp', options: {} },
    checkpoint: 'none',
  };
  const { search, found } = planOf('samples/tinyllama.layers.yaml', asked);

  it('could not have been listed first', () => {
    const all = finish(searchLayouts({ ...search, top: Number.MAX_SAFE_INTEGER }));
    expect(all.fitting[0]?.step).toBe(found.fitting[0]?.step);
    const listed = (layouts: FoundLayouts) => bestOfDegrees(layouts.fitting).slice(0, 3);
    expect(listed(all).map(({ step }) => step)).toEqual(listed(found).map(({ step }) => step));
  });

  it('other schedules are tried for the fastest pipelines', () => {
    const pipelined = found.fitting.filter(({ pipeline }) => pipeline > 1);
    if (pipelined.length === 0) return;
    expect(new Set(found.fitting.map(({ schedule }) => schedule)).size).toBeGreaterThan(1);
  });
});
