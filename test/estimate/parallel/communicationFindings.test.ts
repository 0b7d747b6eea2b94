/** What is said of collectives of layers and of sequences, and of heads that are too few: by times that are given. */

import { describe, expect, test } from 'vitest';
import type { LaidOutStep } from '../../../server/src/estimate/parallel/laidOutStep.ts';
import { layoutFindings } from '../../../server/src/estimate/parallel/layoutFindings.ts';
import { changed, fits, timeOf } from '../../../server/src/estimate/parallel/otherLayouts.ts';
import type { ParallelScenario, ScenarioRequest } from '../../../server/src/model/scenario.ts';
import { bytes } from '../../../server/src/model/units.ts';
import { exchanging, laidOutStep, withThresholds } from '../../support/laidOutStep.ts';

const spec = (keyHeads: number): string => `
dims: { batch: 1, seq: 256, d: 512 }
inputs: { x: "float32[batch, seq, d]" }
blocks:
  block:
    - norm: RMSNorm(d)
    - attn: MultiheadAttention(d, 8, bias=False, num_kv_heads=${keyHeads}, causal=True)
    - res: add(attn, input)
    - up: Linear(2048)
    - act: GELU()
    - down: Linear(d)
    - out: add(down, res)
layers:
  - h: block() * 4
`;
const asked: ScenarioRequest = { cluster: 'dgx-h100', gpus: 16, accumulate: 4, precision: 'bf16' };
const laidOut = (
  parallel: NonNullable<ScenarioRequest['parallel']>,
  request: ScenarioRequest = {},
  keyHeads = 8,
): LaidOutStep => laidOutStep(spec(keyHeads), { ...asked, ...request, parallel });

const found = (step: LaidOutStep, code: string, exact = true) =>
  layoutFindings(step, exact).find((each) => each.code === `findings/${code}`);

/** The fastest of other layouts that fits and takes less than a second. */
const fastest = (step: LaidOutStep, layouts: readonly Partial<ParallelScenario>[]): LaidOutStep => {
  const others = layouts
    .flatMap((layout) => changed(step, layout) ?? [])
    .filter((after) => fits(after) && after.times.step < 1)
    .toSorted((one, other) => one.times.step - other.times.step);
  return others[0] ?? expect.fail('none is faster');
};

describe.each([
  ['tensor', 'tensor-communication', { tensor: 4 }, { tensor: 16 }, 'Collectives of tensor parallelism take'],
  [
    'context',
    'context-communication',
    { context: 4, contextExchange: 'all-gather' },
    { context: 16, contextExchange: 'all-gather' },
    'Collectives of context parallelism (all-gather) take',
  ],
] as const)('collectives of the %s axis', (axis, code, parallel, wide, what) => {
  const step = laidOut(parallel);
  /** Of a step of one second with four passes. */
  const waiting = (inPass: number, of = step, time = 1) =>
    found(exchanging(of, axis, { time, inPass }), code);

  test('are said with the share and the time of all passes', () => {
    expect(waiting(0.125)).toMatchObject({
      severity: 'warning',
      layer: '',
      message: `${what} 50 % of the step (500 ms), and nothing computes meanwhile`,
    });
  });

  test('say so where a group spans nodes', () => {
    expect(waiting(0.125, laidOut(wide))?.message).toBe(
      `${what} 50 % of the step (500 ms), and nothing computes meanwhile. The 16 GPUs of a group lie on 2 nodes of 8`,
    );
  });

  test('that a person allows are none, and unknown work may hide them', () => {
    const allowed = withThresholds(step, { [code]: 0.4 });
    expect(waiting(0.0999, allowed)).toBeUndefined();
    expect(waiting(0.1, allowed)).toBeDefined();
    expect(found(exchanging(step, axis, { time: 1, inPass: 0.2 }), code, false)).toBeUndefined();
  });

  test('where no other layout is faster, or fits, want faster links', () => {
    const none =
      /^No smaller group that fits in memory is faster.*: use faster links between the GPUs of a group$/;
    expect(waiting(0.1e-9, step, 1e-9)?.fix).toMatch(none);
    const memory = { ...step.cluster.gpu.memory, value: bytes(1e6) };
    const small = { ...step, cluster: { ...step.cluster, gpu: { ...step.cluster.gpu, memory } } };
    expect(waiting(0.125, small)?.fix).toMatch(none);
  });
});

describe('advice', () => {
  test('on tensor parallelism is the fastest of a half and a quarter, with copies or stages for the rest', () => {
    const step = exchanging(laidOut({ tensor: 4 }), 'tensor', { time: 1, inPass: 0.125 });
    const best = fastest(step, [
      { tensor: 2 },
      { tensor: 2, pipeline: 2 },
      { tensor: 1 },
      { tensor: 1, pipeline: 4 },
    ]);
    const { tensor, pipeline } = best.parallel;
    const degrees = pipeline === 1 ? `tp=${tensor}` : `tp=${tensor},pp=${pipeline}`;
    expect(found(step, 'tensor-communication')?.fix).toBe(
      `Use \`${degrees}\`, which takes ${timeOf(best)} a step of as many samples instead of 1.00 s`,
    );
  });

  test('on context parallelism is the fastest of other exchanges, a half, and none', () => {
    const framework = { name: 'megatron', options: {} };
    const text = ({ parallel: { context, contextExchange } }: LaidOutStep, of: LaidOutStep): string =>
      contextExchange !== of.parallel.contextExchange
        ? `Use \`cp-comm=${contextExchange}\``
        : context === 1
          ? 'Leave `cp` out'
          : `Use \`cp=${context}\``;
    for (const contextExchange of ['all-gather', 'all-to-all', 'ring'] as const) {
      const own = laidOut({ context: 4, contextExchange }, { framework });
      const step = exchanging(own, 'context', { time: 1, inPass: 0.125 });
      const others = (['ring', 'all-gather', 'all-to-all'] as const).filter(
        (each) => each !== contextExchange,
      );
      const best = fastest(step, [
        ...others.map((other) => ({ contextExchange: other })),
        { context: 2 },
        { context: 1 },
      ]);
      const finding = found(step, 'context-communication');
      expect(finding?.fix).toBe(
        `${text(best, own)}, which takes ${timeOf(best)} a step of as many samples instead of 1.00 s`,
      );
      expect(finding?.message.split(' 50 %')[0]).toBe(
        contextExchange === 'ring'
          ? 'Attention hides only a part of what the ring sends: the rest takes'
          : `Collectives of context parallelism (${contextExchange}) take`,
      );
    }
  });

  test('of a ring of two is to leave it, or to exchange otherwise', () => {
    const step = exchanging(laidOut({ context: 2, contextExchange: 'ring' }), 'context', {
      time: 1,
      inPass: 0.2,
    });
    const best = fastest(step, [
      { contextExchange: 'all-gather' },
      { contextExchange: 'all-to-all' },
      { context: 1 },
    ]);
    expect(found(step, 'context-communication')?.fix).toContain(`which takes ${timeOf(best)} a step`);
  });
});

describe('heads of keys and values', () => {
  const framework = { name: 'megatron', options: {} };
  const few = laidOut({ tensor: 8 }, { framework }, 2);
  const said = (step: LaidOutStep) => found(step, 'replicated-heads');

  test('that are fewer than GPUs are shared, for gathers that take so much of the step', () => {
    const { operators } = few.plan.stages[0]?.plan.training.analysis.graph ?? expect.fail('no stage');
    // One second of four passes, in each of which gathers of attention wait for 25 ms.
    const isGather = ({ axis, operator }: { axis: string; operator: number }) =>
      axis === 'tensor' && operators[operator]?.type === 'Attention';
    const step = exchanging(few, 'tensor', { time: 1, inPass: 0 });
    let first = true;
    const stages = step.plan.stages.map((stage) => ({
      ...stage,
      collectives: stage.collectives.map((each) => {
        if (!isGather(each)) return each;
        const time = first ? 0.025 : 0;
        first = false;
        return { ...each, time: time as typeof each.time };
      }),
    }));
    expect(first).toBe(false);
    const finding = said({ ...step, plan: { ...step.plan, stages } });
    expect(finding).toMatchObject({
      severity: 'information',
      layer: '',
      message:
        'K/V heads replicated: the 8 GPUs of a group share 2 heads of keys and values, 4 GPUs each. Queries, keys and values are gathered for it, which takes 10 % of the step (100 ms)',
    });
  });

  test('advice is a group of as many GPUs as heads, where that is faster', () => {
    const after = changed(few, { tensor: 2 }) ?? expect.fail('not laid out');
    const lasting = (time: number) => said({ ...few, times: { ...few.times, step: time } })?.fix;
    expect(lasting(2 * after.times.step)).toContain(
      `Use \`tp=2\`, which takes ${timeOf(after)} a step of as many samples instead of `,
    );
    const none =
      'No layout with `tp=2` that fits is faster: leave it, or use a model with more heads of keys and values';
    expect(lasting(after.times.step)).toBe(none);
    expect(lasting(after.times.step / 2)).toBe(none);
  });

  test.each<[string, LaidOutStep]>([
    ['as many as GPUs', laidOut({ tensor: 2 }, { framework }, 2)],
    ['more', laidOut({ tensor: 2 }, { framework }, 8)],
    ['fewer, in a framework that shares none', laidOut({ tensor: 8 }, {}, 2)],
  ])('%s: nothing is replicated', (_, step) => {
    expect(said(step)).toBeUndefined();
  });

  test('where costs are unknown nothing is said of times', () => {
    expect(found(few, 'replicated-heads', false)).toBeUndefined();
  });
});

describe('layers that each GPU computes whole', () => {
  const whole = (step: LaidOutStep) => found(step, 'unsplit-layers');
  // Eight heads do not divide by sixteen, the feed-forward network does.
  const sixteen = laidOut({ tensor: 16 });

  test('are named, with the degree that splits them', () => {
    const finding = whole(sixteen);
    expect(finding).toMatchObject({ severity: 'information', layer: 'h[0].attn' });
    expect(finding?.message).toMatch(
      /^\d+ % of the FLOPs of forward are computed whole by each of the 16 GPUs of a group\. These are `h\[0\]\.attn` \(.+\), and 3 more\. 8 heads of keys and values do not divide by 16, so that attention stays whole$/,
    );
    expect(finding?.fix).toBe('Use `tp=8`, which splits them, or sizes that divide by 16');
  });

  test('that no half or quarter splits want other sizes', () => {
    const three = laidOut({ tensor: 3 }, { gpus: 3 });
    expect(whole(three)?.fix).toBe(
      'Choose sizes that divide by the degree: heads, channels, or classes that are padded',
    );
  });

  test('below the threshold are none', () => {
    expect(whole(laidOut({ tensor: 8 }))).toBeUndefined();
    expect(whole(withThresholds(sixteen, { 'unsplit-layers': 1 }))).toBeUndefined();
  });

  test('are said where costs are unknown too', () => {
    expect(found(sixteen, 'unsplit-layers', false)).toEqual(whole(sixteen));
  });
});
