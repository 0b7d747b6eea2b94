/** Whether layers add up to the step, in the words of a report. */

import { expect, it } from 'vitest';
import {
  layerSum,
  layerSumLines,
  type SumConditions,
  type Summed,
} from '../../server/src/benchmark/layerSum.ts';
import { seconds } from '../../server/src/model/units.ts';

const time = (forward: number, backward: number, forwardInStep = forward) => ({
  forward: seconds(forward),
  backward: seconds(backward),
  forwardInStep: seconds(forwardInStep),
});

const measured = (changes: Partial<Summed> = {}): Summed => ({
  layers: new Map([
    ['a', time(0.1, 0.2)],
    ['b', time(0.3, 0.5)],
  ]),
  wholeStep: {
    whole: seconds(1.2),
    quartiles: { low: seconds(1.1), high: seconds(1.3) },
    forward: seconds(0.4),
    backward: seconds(0.75),
    repeats: 3,
    again: seconds(1.25),
  },
  gradientSums: { count: 2, seconds: seconds(0.05) },
  notMeasured: new Map(),
  ...changes,
});

const plain: SumConditions = { accumulate: 1, compile: null, checkpoint: 'none', caches: 'cold' };

it('sums layers, and in backward what several of them make', () => {
  expect(layerSum(measured(), plain)).toEqual({
    forward: { layers: 0.4, step: 0.4 },
    backward: { layers: 0.75, step: 0.75 },
    both: { layers: 1.15, step: 1.15 },
  });
});

it('takes one pass of several', () => {
  expect(layerSum(measured(), { ...plain, accumulate: 2 })).toEqual({
    forward: { layers: 0.4, step: 0.2 },
    backward: { layers: 0.75, step: 0.375 },
    both: { layers: 1.15, step: 0.575 },
  });
});

it('is nothing without a step or without layers', () => {
  const { wholeStep: _, ...withoutStep } = measured();
  expect(layerSumLines(withoutStep, plain)).toEqual([]);
  expect(layerSumLines(measured({ layers: new Map() }), plain)).toEqual([]);
});

it('says no more where it is near', () => {
  expect(layerSumLines(measured(), plain)).toEqual([
    'layers add up to 1.00 of the step without update: forward 400 ms of 400 ms (1.00), backward 750 ms of 750 ms (1.00)',
  ]);
});

it.each<[RegExp, Partial<Summed>, Partial<SumConditions>]>([
  [
    /^ {2}one layer was not measured$/,
    {
      notMeasured: new Map([
        ['c', 'no rule'],
        ['', 'x'],
      ]),
    },
    {},
  ],
  [/^ {2}the step was compiled, the layers were not$/, {}, { compile: 'default' }],
  [/^ {2}backward of the step recomputes blocks/, {}, { checkpoint: 'block' }],
  [/^ {2}layers ran with hot caches/, {}, { caches: 'hot' }],
  [/takes 200 ms within the network, 100 ms more on their own/, {}, {}],
  [/^ {2}the timed steps took 200 ms more in forward than the layers within/, {}, {}],
  [/backward has 50.0 ms of sums of 2 gradients that several layers make/, {}, {}],
])('explains a larger difference: %s', (line, changes, conditions) => {
  const layers = new Map([['a', time(0.3, 0.4, 0.2)]]);
  expect(layerSumLines(measured({ layers, ...changes }), { ...plain, ...conditions })).toContainEqual(
    expect.stringMatching(line),
  );
});

it('says that the machine changed', () => {
  const { wholeStep, ...rest } = measured({ layers: new Map([['a', time(0.1, 0.2)]]) });
  if (wholeStep === undefined) throw new Error('no step');
  expect(layerSumLines({ ...rest, wholeStep: { ...wholeStep, again: seconds(1.8) } }, plain)).toContain(
    '  the step took 1.50× as long after the layers as before them: other work ran, or the clock changed',
  );
});

it.each([
  [0.102, false],
  [0.08, true],
])(
  'what a step takes beside its layers in it is told from a tenth of the step on: %f s',
  (second, isTold) => {
    // 0.35 + 0.102 of 0.5 s leave a tenth of themselves, but less of the step.
    const layers = new Map([
      ['a', time(0.1, 0.2, 0.35)],
      ['b', time(0.1, 0.5, second)],
    ]);
    const { wholeStep } = measured();
    if (wholeStep === undefined) throw new Error('no step');
    const lines = layerSumLines(
      measured({ layers, wholeStep: { ...wholeStep, forward: seconds(0.5) } }),
      plain,
    );
    expect(lines.some((line) => line.includes('the timed steps took'))).toBe(isTold);
  },
);
