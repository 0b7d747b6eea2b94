/** Samples of a pass and passes of a step: what is asked for first, what the model fixes, and what is said of it. */

import { expect, test } from 'vitest';
import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import {
  askedBatch,
  askedGlobalBatch,
  microBatches,
  onlyMicroBatch,
  reportTwoBatches,
  resolveBatch,
} from '../../../server/src/estimate/scenario/resolveBatch.ts';
import type { ScenarioRequest } from '../../../server/src/model/scenario.ts';

const { analysis } = openLayerSpec(
  'inputs: { x: "float32[batch, 8]" }\nlayers:\n  - l: Linear(8, 8)\n',
  'm.layers.yaml',
);
if (analysis === undefined) throw new Error('not read');
const anyBatch = analysis;
/** A file with a batch of 4. */
const ofFour = { ...analysis, batchSymbol: undefined, fixedBatch: 4 };

/** What is reported while `of` runs: severity, message, key. */
function saying<Value>(of: (report: (...said: readonly unknown[]) => void) => Value) {
  const said: unknown[] = [];
  const value = of((severity, _, message, key) => void said.push([severity, message, key]));
  return { value, said };
}

test.each<[string, readonly ScenarioRequest[], number | undefined]>([
  ['nothing', [], undefined],
  ['none', [{}, { accumulate: 2 }], undefined],
  ['one behind requests without a batch', [{}, { globalBatch: 8 }], 8],
  ['one before a batch per GPU', [{ globalBatch: 8 }, { batch: 4 }], 8],
  ['one behind a batch per GPU, which goes first', [{ batch: 4 }, { globalBatch: 8 }], undefined],
  ['one behind another', [{ globalBatch: 8 }, { globalBatch: 16 }], 8],
])('of a global batch, %s', (_, requests, asked) => {
  expect(askedGlobalBatch(requests)).toBe(asked);
});

// The busiest GPU takes what a division leaves.
test.each<[readonly ScenarioRequest[], number, number | undefined]>([
  [[{ batch: 4 }], 3, 4],
  [[{ globalBatch: 12 }], 3, 4],
  [[{ globalBatch: 13 }], 3, 5],
  [[{ globalBatch: 2 }], 3, 1],
  [[{}], 3, undefined],
])('%j over %d passes of all GPUs', (requests, passes, batch) => {
  expect(askedBatch(requests, passes)).toBe(batch);
});

const noEffect = [
  'warning',
  '`micro-batch` has no effect without a global batch; set `global-batch`, or `batch` and `accumulate`',
  'parallel',
];
const wrong = (asked: number) => [
  'error',
  `\`accumulate\` is ${asked}; it takes a whole number from 1`,
  'accumulate',
];
test.each<[number | undefined, readonly ScenarioRequest[], number, readonly unknown[]]>([
  [undefined, [{}], 1, []],
  [undefined, [{ accumulate: 3 }], 3, []],
  [undefined, [{ accumulate: 1 }], 1, []],
  [undefined, [{ accumulate: 0 }], 1, [wrong(0)]],
  [undefined, [{ accumulate: -2 }], 1, [wrong(-2)]],
  [undefined, [{ accumulate: 1.5 }], 1, [wrong(1.5)]],
  // 4 copies with micro-batches of 2: 8 samples at once.
  [2, [{ globalBatch: 64 }], 8, []],
  [2, [{ globalBatch: 65 }], 9, []],
  [2, [{ globalBatch: 0 }], 1, []],
  [2, [{ globalBatch: 64, accumulate: 3 }], 8, []],
  [2, [{ batch: 64 }], 1, [noEffect]],
  [2, [{ batch: 64, accumulate: 3 }], 3, [noEffect]],
])('a micro-batch of %s for %j on 4 copies is %d passes', (microBatch, requests, passes, said) => {
  expect(saying((report) => microBatches(microBatch, 4, requests, report))).toEqual({ value: passes, said });
});

test.each([
  ['is its micro-batch', { globalBatch: 64 }, ofFour, 4],
  ['has as many passes as asked for', { globalBatch: 64, accumulate: 2 }, ofFour, undefined],
  ['has one pass where no global batch is asked for', { batch: 4 }, ofFour, undefined],
  ['is any where the file does not fix it', { globalBatch: 64 }, anyBatch, undefined],
])('the batch of a file %s', (_, request, of, microBatch) => {
  expect(onlyMicroBatch([request], of)).toBe(microBatch);
});

const notWhole = (asked: number) => [
  'error',
  `\`batch\` is ${asked}; it takes a whole number from 1`,
  'batch',
];
const given = new Map([['batch', 16]]);
const withDefault = { ...anyBatch, symbols: anyBatch.symbols.map((symbol) => ({ ...symbol, default: 32 })) };
test.each<
  [string, number | undefined, ReadonlyMap<string, number>, typeof anyBatch, number, readonly unknown[]]
>([
  ['what is asked for', 8, given, withDefault, 8, []],
  ['else its dimension', undefined, given, withDefault, 16, []],
  ['else the default of the file', undefined, new Map(), withDefault, 32, []],
  [
    'else one',
    undefined,
    new Map(),
    anyBatch,
    1,
    [['information', 'The batch (`batch`) has no value; costs assume one sample per GPU', 'batch']],
  ],
  ['one, which is asked for', 1, new Map(), anyBatch, 1, []],
  ['none', 0, given, anyBatch, 1, [notWhole(0)]],
  ['a part of one', 0.5, given, anyBatch, 1, [notWhole(0.5)]],
  ['what is none of a file', -1, given, ofFour, 4, [notWhole(-1)]],
  ['of a file, its own', undefined, given, ofFour, 4, []],
  ['of a file, its own asked for', 4, given, ofFour, 4, []],
  [
    'of a file, another',
    8,
    given,
    ofFour,
    4,
    [
      [
        'warning',
        'The model fixes its batch at 4, so 8 samples per GPU cannot be applied. Export it with a dynamic batch',
        'batch',
      ],
    ],
  ],
  ['of a file without one', undefined, given, { ...ofFour, fixedBatch: undefined }, 1, []],
])('the batch is %s', (_, asked, dimensions, of, batch, said) => {
  expect(saying((report) => resolveBatch(asked, dimensions, of, report))).toEqual({ value: batch, said });
});

const twice = (name: string, value: number) => [
  'warning',
  `Dimension \`batch\` is 4 and the ${name} is ${value}; costs take the ${name}. Set one of them`,
  'dimensions',
];
const dimensions = { batch: 4 };
test.each<[string, readonly ScenarioRequest[], typeof anyBatch, readonly unknown[]]>([
  ['as a dimension alone', [{ dimensions }], anyBatch, []],
  ['as itself alone', [{ batch: 8 }], anyBatch, []],
  ['alike', [{ dimensions, batch: 4 }], anyBatch, []],
  ['in two ways', [{ dimensions, batch: 8 }], anyBatch, [twice('batch', 8)]],
  // Samples of a step are none of a pass, however many they are.
  ['beside a global batch', [{ dimensions, globalBatch: 4 }], anyBatch, [twice('global batch', 4)]],
  ['at two places', [{ dimensions }, { batch: 8 }], anyBatch, []],
  ['where the file fixes it', [{ dimensions, batch: 8 }], ofFour, []],
])('a batch that is said %s', (_, requests, of, said) => {
  expect(saying((report) => reportTwoBatches(requests, of, report)).said).toEqual(said);
});
