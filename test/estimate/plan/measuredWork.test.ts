/** Measured times in the place of predicted ones, by hand: layers by name, and what is left of a measured step. */

import { describe, expect, test } from 'vitest';
import { isMeasured, measuredWork, withMeasurement } from '../../../server/src/estimate/plan/measuredWork.ts';
import type { Estimate } from '../../../server/src/model/estimate.ts';
import type { Layer } from '../../../server/src/model/graph.ts';
import type { LayerMeasurements } from '../../../server/src/model/measurement.ts';
import type { LayerCost } from '../../../server/src/model/stepCost.ts';
import { bytes, flops, seconds } from '../../../server/src/model/units.ts';
import type { StepTimes } from '../../../server/src/schedule/stepTimeline.ts';

/** Two operators in the first layer, one in each other; the last takes no time. */
const layers: readonly Layer[] = [
  { name: 'a', type: 'Block', ancestors: [], operators: [0, 1] },
  { name: 'b', type: 'Linear', ancestors: [], operators: [2] },
  { name: 'view', type: 'Reshape', ancestors: [], operators: [3] },
];

/** `backward` in the order of the graph, which runs the other way. */
const times = (forward: readonly number[], backward: readonly number[], update: number): StepTimes => ({
  forward: Float64Array.from(forward),
  backward: Float64Array.from(backward).reverse(),
  forwardEnds: new Float64Array(forward.length),
  backwardEnds: new Float64Array(backward.length),
  updates: [],
  inputTime: seconds(0),
  exposedInputTime: seconds(0),
  forwardTime: seconds(0),
  backwardTime: seconds(0),
  communicationTime: seconds(0),
  exposedTime: seconds(0),
  updateTime: seconds(update),
  hostTime: seconds(0),
  updateHostTime: seconds(0),
  slowedTime: seconds(0),
  step: seconds(0),
});

const alone: Estimate<StepTimes> = {
  middle: times([1, 3, 4, 0], [2, 6, 8, 0], 6),
  low: times([0.5, 1.5, 2, 0], [1, 3, 4, 0], 3),
  high: times([2, 6, 8, 0], [4, 12, 16, 0], 12),
};
const inferred: Estimate<StepTimes> = {
  middle: times([1, 3, 4, 0], [], 0),
  low: times([0.5, 1.5, 2, 0], [], 0),
  high: times([2, 6, 8, 0], [], 0),
};

const given = (
  measured: Readonly<Record<string, { readonly forward?: number; readonly backward?: number }>>,
  step?: number,
): LayerMeasurements => ({
  origin: 'a trace',
  layers: new Map(
    Object.entries(measured).map(([name, { forward, backward }]) => [
      name,
      {
        ...(forward === undefined ? {} : { forward: seconds(forward) }),
        ...(backward === undefined ? {} : { backward: seconds(backward) }),
      },
    ]),
  ),
  ...(step === undefined ? {} : { step: seconds(step) }),
});

const columns = (each: Estimate<Float64Array>) => ({
  middle: [...each.middle],
  low: [...each.low],
  high: [...each.high],
});
const same = (column: readonly number[]) => ({ middle: column, low: column, high: column });

test.each([
  [given({}), false],
  [given({ a: { forward: 1 } }), true],
  [given({}, 1), true],
])('%#: whether anything was measured', (measurements, expected) => {
  expect(isMeasured(measurements)).toBe(expected);
});

describe('layers', () => {
  test('that were measured have that time at every bound, in the proportions of the prediction', () => {
    const work = measuredWork(given({ a: { forward: 8, backward: 4 } }), layers, alone);
    // 1 : 3 of 8, and 2 : 6 of 4.
    expect(columns(work.forward)).toEqual({ middle: [2, 6, 4, 0], low: [2, 6, 2, 0], high: [2, 6, 8, 0] });
    expect(columns(work.backward)).toEqual({ middle: [1, 3, 8, 0], low: [1, 3, 4, 0], high: [1, 3, 16, 0] });
    expect(work.update).toEqual({ middle: 6, low: 3, high: 12 });
  });

  test('of which one pass was measured keep the prediction of the other', () => {
    const work = measuredWork(given({ b: { backward: 1 } }), layers, alone);
    expect([...work.forward.middle]).toEqual([1, 3, 4, 0]);
    expect([...work.backward.middle]).toEqual([2, 6, 1, 0]);
  });

  test('that were predicted to take nothing have it at their first operator', () => {
    const work = measuredWork(given({ view: { forward: 5 } }), layers, alone);
    expect([...work.forward.middle]).toEqual([1, 3, 4, 5]);
    const zero = measuredWork(given({ a: { forward: 2 } }), layers, inferred);
    expect([...zero.forward.middle]).toEqual([0.5, 1.5, 4, 0]);
    const none = { ...inferred, middle: times([0, 0, 4, 0], [], 0) };
    expect([...measuredWork(given({ a: { forward: 2 } }), layers, none).forward.middle]).toEqual([
      2, 0, 4, 0,
    ]);
  });
});

describe('a step', () => {
  test('fills all of it in proportion, the update too, and has no bounds of its own', () => {
    // 8 + 16 + 6 = 30 predicted, 60 measured.
    const work = measuredWork(given({}, 60), layers, alone);
    expect(columns(work.forward)).toEqual(same([2, 6, 8, 0]));
    expect(columns(work.backward)).toEqual(same([4, 12, 16, 0]));
    expect(work.update).toEqual({ middle: 12, low: 12, high: 12 });
  });

  test('fills what measured layers leave of it', () => {
    // 20 − (10 + 2) are left for 4 + 8 + 6 predicted: 4/9 of it.
    const work = measuredWork(given({ a: { forward: 10, backward: 2 } }, 21), layers, alone);
    expect([...work.forward.middle]).toEqual([2.5, 7.5, 2, 0]);
    expect([...work.backward.middle]).toEqual([0.5, 1.5, 4, 0]);
    expect(work.update.middle).toBe(3);
  });

  test('that is shorter than its measured layers leaves nothing for others', () => {
    const work = measuredWork(given({ a: { forward: 10, backward: 2 } }, 5), layers, alone);
    expect([...work.forward.middle]).toEqual([2.5, 7.5, 0, 0]);
    expect(work.update.middle).toBe(0);
  });

  test('of inference has no backward, whatever was measured of one', () => {
    const work = measuredWork(given({ a: { forward: 4, backward: 100 } }, 6), layers, inferred);
    expect([...work.forward.middle]).toEqual([1, 3, 2, 0]);
    expect([...work.backward.middle]).toEqual([]);
  });

  test('all of whose layers were measured is not stretched', () => {
    const all = { a: { forward: 1 }, b: { forward: 1 }, view: { forward: 0 } };
    const work = measuredWork(given(all, 9), layers, inferred);
    expect([...work.forward.middle]).toEqual([0.25, 0.75, 1, 0]);
    expect(work.update.middle).toBe(0);
  });
});

describe('the line of a layer', () => {
  const line: LayerCost = {
    name: 'a',
    type: 'Block',
    operators: ['a0', 'a1'],
    parameters: 0,
    output: { shape: null, elementType: 'undefined' },
    flops: { forward: flops(0), backwardData: flops(0), backwardWeight: flops(0) },
    operations: { forward: 0, backward: 0 },
    bytes: { forward: bytes(0), backward: bytes(0) },
    time: {
      forward: seconds(4),
      backward: seconds(8),
      communication: seconds(1),
      exposedCommunication: seconds(0),
      communicationSlack: null,
    },
    memory: {
      parameters: bytes(0),
      activations: bytes(0),
      gradient: bytes(0),
      optimizerState: bytes(0),
    },
    bound: 'compute',
    source: 'profile',
    range: { low: seconds(6), high: seconds(24) },
    notes: ['first'],
  };
  const [layer] = layers;
  if (layer === undefined) throw new Error('no layer');
  const lineOf = (measurements: LayerMeasurements, work = alone, cost = line, passes = 2) => {
    const { time, source, range, notes } = withMeasurement(
      cost,
      layer,
      measuredWork(measurements, layers, work),
      passes,
    );
    return { forward: time.forward, backward: time.backward, sent: time.communication, source, range, notes };
  };

  test('that was measured has it in each pass', () => {
    expect(lineOf(given({ a: { forward: 3, backward: 5 } }))).toEqual({
      forward: 6,
      backward: 10,
      sent: 1,
      source: 'measured',
      range: { low: 16, high: 16 },
      notes: ['measured: a trace', 'first'],
    });
  });

  test('of which one pass was measured has the range of the other', () => {
    expect(lineOf(given({ a: { forward: 3 } }))).toEqual({
      forward: 6,
      backward: 16,
      sent: 1,
      source: 'measured',
      // Two passes of 3 and 4, 3 and 16.
      range: { low: 14, high: 38 },
      notes: ['measured: a trace', 'first'],
    });
    expect(lineOf(given({ a: { backward: 3 } }))).toMatchObject({
      forward: 8,
      backward: 6,
      source: 'measured',
    });
  });

  test('that fills a measured step is scaled to it', () => {
    expect(lineOf(given({}, 60))).toEqual({
      forward: 16,
      backward: 32,
      sent: 1,
      source: 'profile',
      range: { low: 48, high: 48 },
      notes: ['scaled to a trace', 'first'],
    });
  });

  test('of which nothing was measured stays as it is', () => {
    const { time, source, range, notes } = line;
    expect(lineOf(given({ b: { forward: 1 } }))).toEqual({
      forward: time.forward,
      backward: time.backward,
      sent: 1,
      source,
      range,
      notes,
    });
  });

  test('of inference has no backward to measure', () => {
    expect(lineOf(given({ a: { forward: 3, backward: 5 } }), inferred)).toMatchObject({
      forward: 6,
      backward: 0,
      range: { low: 6, high: 6 },
    });
  });

  test('that is unknown stays so where it was not measured', () => {
    const unknown = { ...line, time: { ...line.time, forward: null, backward: null } };
    expect(lineOf(given({}, 60), alone, unknown)).toMatchObject({
      forward: null,
      backward: null,
      range: null,
    });
    expect(lineOf(given({ a: { forward: 3 } }), alone, unknown)).toMatchObject({
      forward: 6,
      backward: null,
      range: { low: 14, high: 38 },
    });
  });
});
