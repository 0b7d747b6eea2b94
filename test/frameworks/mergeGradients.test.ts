import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { numberIn, readMeasured } from '../../scripts/measured/readMeasured.ts';
import { exposedTime, largestSpeedup, waitFreeEnd } from '../../scripts/validate/scaling/waitFree.ts';
import {
  fitLinearCost,
  type LinearCost,
  linearTime,
} from '../../server/src/communication/formulas/linkCost.ts';
import {
  type MergedGroup,
  mergeGradients,
  mergeWithinWait,
  type ReadyGradient,
} from '../../server/src/frameworks/mergeGradients.ts';
import { packBuckets } from '../../server/src/frameworks/packBuckets.ts';
import { bytes, microseconds, type Seconds, seconds } from '../../server/src/model/units.ts';

/** GoogLeNet on K80 and 10 GbE, last row first, as backward runs. */
const rows = readMeasured('measured', 'layer-communication.csv').toReversed();
const gradients: readonly ReadyGradient[] = rows.map((row, index) => ({
  bytes: bytes(4 * numberIn(row, 'parameters')),
  elements: numberIn(row, 'parameters'),
  ready: microseconds(rows.slice(0, index + 1).reduce((total, { backward }) => total + Number(backward), 0)),
}));
const backward = gradients.at(-1)?.ready ?? seconds(0);

/** Microseconds, and microseconds per byte. */
const link = (startup: number, perByte: number): LinearCost => ({
  startup: microseconds(startup),
  secondsPerByte: perByte * 1e-6,
});
const sent = (groups: readonly MergedGroup[], cost: LinearCost) =>
  groups.map(({ ready, bytes: size }) => ({ ready, time: linearTime(cost, size) }));
const each = (cost: LinearCost) =>
  gradients.map(({ ready, bytes: size }) => ({ ready, time: linearTime(cost, size) }));
const milliseconds = (time: Seconds): string => (time * 1e3).toFixed(2);
/** Rows, counted from the input, that the groups start at: in backward a group ends there. */
const startsOf = (groups: readonly MergedGroup[]): readonly number[] =>
  groups.map(({ end }) => rows.length - end + 1).reverse();

test('the trace: 53,516,544 B, backward 205.34 ms', () => {
  expect(gradients.reduce((total, gradient) => total + gradient.bytes, 0)).toBe(53_516_544);
  expect(milliseconds(backward)).toBe('205.34');
});

test.each([
  ['allreduce2', '205.7', '0.4'],
  ['allreduce4', '262.0', '56.6'],
  ['allreduce8', '311.2', '105.9'],
])('wait-free with measured all-reduces, %s: end %s ms, exposed %s ms', (column, end, exposed) => {
  const messages = rows.map((row, index) => ({
    ready: gradients[index]?.ready ?? seconds(0),
    time: microseconds(numberIn(row, column)),
  }));
  expect((waitFreeEnd(messages) * 1e3).toFixed(1)).toBe(end);
  expect((exposedTime(messages, backward) * 1e3).toFixed(1)).toBe(exposed);
});

// Wait-free, merged, one message: end / exposed (/ groups); buckets of 25 MiB, the first of 1 MiB: end / buckets.
test.each([
  [1685.961, 3.790164e-3, '311.20 105.86', '216.13 10.79 6', '409.86 204.52', '294.57 3'],
  [42.043, 2.0589e-4, '205.39 0.05', '205.39 0.05 64', '216.40 11.06', '210.14 3'],
  [97.537, 3.0568e-4, '205.45 0.11', '205.45 0.11 64', '221.80 16.46', '212.50 3'],
  [235.837, 4.05948e-4, '205.59 0.25', '205.59 0.25 60', '227.30 21.96', '214.95 3'],
  [523.027, 8.57075e-4, '205.90 0.56', '205.90 0.56 53', '251.73 46.39', '225.66 3'],
  [908.098, 7.39565e-4, '206.28 0.94', '206.28 0.94 52', '245.83 40.49', '223.33 3'],
  [4000, 1.5e-2, '1059.21 853.87', '848.04 642.70 2', '1012.09 806.75', '815.21 3'],
])('all-reduce of %f µs and %f µs/B', (startup, perByte, waitFree, merged, single, bucketed) => {
  const cost = link(startup, perByte);
  const line = (messages: readonly { ready: Seconds; time: Seconds }[]): string =>
    `${milliseconds(waitFreeEnd(messages))} ${milliseconds(exposedTime(messages, backward))}`;
  const groups = mergeGradients(gradients, cost);
  expect(line(each(cost))).toBe(waitFree);
  expect(`${line(sent(groups, cost))} ${groups.length}`).toBe(merged);
  const whole = bytes(53_516_544);
  expect(line([{ ready: backward, time: linearTime(cost, whole) }])).toBe(single);
  const buckets = packBuckets(
    gradients.map(({ bytes: size }, index) => ({
      parameter: `${index}`,
      index,
      elements: size / 4,
      bytes: size,
      readyAfter: index,
      usedFrom: 0,
    })),
    [2 ** 20, 25 * 2 ** 20],
  ).map(({ bytes: size, readyAfter }) => ({
    ready: gradients[readyAfter]?.ready ?? seconds(0),
    time: linearTime(cost, size),
  }));
  expect(`${milliseconds(waitFreeEnd(buckets))} ${buckets.length}`).toBe(bucketed);
});

test('the groups themselves', () => {
  expect(startsOf(mergeGradients(gradients, link(1685.961, 3.790164e-3)))).toEqual([1, 13, 37, 47, 55, 64]);
  expect(startsOf(mergeGradients(gradients, link(4000, 1.5e-2)))).toEqual([1, 49]);
});

/** Images per second of the cluster; batch 64 per node. Source: hclhkbu/B-Caffe, scripts/gmwfbp.py. */
describe('measured steps on 2, 4 and 8 nodes: within 9 %, 5 % on average', () => {
  const measured: readonly (readonly [nodes: number, waitFree: number, merged: number, single: number])[] = [
    [2, 299.32, 316.08, 250.28],
    [4, 599.28, 600.24, 461.36],
    [8, 1006.4, 1210.88, 889.28],
  ];
  const alone = 64 / 163.36;
  const errors = measured.flatMap(([nodes, waitFree, merged, single]) => {
    const times = rows.map((row) => microseconds(numberIn(row, `allreduce${nodes}`)));
    const cost = fitLinearCost(
      times.map((time, index) => ({ size: gradients[index]?.bytes ?? bytes(0), time })),
    );
    if (cost === undefined) throw new Error('no fit');
    const predicted = [
      exposedTime(
        times.map((time, index) => ({ time, ready: gradients[index]?.ready ?? seconds(0) })),
        backward,
      ),
      exposedTime(sent(mergeGradients(gradients, cost), cost), backward),
      linearTime(cost, bytes(53_516_544)),
    ];
    return [waitFree, merged, single].map(
      (rate, index) => (alone + (predicted[index] ?? 0)) / ((64 * nodes) / rate) - 1,
    );
  });
  test.each(errors.map((error, index) => [index, error] as const))('point %i: %f', (_, error) => {
    expect(Math.abs(error)).toBeLessThanOrEqual(0.09);
  });
  test('mean', () => {
    expect(errors.reduce((total, error) => total + Math.abs(error), 0) / errors.length).toBeLessThanOrEqual(
      0.05,
    );
  });
});

describe('whatever the gradients', () => {
  // Multiples of powers of two, which add up exactly: equal times are equal here in whatever order they were added.
  const time = fc.integer({ min: 0, max: 1e7 }).map((count) => count * 2 ** -30);
  const size = fc.integer({ min: 1, max: 1e8 });
  const someGradients = fc.array(fc.tuple(time, size), { minLength: 1, maxLength: 60 }).map((pairs) => {
    let ready = 0;
    return pairs.map(([after, count]): ReadyGradient => {
      ready += after;
      return { ready: seconds(ready), bytes: bytes(4 * count), elements: count };
    });
  });
  const someCost = fc
    .tuple(time, fc.integer({ min: 0, max: 1e4 }))
    .map(
      ([startup, perByte]): LinearCost => ({ startup: seconds(startup), secondsPerByte: perByte * 2 ** -40 }),
    );

  test('no message but the last has fewer than the fewest elements', () => {
    fc.assert(
      fc.property(someGradients, someCost, fc.integer({ min: 0, max: 1e8 }), (list, cost, fewest) => {
        const groups = mergeGradients(list, cost, fewest);
        for (const { first, end } of groups.slice(0, -1)) {
          const elements = list.slice(first, end).reduce((total, gradient) => total + gradient.elements, 0);
          expect(elements).toBeGreaterThanOrEqual(fewest);
        }
        if (fewest === 0) expect(groups).toEqual(mergeGradients(list, cost));
      }),
    );
  });

  /** Of 4 workers 2·4·(20 µs·4) = 640 µs, of 2 workers 160 µs, counted from the gradient before, however long messages take. */
  test.each([
    [4, [0, 630, 1260, 1910, 1920], [3, 5]],
    [4, [0, 640, 1279], [1, 3]],
    [2, [0, 150, 320, 480, 630], [2, 3, 5]],
    [1, [0, 39, 79], [2, 3]],
  ])('%i workers wait for gradients that are ready at %j µs', (workers, ready, ends) => {
    const list = ready.map((time) => ({ ready: microseconds(time), bytes: bytes(4e9), elements: 1e9 }));
    expect(mergeWithinWait(list, workers).map(({ end }) => end)).toEqual(ends);
  });

  test('every gradient travels once, in order, when it is ready', () => {
    fc.assert(
      fc.property(someGradients, someCost, fc.integer({ min: 1, max: 64 }), (list, cost, workers) => {
        for (const groups of [mergeGradients(list, cost), mergeWithinWait(list, workers)]) {
          expect(groups.map(({ first }) => first)).toEqual([0, ...groups.slice(0, -1).map(({ end }) => end)]);
          expect(groups.at(-1)?.end).toBe(list.length);
          for (const group of groups) {
            expect(group.ready).toBe(list[group.end - 1]?.ready);
          }
        }
      }),
    );
  });

  test('the rule as the authors write it, with all starts computed again after each merge, gives the same', () => {
    fc.assert(
      fc.property(someGradients, someCost, (list, cost) => {
        expect(mergeGradients(list, cost).map(({ end }) => end)).toEqual(mergedAsWritten(list, cost));
      }),
    );
  });

  test('rounding decides nothing', () => {
    fc.assert(
      fc.property(someGradients, someCost, (list, cost) => {
        const groupsOf = (rounding: number) => {
          const rounded = list.map((one, index) => ({
            ...one,
            ready: seconds(one.ready * (1 + (index % 2) * rounding)),
          }));
          return mergeGradients(rounded, cost).map(({ end }) => end);
        };
        expect(groupsOf(2 ** -50)).toEqual(groupsOf(0));
        expect(groupsOf(-(2 ** -50))).toEqual(groupsOf(0));
      }),
    );
  });

  test('without start-up each gradient travels alone or waits for nothing', () => {
    fc.assert(
      fc.property(someGradients, (list) => {
        const cost: LinearCost = { startup: seconds(0), secondsPerByte: 1e-9 };
        const alone = list.map(({ ready, bytes: count }) => ({ ready, time: linearTime(cost, count) }));
        expect(waitFreeEnd(sent(mergeGradients(list, cost), cost))).toBeCloseTo(waitFreeEnd(alone), 12);
      }),
    );
  });
});

/** O(L²): ends of the groups. */
function mergedAsWritten(list: readonly ReadyGradient[], cost: LinearCost): readonly number[] {
  const sizes: (number | undefined)[] = list.map((gradient) => gradient.bytes);
  const times = () =>
    sizes.map((size) => (size === undefined ? 0 : cost.startup + cost.secondsPerByte * size));
  const starts = (): readonly number[] => {
    let end = 0;
    return times().map((time, index) => {
      const start = Math.max(end, list[index]?.ready ?? 0);
      end = start + time;
      return start;
    });
  };
  for (let index = 0; index + 1 < list.length; index += 1) {
    const start = starts()[index] ?? 0;
    const next = list[index + 1]?.ready ?? 0;
    const isOnTheWire = next < start + (times()[index] ?? 0);
    if (!isOnTheWire || !(start > next || next - start < cost.startup)) continue;
    sizes[index + 1] = (sizes[index + 1] ?? 0) + (sizes[index] ?? 0);
    sizes[index] = undefined;
  }
  return sizes.flatMap((size, index) => (size === undefined ? [] : [index + 1]));
}

// DreamDDP, scripts/infocom21: 32 GPUs, least communication times of 10 GbE, bounds as computed from them.
test.each([
  [0.091, 0.182, 0.4085, 17.5],
  [0.073, 0.146, 0.1358, 32.0],
  [0.06315, 0.1263, 0.2897, 17.2],
  [0.10183, 0.20366, 0.7473, 11.5],
])('no overlap speeds %f s + %f s with %f s of communication up beyond %f', (forward, back, wire, bound) => {
  const times = { forward: seconds(forward), backward: seconds(back), communication: seconds(wire) };
  expect(largestSpeedup(32, times)).toBeCloseTo(bound, 1);
});
