/** Values of dimensions: which request gives one, which the model has, which are left open, and what is said of them. */

import { expect, test } from 'vitest';
import type { ModelAnalysis } from '../../../server/src/analysis/modelAnalysis.ts';
import {
  bindDimensions,
  mergeDimensions,
  reportUnknownDimensions,
} from '../../../server/src/estimate/scenario/resolveDimensions.ts';
import type { Report } from '../../../server/src/estimate/scenario/scenarioReport.ts';
import type { ScenarioRequest } from '../../../server/src/model/scenario.ts';
import { chain } from '../../support/trainingGraph.ts';

const { analysis } = chain([{ parameters: 1 }]);
const withSymbols = (symbols: ModelAnalysis['symbols'], batchSymbol = 'batch'): ModelAnalysis => ({
  ...analysis,
  symbols,
  batchSymbol,
});
/** All its dimensions are numbers. */
const ofNumbers: ModelAnalysis = { ...withSymbols([]), batchSymbol: undefined };

/** All that is reported while `of` runs. */
function saying<Value>(of: (report: Report) => Value) {
  const said: (readonly unknown[])[] = [];
  const value = of((...all) => void said.push(all));
  return { value, said };
}

test.each<[string, readonly ScenarioRequest[], Readonly<Record<string, number>>]>([
  ['none', [], {}],
  ['none of requests without any', [{}, { batch: 4 }], {}],
  ['one request', [{ dimensions: { seq: 8, heads: 2 } }], { seq: 8, heads: 2 }],
  [
    'two, of different dimensions',
    [{ dimensions: { seq: 8 } }, { dimensions: { heads: 2 } }],
    { seq: 8, heads: 2 },
  ],
  [
    'two, of one: the first',
    [{ dimensions: { seq: 8 } }, { dimensions: { seq: 9, heads: 2 } }],
    { seq: 8, heads: 2 },
  ],
  ['a first of 0', [{ dimensions: { past: 0 } }, { dimensions: { past: 9 } }], { past: 0 }],
])('of %s', (_, requests, merged) => {
  expect(Object.fromEntries(mergeDimensions(requests))).toEqual(merged);
});

const text = withSymbols([
  { name: 'batch', default: undefined },
  { name: 'seq', default: undefined },
]);
const notWhole = (name: string, value: number) => [
  'error',
  'scenario/invalid',
  `Dimension \`${name}\` is ${value}; it takes a whole number from 0`,
  'dimensions',
];
const unknown = (name: string, instead: string) => [
  'warning',
  'scenario/invalid',
  `The model has no symbolic dimension \`${name}\`; ${instead}`,
  'dimensions',
];

test.each<[string, Readonly<Record<string, number>>, ModelAnalysis, readonly string[], readonly unknown[]]>([
  ['nothing is given', {}, text, [], []],
  ['the model has it', { seq: 8 }, text, [], []],
  // A decoder's past at its first step.
  ['it is empty', { seq: 0 }, text, [], []],
  ['it is a part of one', { seq: 0.5 }, text, [], [notWhole('seq', 0.5)]],
  ['it is negative', { seq: -1 }, text, [], [notWhole('seq', -1)]],
  ['it is no number', { seq: Number.NaN }, text, [], [notWhole('seq', Number.NaN)]],
  ['the model has others', { width: 8 }, text, [], [unknown('width', 'it has batch, seq')]],
  ['a layer spec has settled it', { width: 8 }, text, ['width'], []],
  [
    'a layer spec has settled another',
    { height: 8 },
    text,
    ['width', 'seq'],
    [unknown('height', 'it has batch, seq, width')],
  ],
  ['it is the batch', { batch: 8 }, withSymbols([]), [], []],
  ['all are numbers', { seq: 8 }, ofNumbers, [], [unknown('seq', 'all its dimensions are numbers')]],
  [
    'several are wrong',
    { width: -1, seq: 2 },
    text,
    [],
    [notWhole('width', -1), unknown('width', 'it has batch, seq')],
  ],
])('where %s', (_, given, of, settled, said) => {
  const names = new Map(Object.entries(given));
  expect(saying((report) => reportUnknownDimensions(names, of, settled, report)).said).toEqual(said);
});

const outOfRange = (name: string, value: number, limit: number, key: string) => [
  'warning',
  'scenario/out-of-range',
  `Dimension \`${name}\` is ${value}, but the model was exported for at most ${limit}; give at most ${limit}, or export it for more`,
  key,
];
const open = (name: string) => [
  'warning',
  'shape/unbound-dimension',
  `Dimension \`${name}\` has no value, so costs that depend on it are unknown`,
  'dimensions',
  [name],
];
const symbol = (name: string, standard?: number, limit?: number): ModelAnalysis['symbols'][number] => ({
  name,
  default: standard,
  ...(limit === undefined ? {} : { limit }),
});

/** With a batch of 4. */
test.each<
  [
    string,
    Readonly<Record<string, number>>,
    ModelAnalysis,
    Readonly<Record<string, number>>,
    readonly unknown[],
  ]
>([
  ['has none', {}, ofNumbers, {}, []],
  ['has its batch', {}, withSymbols([symbol('batch')]), { batch: 4 }, []],
  ['has a batch of another name', {}, withSymbols([symbol('N')], 'N'), { N: 4 }, []],
  ['names its batch nowhere else', {}, withSymbols([]), { batch: 4 }, []],
  ['takes no other batch from dimensions', { batch: 9 }, withSymbols([symbol('batch')]), { batch: 4 }, []],
  ['has a value that is given', { seq: 8 }, withSymbols([symbol('seq', 2)]), { batch: 4, seq: 8 }, []],
  ['has a given value of 0', { past: 0 }, withSymbols([symbol('past', 2)]), { batch: 4, past: 0 }, []],
  ['has a default', {}, withSymbols([symbol('seq', 2)]), { batch: 4, seq: 2 }, []],
  ['leaves one open', {}, withSymbols([symbol('seq')]), { batch: 4 }, [open('seq')]],
  ['does not have what is given', { other: 8 }, withSymbols([symbol('seq', 2)]), { batch: 4, seq: 2 }, []],
  ['has one at its limit', { seq: 16 }, withSymbols([symbol('seq', 2, 16)]), { batch: 4, seq: 16 }, []],
  [
    'has one above its limit',
    { seq: 17 },
    withSymbols([symbol('seq', 2, 16)]),
    { batch: 4, seq: 17 },
    [outOfRange('seq', 17, 16, 'dimensions')],
  ],
  [
    'has a default above its limit',
    {},
    withSymbols([symbol('seq', 17, 16)]),
    { batch: 4, seq: 17 },
    [outOfRange('seq', 17, 16, 'dimensions')],
  ],
  [
    'has a batch above its limit',
    {},
    withSymbols([symbol('batch', undefined, 3)]),
    { batch: 4 },
    [outOfRange('batch', 4, 3, 'batch')],
  ],
  [
    'leaves one open that has a limit',
    {},
    withSymbols([symbol('seq', undefined, 16)]),
    { batch: 4 },
    [open('seq')],
  ],
])('a model that %s', (_, given, of, bound, said) => {
  const names = new Map(Object.entries(given));
  expect(saying((report) => bindDimensions(names, 4, of, report))).toEqual({ value: bound, said });
});
