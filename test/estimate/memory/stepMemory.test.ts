/** Memory at each operator of a step of three, by hand: what is kept, what comes and goes, and the most of it. */

import { describe, expect, test } from 'vitest';
import {
  type ModelState,
  memoryMoments,
  stepMemory,
} from '../../../server/src/estimate/memory/stepMemory.ts';
import type { StepPlan } from '../../../server/src/estimate/plan/stepPlan.ts';
import { planOf } from '../../support/estimatedStep.ts';

const request = {
  cluster: 'a100-sxm-80gb',
  gpus: 1,
  batch: 2,
  precision: 'fp32',
  optimizer: 'sgd',
  loss: 'none',
} as const;
/** Weights of 200 and 100 elements; two samples go in with 80 bytes, which backward keeps, and come out with 40, which it does not. */
const plan = planOf(
  request,
  'inputs: { x: "float32[batch, 10]" }\nlayers:\n  - a: Linear(20, bias=False)\n  - b: ReLU()\n  - c: Linear(5, bias=False)\n',
);

const column = (...values: readonly number[]): Float64Array => Float64Array.from(values);
const saved: StepPlan['saved'] = {
  activations: column(80, 160, 0),
  weightCopies: column(7, 0, 3),
  recopied: column(0, 5, 0),
  recomputed: column(0, 0, 11),
};
const live = { unkept: column(1000, 200, 30), gradients: column(300, 400, 500) };
const given = (change: Partial<StepPlan> = {}): StepPlan => ({ ...plan, saved, live: () => live, ...change });

const state: ModelState = {
  parameters: 1200,
  gradients: 1200,
  optimizerState: 2400,
  communicationBuffers: 50,
  updateTemporaries: 900,
  cache: 0,
};
/** Of cuBLAS on Ampere (PyTorch CublasHandlePool.cpp: `:4096:2:16:8`, in KiB). */
const library = 2 * 4096 * 1024 + 8 * 16 * 1024;
const always = 1200 + 2400 + 50 + library;

type Row = readonly [
  phase: string,
  operator: number | undefined,
  copies: number,
  gradients: number,
  kept: number,
  workspace: number,
];
const forward: readonly Row[] = [
  // Copies of weights in both forms add up, and so does what is kept; what is not kept comes and goes.
  ['forward', 0, 7, 0, 1000 + 80, 0],
  ['forward', 1, 7 + 5, 0, 200 + 240, 0],
  ['forward', 2, 10 + 5, 0, 30 + 240, 0],
];
const backward: readonly Row[] = [
  // The gradient of 100 elements is there first. What came out is there to the end.
  ['backward', 2, 10, 400, 240 + 40, 500 + 11],
  ['backward', 1, 7, 400, 240 + 40, 400],
  ['backward', 0, 7, 400 + 800, 80 + 40, 300],
];
const update: Row = ['update', undefined, 0, 1200, 0, 900];

const momentOf = ([phase, operator, copies, gradients, kept, workspace]: Row) => ({
  phase,
  operator,
  parameters: 1200 + copies,
  gradients,
  optimizerState: 2400,
  activations: kept,
  workspace: library + workspace,
  communicationBuffers: 50,
});
const sizeOf = ([, , ...sizes]: Row): number => sizes.reduce((total, size) => total + size, 0);

test('operators of forward, of backward the other way, and the update', () => {
  expect(memoryMoments(given(), state)).toEqual([...forward, ...backward, update].map(momentOf));
});

describe('the peak', () => {
  const peakOf = (change: Partial<ModelState>, more: Partial<StepPlan> = {}) => {
    const { peak, peakAt } = stepMemory(given(more), { ...state, ...change });
    return { size: peak - always, at: [peakAt.phase, peakAt.operator] };
  };

  test('is in the update where temporaries make it so', () => {
    expect(peakOf({})).toEqual({ size: 2100, at: ['update', undefined] });
    expect(stepMemory(given(), state).peakAt).toEqual(momentOf(update));
  });

  test('else in backward, with all that is there then', () => {
    const [, , last] = backward;
    if (last === undefined) throw new Error('no row');
    expect(peakOf({ updateTemporaries: 0 })).toEqual({ size: sizeOf(last), at: ['backward', 0] });
    expect(stepMemory(given(), { ...state, updateTemporaries: 0 }).peakAt).toEqual(momentOf(last));
    // 7 + 1200 + 120 + 300.
    expect(sizeOf(last)).toBe(1627);
  });

  test('of alike moments is the first that runs', () => {
    expect(peakOf({ updateTemporaries: 1627 - 1200 })).toEqual({ size: 1627, at: ['backward', 0] });
    const alike = () => ({ unkept: column(9000 - 80, 9000 - 240, 0), gradients: column(0, 0, 0) });
    expect(
      peakOf(
        {},
        { live: alike, saved: { ...saved, weightCopies: column(0, 0, 0), recopied: column(0, 0, 0) } },
      ),
    ).toEqual({
      size: 9000,
      at: ['forward', 0],
    });
  });
});

test('kinds are those of the whole step', () => {
  const { mostOfPhases: _, largestBatch: __, peakAt: ___, ...kinds } = stepMemory(given(), state);
  expect(kinds).toEqual({
    // Copies of all weights in both forms.
    parameters: 1200 + 10 + 5,
    gradients: 1200,
    optimizerState: 2400,
    activations: 240,
    workspace: 511 + library,
    communicationBuffers: 50,
    peak: always + 2100,
    capacity: plan.cluster.gpu.memory.value,
  });
});

test('the most of each phase; in backward the first that runs', () => {
  const [first] = forward;
  const [, , last] = backward;
  if (first === undefined || last === undefined) throw new Error('no row');
  expect(stepMemory(given(), state).mostOfPhases()).toEqual([first, last, update].map(momentOf));
  // 10 + 400 + 280 + 937 at the last operator as well.
  const alike = () => ({ ...live, gradients: column(300, 0, 926) });
  expect(stepMemory(given({ live: alike }), state).mostOfPhases()[1]?.operator).toBe(2);
});

describe('the largest batch', () => {
  const fits = (room: number, change: Partial<ModelState> = {}) =>
    stepMemory(given(), { ...state, ...change }).largestBatch(always + room);

  test.each([
    // (3000 − 7) / 1080 of two samples in forward; at the end of backward (3000 − 410) / 791.
    [3000, 5],
    [2100, 3],
    // Less than the update needs of itself.
    [2099, 0],
  ])('in %i bytes beside what is always there: %i', (room, batch) => {
    expect(fits(room)).toBe(batch);
  });

  test('is none where gradients leave too little for one sample', () => {
    expect(fits(1400, { updateTemporaries: 0 })).toBe(0);
    expect(fits(1206, { updateTemporaries: 0 })).toBe(0);
    // (1418 − 1207) / 420 of two are one.
    expect(fits(1418, { updateTemporaries: 0 })).toBe(1);
  });

  test('has no limit where nothing grows', () => {
    const nothing = column(0, 0, 0);
    const idle = given({
      saved: { activations: nothing, weightCopies: nothing, recopied: nothing, recomputed: nothing },
      live: () => ({ unkept: nothing, gradients: nothing }),
      scenario: { ...plan.scenario, mode: 'inference' },
    });
    expect(stepMemory(idle, state).largestBatch(always + 1e6)).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('passes that add to gradients', () => {
  const twice = { ...plan.scenario, accumulate: 2 };

  test('have all of them from the start, and a new one until it is added', () => {
    const rows = memoryMoments(given({ scenario: twice }), state);
    expect(rows.map(({ gradients }) => gradients)).toEqual([1200, 1200, 1200, 1600, 1200, 2000, 1200]);
  });

  test('keep shards of the sums, and send new ones from buffers', () => {
    const exchange = { ...plan.exchange, shards: { ...plan.exchange.shards, gradients: 2 } };
    expect(
      memoryMoments(given({ scenario: twice, exchange }), { ...state, gradients: 600 }).map(
        ({ gradients }) => gradients,
      ),
    ).toEqual([600, 600, 600, 600, 600, 600, 600]);
    expect(
      memoryMoments(given({ exchange }), { ...state, gradients: 600 }).map(({ gradients }) => gradients),
    ).toEqual([0, 0, 0, 200, 200, 600, 600]);
  });
});

test('inference has the values that are alive, and its cache', () => {
  const nothing = column(0, 0, 0);
  const inferring = given({
    scenario: { ...plan.scenario, mode: 'inference' },
    saved: { ...saved, activations: nothing, recopied: nothing },
  });
  const memory = stepMemory(inferring, { ...state, gradients: 0, updateTemporaries: 0, cache: 500 });
  const { phase, operator, activations } = memory.peakAt;
  expect([memory.peak - always, phase, operator, activations]).toEqual([1507, 'forward', 0, 1500]);
  expect([memory.parameters, memory.activations, memory.workspace, memory.cache]).toEqual([
    1200,
    1000,
    library,
    500,
  ]);
  expect(memory.mostOfPhases().map((moment) => moment.phase)).toEqual(['forward']);
  expect(
    memoryMoments(inferring, { ...state, gradients: 0, cache: 500 }).map(({ activations: kept }) => kept),
  ).toEqual([1500, 700, 530]);
});

test('what goes in and is not kept is there until the next batch comes', () => {
  const first = planOf(
    request,
    'inputs: { x: "float32[batch, 10]" }\nlayers:\n  - a: ReLU()\n  - b: Linear(5, bias=False)\n',
  );
  const kept = memoryMoments(
    {
      ...first,
      saved: {
        ...saved,
        activations: column(80, 0),
        weightCopies: column(0, 0),
        recopied: column(0, 0),
        recomputed: column(0, 0),
      },
      live: () => ({ unkept: column(80, 40), gradients: column(0, 0) }),
    },
    state,
  ).map(({ activations }) => activations);
  // In forward it is among what is alive; in backward what came out is beside it, and the update has it alone.
  expect(kept).toEqual([160, 120, 200, 200, 80]);
});

test.each([
  ['h100-sxm', 32 * 2 ** 20],
  ['a100-sxm-80gb', library],
  ['t4', library],
])('the matrix library on %s', (cluster, workspace) => {
  const own = planOf({ ...request, cluster });
  const nothing = new Float64Array(own.training.costs.length);
  const { workspace: of } = stepMemory(
    { ...own, live: () => ({ unkept: nothing, gradients: nothing }) },
    state,
  );
  expect(of).toBe(workspace);
});
