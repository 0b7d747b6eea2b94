/** The plan of a stage: its kernels, what they wait for, and for whom it is found once. */

import { describe, expect, test } from 'vitest';
import type { LaidOutStep } from '../../../server/src/estimate/parallel/laidOutStep.ts';
import {
  launchesOfCall,
  type PlannedStage,
  planStage,
  type StageWorkers,
  wholeTimes,
} from '../../../server/src/estimate/parallel/plannedStage.ts';
import type { FrameworkBehaviour } from '../../../server/src/frameworks/behaviour.ts';
import type { ScenarioRequest } from '../../../server/src/model/scenario.ts';
import { finish } from '../../../server/src/model/steps.ts';
import { sumOf } from '../../../server/src/model/sumOf.ts';
import { seconds } from '../../../server/src/model/units.ts';
import { laidOutStep } from '../../support/laidOutStep.ts';

const spec = `
inputs: { x: "float32[batch, 128, 256]" }
layers:
  - h: TransformerEncoderLayer(256, 4, dim_feedforward=1024, batch_first=True) * 4
`;
const asked: ScenarioRequest = { cluster: 'dgx-h100', gpus: 8, batch: 4, accumulate: 4, precision: 'bf16' };
const laidOut = (
  parallel: NonNullable<ScenarioRequest['parallel']>,
  request: ScenarioRequest = {},
  of = spec,
) => laidOutStep(of, { ...asked, ...request, parallel });

/** Who computes a stage of a step that is laid out. */
const workersOf = ({ plan, parallel, cluster }: LaidOutStep): StageWorkers => {
  const { tensor, context, sequence, expertImbalance } = parallel;
  const { tensorGroup, contextGroup, expertGroup } = plan.layout;
  return {
    scenario: plan.stages[0]?.plan.scenario ?? expect.fail('no stage'),
    cluster,
    shares: { tensor, context, sequence, expertImbalance },
    groups: { tensor: tensorGroup, context: contextGroup, expert: expertGroup },
  };
};
const planned = ({ plan }: LaidOutStep, workers: StageWorkers, begin = 0, end?: number): PlannedStage =>
  finish(planStage(plan.sharded, { begin, end: end ?? plan.sharded.training.costs.length }, workers));

const byTwo = laidOut({ tensor: 2 });

describe('collectives', () => {
  test('of a whole model stand on its operators, and these wait for them', () => {
    const { collectives, kernels, plan } = planned(byTwo, workersOf(byTwo));
    expect(collectives).toHaveLength(byTwo.plan.sharded.collectives.length);
    for (const pass of ['forward', 'backward'] as const) {
      const waiting = collectives.reduce((total, each) => total + (each.pass === pass ? each.time : 0), 0);
      expect(waiting).toBeGreaterThan(0);
      const added = sumOf(plan.times[pass].middle) - sumOf(kernels[pass].middle);
      expect(added / waiting).toBeCloseTo(1, 9);
    }
  });

  test('of a stage are those of its operators, counted from its first', () => {
    const { collectives: all } = byTwo.plan.sharded;
    const { length } = byTwo.plan.sharded.training.costs;
    const half = Math.floor(length / 2);
    const front = planned(byTwo, workersOf(byTwo), 0, half);
    const back = planned(byTwo, workersOf(byTwo), half, length);
    const at = (stage: PlannedStage, begin: number) =>
      stage.collectives.map(({ operator, pass }) => [operator + begin, pass]);
    expect([...at(front, 0), ...at(back, half)]).toEqual(all.map(({ operator, pass }) => [operator, pass]));
    expect(front.collectives.length).toBeGreaterThan(0);
    expect(back.collectives.every(({ operator }) => operator < length - half)).toBe(true);
    expect(back.plan.training.costs).toHaveLength(length - half);
  });

  test('of forward are sent again where backward computes it again', () => {
    const plain = planned(byTwo, workersOf(byTwo));
    const checkpointed = laidOut({ tensor: 2 }, { checkpoint: 'block' });
    const again = planned(checkpointed, workersOf(checkpointed));
    const count = (stage: PlannedStage, pass: string) =>
      stage.collectives.filter((each) => each.pass === pass).length;
    const forward = count(plain, 'forward');
    expect(count(again, 'forward')).toBe(forward);
    const recomputed = again.collectives.filter(
      ({ pass, operator }) =>
        pass === 'forward' && again.plan.lowered.operators[operator]?.recomputed !== undefined,
    );
    expect(recomputed.length).toBeGreaterThan(0);
    expect(count(again, 'backward')).toBe(count(plain, 'backward') + recomputed.length);
    // Behind the others, each as long as it was.
    expect(again.collectives.slice(-recomputed.length)).toEqual(
      recomputed.map((each) => ({ ...each, pass: 'backward' })),
    );
  });

  test('are none of GPUs that share no layer: kernels are all there is', () => {
    const piped = laidOut({ pipeline: 2 });
    const { collectives, kernels, plan } = planned(piped, workersOf(piped));
    expect(collectives).toEqual([]);
    expect(plan.times).toBe(kernels);
  });

  test('are launched by the host, for as many launches as a call of them takes', () => {
    const plain = planned(byTwo, workersOf(byTwo));
    const launches = ({ plan, kernels }: PlannedStage): number =>
      sumOf(plan.times.forward.launches) - sumOf(kernels.forward.launches);
    const calls = byTwo.plan.sharded.collectives
      .filter(({ pass }) => pass === 'forward')
      .reduce((total, { times = 1 }) => total + times, 0);
    const each = launchesOfCall(plain.plan.behaviour);
    expect(launches(plain)).toBeCloseTo(calls * each, 9);
    expect(each).toBeGreaterThan(0);
  });
});

test.each([
  ['nothing is said of calls', undefined, 1],
  ['a call is as long as a launch', 5e-6, 1],
  ['it is as long as four', 20e-6, 4],
])('launches of a collective where %s', (__, call, launches) => {
  const launch = { middle: seconds(5e-6), low: seconds(4e-6), high: seconds(6e-6) };
  const { collectiveCall: _, ...own } = byTwo.plan.stages[0]?.plan.behaviour ?? expect.fail('no stage');
  const behaviour: FrameworkBehaviour = {
    ...own,
    launch,
    ...(call === undefined ? {} : { collectiveCall: seconds(call) }),
  };
  expect(launchesOfCall(behaviour)).toBeCloseTo(launches, 9);
});

describe('a stage is planned once', () => {
  const workers = workersOf(byTwo);
  const { length } = byTwo.plan.sharded.training.costs;
  const first = planned(byTwo, workers);

  test('for the same range and the same workers, whoever asks', () => {
    expect(planned(byTwo, { ...workers })).toBe(first);
    expect(
      planned(byTwo, { ...workers, scenario: { ...workers.scenario }, shares: { ...workers.shares } }),
    ).toBe(first);
  });

  test.each<[string, Partial<StageWorkers>]>([
    ['scenario', { scenario: { ...workers.scenario, batchPerGpu: 8 } }],
    ['shares', { shares: { ...workers.shares, sequence: !workers.shares.sequence } }],
    ['groups', { groups: { ...workers.groups, tensor: { nodes: 2, gpusPerNode: 1 } } }],
    ['cluster', { cluster: { ...workers.cluster } }],
  ])('and again for another %s', (_, change) => {
    const other = planned(byTwo, { ...workers, ...change });
    expect(other).not.toBe(first);
    expect(planned(byTwo, workers)).toBe(first);
  });

  test('and again for another range', () => {
    expect(planned(byTwo, workers, 0, length - 1)).not.toBe(first);
    expect(planned(byTwo, workers, 1, length)).not.toBe(first);
  });

  test('between nodes its collectives take longer', () => {
    const groups = { ...workers.groups, tensor: { nodes: 2, gpusPerNode: 1 } };
    const apart = planned(byTwo, { ...workers, groups });
    const waiting = ({ collectives }: PlannedStage) =>
      collectives.reduce((total, { time }) => total + time, 0);
    expect(waiting(apart)).toBeGreaterThan(2 * waiting(first));
  });
});

describe('times of the whole model', () => {
  const workers = workersOf(byTwo);
  const whole = (of: StageWorkers) => finish(wholeTimes(byTwo.plan.sharded, of));

  test('are those of forward and backward with their collectives, and nothing that copies exchange', () => {
    const { plan } = planned(byTwo, { ...workers, scenario: { ...workers.scenario, gpus: 1, nodes: 1 } });
    const { times } = whole(workers);
    const { forward, backward } = plan.times;
    expect([...times]).toEqual(
      [...forward.middle].map((time, index) => time + (backward.middle[index] ?? Number.NaN)),
    );
  });

  test('are found once for any number of copies, and again for another batch', () => {
    const of = (change: Partial<StageWorkers['scenario']>) =>
      whole({ ...workers, scenario: { ...workers.scenario, ...change } });
    expect(of({ gpus: 64, nodes: 8 })).toBe(of({}));
    expect(of({ batchPerGpu: 16 })).not.toBe(of({}));
  });
});

test('the GPU with the busiest experts computes all of its rows, and the others wait', () => {
  const mixed = `
dims: { batch: 1, seq: 512, d: 256 }
inputs: { x: "float32[batch, seq, d]" }
layers:
  - experts: MixtureOfExperts(d, 512, num_experts=8, gated=True)
  - head: Linear(256)
`;
  const even = laidOut({ expert: 4 }, { batch: 1, accumulate: 1 }, mixed);
  const workers = workersOf(even);
  const of = (expertImbalance: number) =>
    planned(even, { ...workers, shares: { ...workers.shares, expertImbalance } });
  const [mixture = -1] = even.plan.sharded.mixtures;
  const at = ({ kernels }: PlannedStage, operator: number) => kernels.forward.middle[operator] ?? Number.NaN;
  expect(at(of(1.5), mixture) / at(of(1), mixture)).toBeCloseTo(1.5, 9);
  const others = even.plan.sharded.training.costs
    .map((_, index) => index)
    .filter((index) => index !== mixture);
  for (const index of others) expect(at(of(1.5), index)).toBe(at(of(1), index));
});

test('attention of a ring hides what it sends, one that exchanges heads does not', () => {
  const over = (contextExchange: 'ring' | 'all-to-all') => {
    const step = laidOut({ context: 2, contextExchange }, { framework: { name: 'megatron', options: {} } });
    return planned(step, workersOf(step)).collectives.filter(({ axis }) => axis === 'context');
  };
  const kinds = (of: ReturnType<typeof over>) => new Set(of.map(({ collective }) => collective));
  expect(kinds(over('ring'))).toContain('send');
  expect(kinds(over('all-to-all'))).not.toContain('send');
  for (const each of over('ring').filter(({ collective }) => collective === 'send'))
    expect(each.time).toBeLessThanOrEqual(each.whole);
  for (const each of over('all-to-all')) expect(each.time).toBe(each.whole);
});
