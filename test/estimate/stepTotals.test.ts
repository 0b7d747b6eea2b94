/** Totals of a step whose times and memory are given: what is added up, what is a fraction of what, and what stays unknown. */

import { describe, expect, test } from 'vitest';
import type { EstimatedStep } from '../../server/src/estimate/findings/estimatedStep.ts';
import { timesAlone, timesOf, waitingForSlower } from '../../server/src/estimate/plan/plannedTimes.ts';
import type { StepPlan } from '../../server/src/estimate/plan/stepPlan.ts';
import { stepRange } from '../../server/src/estimate/plan/surerPlan.ts';
import { recost } from '../../server/src/estimate/recost.ts';
import { isInputKnown, totalsOf } from '../../server/src/estimate/stepTotals.ts';
import { meanWorkerStep, throughputOf } from '../../server/src/estimate/throughput.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import type { Finding, TotalCost, UnknownPart } from '../../server/src/model/stepCost.ts';
import { bytes, bytesPerSecond, seconds } from '../../server/src/model/units.ts';
import { lasting, planOf, stepOf } from '../support/estimatedStep.ts';

const request: ScenarioRequest = {
  cluster: 'dgx-a100',
  gpus: 8,
  batch: 4,
  optimizer: 'sgd',
  precision: 'bf16',
};
const times = {
  ...{ step: 10, exposedTime: 1, forwardTime: 2, backwardTime: 4, updateTime: 2.5, hostTime: 0.25 },
  exposedInputTime: 0.5,
};
const given = (change: ScenarioRequest = {}): EstimatedStep =>
  lasting(stepOf({ ...request, ...change }), times);

interface Other {
  readonly alone?: number | null;
  readonly unknown?: readonly UnknownPart[];
  readonly findings?: readonly Finding[];
  readonly memory?: Partial<EstimatedStep['memory']>;
  readonly plan?: Partial<StepPlan>;
}
const totals = (step: EstimatedStep, { alone = 8, unknown = [], ...other }: Other = {}): TotalCost =>
  totalsOf({
    plan: { ...step.plan, ...other.plan },
    timeline: step.timeline,
    alone: () =>
      alone === null
        ? null
        : { ...timesAlone(step.plan, 'middle'), step: seconds(alone), updateTime: seconds(2.5) },
    memory: { ...step.memory, ...other.memory },
    reserved: step.reserved,
    unknown,
    findings: () => other.findings ?? [],
  });

const part: UnknownPart = {
  operator: 'fc[0]',
  reason: 'operator Mystery is not known',
  since: null,
  atMost: null,
};

/** Multiply-adds of a sample in one of eight layers of 1,024 × 1,024, as two operations each. */
const ofLayer = 2 * 1024 * 1024;

describe('FLOPs', () => {
  // The input carries no gradient: of data, backward has one layer fewer than of weights.
  test.each<[string, ScenarioRequest, number, number]>([
    ['of a batch of 4', {}, 8, 7 + 8],
    ['of three passes', { accumulate: 3 }, 3 * 8, 3 * (7 + 8)],
    ['of inference', { mode: 'inference' }, 8, 0],
    [
      'of layers of which half are frozen',
      { freeze: ['fc[0].*', 'fc[1].*', 'fc[2].*', 'fc[3].*'] },
      8,
      3 + 4,
    ],
  ])('%s', (_, change, forward, backward) => {
    expect(totals(given(change)).flops).toEqual({
      forward: 4 * forward * ofLayer,
      backward: 4 * backward * ofLayer,
    });
  });

  test('of an operator whose cost is unknown are left out', () => {
    const step = given();
    const { training } = step.plan;
    const costs = training.costs.map((cost, index) =>
      index === 1 ? ({ kind: 'unknown', reason: 'not known' } as const) : cost,
    );
    expect(totals(step, { plan: { training: { ...training, costs } } }).flops).toEqual({
      forward: 4 * 7 * ofLayer,
      backward: 4 * (6 + 7) * ofLayer,
    });
  });
});

describe('times', () => {
  test('are those of the timeline', () => {
    const { time } = totals(given());
    expect(time).toMatchObject({
      ...{ input: null, exposedInput: null, forward: 2, backward: 4, exposedCommunication: 1, update: 2.5 },
      ...{ waitingForHost: 0.25, step: 10, exact: true },
    });
    expect(time.communication).toBe(given().timeline.communicationTime);
  });

  test('of input stand where somebody described it', () => {
    const step = given({ input: { sampleBytes: bytes(1e5), readRate: bytesPerSecond(1e9) } });
    const { time } = totals(step);
    expect([time.input, time.exposedInput, time.exact]).toEqual([step.timeline.inputTime, 0.5, true]);
  });

  test('with unknown work nobody can say what is hidden', () => {
    const { time, exact, unknown } = totals(given(), { unknown: [part] });
    expect([time.exposedCommunication, time.step, time.exact, exact, unknown]).toEqual([
      null,
      10,
      false,
      false,
      [part],
    ]);
  });

  test('with unknown input the step is no more than a lower bound, and operators are known', () => {
    // A DGX A100 says how many cores its host has, and nothing of a storage system of others.
    const step = given({ input: { sampleBytes: bytes(1e5), source: 'shared' } });
    expect(isInputKnown(step.plan)).toBe(false);
    const { time, exact, mfu } = totals(step);
    expect([time.exact, exact, mfu, time.exposedCommunication]).toEqual([false, true, null, 1]);
    expect(isInputKnown(given().plan)).toBe(true);
  });

  test('of a measured step say nothing of its host', () => {
    const step = given({ measuredStep: seconds(1) });
    expect(step.plan.measured).toBeDefined();
    expect(totals(step).time.waitingForHost).toBeNull();
  });

  test('a step of no time has none, nor what is a fraction of it', () => {
    const none = totals(lasting(given(), { step: 0 }));
    expect([none.time.step, none.time.range, none.throughput, none.mfu]).toEqual([null, null, null, null]);
    expect([none.scalingEfficiency, none.strongScalingEfficiency]).toEqual([null, null]);
  });

  test('a range holds the step', () => {
    const step = given();
    const { low, high } = stepRange(step.plan);
    const rangeOf = (time: number) => totals(lasting(step, { step: time })).time.range;
    const middle = (low + high) / 2;
    expect(low).toBeLessThan(high);
    expect(rangeOf(middle)).toEqual({ low, high });
    expect(rangeOf(2 * high)).toEqual({ low, high: 2 * high });
    expect(rangeOf(low / 2)).toEqual({ low: low / 2, high });
  });
});

describe('efficiencies', () => {
  test('against a GPU by itself, of the same batch', () => {
    expect(totals(given()).scalingEfficiency).toBe(0.8);
    expect(totals(given(), { alone: null }).scalingEfficiency).toBeNull();
    expect(totals(given()).efficiencyNotes).toEqual([]);
  });

  test('one above 100 % is explained, where it is known', () => {
    expect(totals(given(), { alone: 11 }).efficiencyNotes).toHaveLength(1);
    expect(totals(given(), { alone: null }).efficiencyNotes).toEqual([]);
  });

  const { batch: _, ...unbatched } = request;
  const shared = (change: ScenarioRequest = {}): EstimatedStep =>
    lasting(stepOf({ ...unbatched, globalBatch: 64, ...change }), times);

  test.each<[string, ScenarioRequest, number]>([
    ['against a GPU that takes the whole batch', {}, 64],
    ['in as many passes', { accumulate: 4 }, 16],
    ['in passes that take a part more', { globalBatch: 65, accumulate: 4 }, 17],
  ])('%s', (_, change, batchPerGpu) => {
    const step = shared(change);
    const whole = recost(step.plan, { batchPerGpu });
    if (whole === undefined) throw new Error('not costed');
    const single = timesAlone(whole, 'middle').step;
    expect(totals(step).strongScalingEfficiency).toBeCloseTo(single / (8 * 10), 12);
  });

  test.each<[string, EstimatedStep, Other]>([
    ['there is no batch over all GPUs', given(), {}],
    ['there is one GPU', shared({ gpus: 1 }), {}],
    ['a step was measured', shared({ measuredStep: seconds(1) }), {}],
    ['a part is unknown', shared(), { unknown: [part] }],
  ])('none against the whole batch where %s', (_, step, other) => {
    expect(totals(step, other).strongScalingEfficiency).toBeNull();
  });

  test('MFU is FLOPs over those of the peak', () => {
    // NVIDIA A100 datasheet: 312 TFLOP/s dense in bf16. Forward, of data and of weights in 10 s.
    const flops = 4 * (8 + 7 + 8) * ofLayer;
    expect(totals(given()).mfu).toBeCloseTo(flops / 312e12 / 10, 15);
    expect((totals(given({ accumulate: 2 })).mfu ?? 0) / (2 * (flops / 312e12 / 10))).toBeCloseTo(1, 9);
    expect(totals(given(), { unknown: [part] }).mfu).toBeNull();
  });

  test('throughput is that of all GPUs', () => {
    expect(totals(given()).throughput).toBe((8 * 4) / 10);
  });
});

describe('memory', () => {
  test('has the layer of the peak', () => {
    const step = given();
    const at = (operator: number | undefined) =>
      totals(step, { memory: { peakAt: { ...step.memory.peakAt, operator } } }).memory.peakAt;
    const layers = step.plan.training.analysis.layers.map(({ name }) => name);
    expect(layers).toHaveLength(8);
    for (const [index, { operators }] of step.plan.training.analysis.layers.entries())
      for (const operator of operators) expect(at(operator).layer).toBe(layers[index]);
    expect(at(undefined).layer).toBe('');
    const { operator: __, ...moment } = step.memory.peakAt;
    expect(at(undefined)).toEqual({ ...moment, layer: '' });
  });

  test('has a largest batch where everything is known, and nothing else limits it', () => {
    const step = given();
    const largest = (memory: Other['memory'], unknown: readonly UnknownPart[] = []) =>
      totals(step, { memory: memory ?? {}, unknown }).memory.largestBatch;
    expect(largest({ largestBatch: () => 123 })).toBe(123);
    expect(largest({ largestBatch: () => 1 })).toBe(4);
    expect(largest({ largestBatch: () => Number.POSITIVE_INFINITY })).toBeNull();
    expect(largest({ largestBatch: () => 123 }, [part])).toBeNull();
  });

  test('has what the finding found where the step does not fit', () => {
    const step = given();
    const memory = { capacity: bytes(1) };
    const finding: Finding = {
      ...{ code: 'findings/out-of-memory', severity: 'warning', layer: '', message: '', fix: '' },
      change: { kind: 'batch', batch: 3 },
    };
    expect(totals(step, { memory, findings: [finding] }).memory.largestBatch).toBe(3);
    expect(totals(step, { memory }).memory.largestBatch).toBe(0);
  });

  test('is by kind as it was found, with what the allocator reserves', () => {
    const step = given();
    const { memory } = totals(step);
    const { peakAt: __, largestBatch: ___, mostOfPhases: ____, ...kinds } = step.memory;
    expect(memory).toMatchObject(kinds);
    expect(memory.reserved).toEqual(step.reserved().bounds);
    // A CUDA context of PyTorch.
    expect(memory.context).toBeGreaterThan(100e6);
    expect(memory).not.toHaveProperty('mostOfPhases');
  });
});

describe('parts that only some steps have', () => {
  const partsOf = ({ tokensPerSample, input, imbalance, mixed, asynchronous, run }: TotalCost) => ({
    ...{ tokensPerSample, input, imbalance, mixed, asynchronous, run },
  });
  const none = partsOf(totals(given()));

  test('a plain step has none', () => {
    expect(none).toEqual({});
  });

  test('workers unlike each other: the time that those alike would save', () => {
    const step = given({ workers: { imbalance: 1.25 } });
    const even = timesOf({ ...step.plan, imbalance: 1 }, 'middle').step;
    expect(totals(step).imbalance).toEqual({ factor: 1.25, time: 10 - even });
    expect(totals(lasting(step, { step: even / 2 })).imbalance).toEqual({ factor: 1.25, time: 0 });
  });

  test('a run of an exact step is exact', () => {
    const run = { samples: 320, epochs: 2, start: seconds(5) };
    expect(totals(given({ run })).run).toMatchObject({ steps: 20, time: 205, exact: true });
    expect(totals(given({ run }), { unknown: [part] }).run).toMatchObject({
      steps: 20,
      time: 205,
      exact: false,
    });
  });

  test('tokens of a sample', () => {
    const spec =
      'inputs: { t: "int64[batch, 12]" }\nlayers:\n  - e: Embedding(100, 16)\n  - h: Linear(100)\n';
    expect(totals(lasting(stepOf(request, spec), times)).tokensPerSample).toBe(12);
  });

  test('GPUs of two kinds: how many, and what the faster wait', () => {
    const step = given({ workers: { others: { gpu: 'h100-sxm', count: 3 } } });
    const { mixed } = totals(step);
    expect(mixed).toEqual({
      slower: { gpu: 'A100 SXM 80 GB', count: 5 },
      faster: { gpu: 'H100 SXM', count: 3 },
      time: waitingForSlower(step.plan, 10),
    });
    expect(mixed?.time).toBeGreaterThan(9);
  });

  const asynchronous = {
    framework: { name: 'mxnet', options: { kvstore: 'dist_async' } },
    precision: 'fp32' as const,
  };
  const servers = (change: ScenarioRequest, time: number) => {
    const step = given({ cluster: 'k80-10gbe', gpus: 16, ...asynchronous, ...change });
    const traffic = { ...step.plan.traffic, serverTimes: [seconds(time)] };
    return { step: { ...step, plan: { ...step.plan, traffic } }, at: { ...step.plan, traffic } };
  };

  test('workers that do not wait: stale by those of all others, until servers are the limit', () => {
    // Four nodes of four GPUs: servers take four times as long as for one.
    for (const [time, bound] of [
      [1e-6, 'worker'],
      [1e3, 'server'],
    ] as const) {
      const { step, at } = servers({}, time);
      const own = meanWorkerStep(at);
      expect(totals(step).asynchronous).toEqual({
        staleness: 15,
        bound,
        saturatesAt: expect.closeTo((own / (4 * time)) * 16, 6),
      });
    }
  });

  test('servers that take no time are never the limit', () => {
    const { step } = servers({}, 0);
    expect(totals(step).asynchronous).toEqual({ staleness: 15, bound: 'worker', saturatesAt: null });
  });

  test('one worker has nobody to wait for', () => {
    expect(totals(servers({ gpus: 1 }, 1).step).asynchronous).toBeUndefined();
  });
});

test('what is costly is worked out when it is read', () => {
  const step = stepOf(request);
  let asked = 0;
  const count = <Value>(value: Value): Value => {
    asked += 1;
    return value;
  };
  const all = totalsOf({
    ...{ plan: step.plan, timeline: step.timeline, memory: step.memory, unknown: [] },
    alone: () => count(timesAlone(step.plan, 'middle')),
    reserved: () => count(step.reserved()),
    findings: () => count([]),
  });
  expect([asked, throughputOf(planOf(request), step.timeline.step)]).toEqual([0, all.throughput]);
  expect(all.scalingEfficiency).toBeGreaterThan(0);
  expect(asked).toBe(1);
});
