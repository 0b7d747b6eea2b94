/** Options read from text: what each kind of value takes, what one option sets of another, and what it leaves no choice of. */

import { describe, expect, test } from 'vitest';
import {
  countOf,
  type Expectation,
  type FrameworkOption,
  fittedOrNumber,
  fromZero,
  nodesOrNumber,
  numberFrom,
  oneOf,
  positiveNumber,
  readOptions,
  wholeNumber,
} from '../../server/src/frameworks/options.ts';

/** By kind: texts that it takes, texts that it does not, and what it says it takes. */
test.each<[string, Expectation, readonly string[], readonly string[], string]>([
  [
    'positive',
    positiveNumber,
    ['1', '0.001', '1e-9', ' 2 '],
    ['0', '-1', '', ' ', 'x', 'NaN', 'Infinity'],
    'a positive number',
  ],
  ['from zero', fromZero, ['0', '0.5', '7'], ['-0.001', '', ' ', 'x', 'Infinity'], '0 or a positive number'],
  [
    'fitted',
    fittedOrNumber,
    ['fitted', '0', '2.5'],
    ['-1', '', 'Fitted', 'Infinity'],
    'fitted, 0 or a positive number',
  ],
  ['whole', wholeNumber, ['1', '12'], ['0', '-1', '1.5', '', 'x', 'Infinity'], 'a whole number from 1'],
  ['from a bound', numberFrom(0.5), ['0.5', '1'], ['0.49', '', ' ', 'x', 'Infinity'], 'a number from 0.5'],
  [
    'nodes',
    nodesOrNumber,
    ['nodes', '1', '10000'],
    ['0', '10001', '1.5', '', 'node'],
    'nodes, or a whole number from 1 to 10000',
  ],
  ['one of', oneOf('a', 'b'), ['a', 'b'], ['', 'c', 'A', 'a or b'], 'a or b'],
])('%s', (_, expects, taken, refused, says) => {
  expect(taken.map((text) => expects(text))).toEqual(taken.map(() => undefined));
  expect(refused.map((text) => expects(text))).toEqual(refused.map(() => says));
});

test('values that can be listed are; those that cannot are not', () => {
  expect([oneOf('a', 'b').choices, numberFrom(1).choices]).toEqual([['a', 'b'], undefined]);
});

test.each([
  [undefined, 3, 3],
  ['nodes', 3, 3],
  ['7', 3, 7],
])('%s servers of %i nodes are %i', (text, nodes, count) => {
  expect(countOf(text, nodes)).toBe(count);
});

const option = (name: string, usual: string, more: Partial<FrameworkOption> = {}): FrameworkOption => ({
  name,
  default: usual,
  documentation: name,
  expects: oneOf('old', 'new', 'other'),
  ...more,
});
/** An old release has another default of `layout`, and no `fast`. */
const release = option('release', 'new', {
  sets: (text) => new Map(text === 'old' ? [['layout', { now: 'new', was: 'old' }]] : []),
  refuses: (text, name) => (text === 'old' && name === 'fast' ? 'the old release has none' : undefined),
});
const known = [release, option('layout', 'new'), option('fast', 'other')];

describe('options together', () => {
  const refused =
    '`fast=new` of `f` does nothing: the old release has none; leave it out, or set a later `release`';
  test.each<[string, Readonly<Record<string, string>>, readonly [string, string, string], readonly string[]]>(
    [
      ['nothing given', {}, ['new', 'new', 'other'], []],
      ['a value given', { fast: 'new' }, ['new', 'new', 'new'], []],
      ['one sets the default of another', { release: 'old' }, ['old', 'old', 'other'], []],
      ['what is given goes before that', { release: 'old', layout: 'other' }, ['old', 'other', 'other'], []],
      ['also the default itself', { layout: 'new', release: 'old' }, ['old', 'new', 'other'], []],
      ['a value that sets nothing', { release: 'other' }, ['other', 'new', 'other'], []],
      ['one leaves another no choice', { release: 'old', fast: 'new' }, ['old', 'old', 'other'], [refused]],
      ['but its default', { release: 'old', fast: 'other' }, ['old', 'old', 'other'], []],
      [
        'what it does not take sets nothing, and refuses nothing',
        { release: 'older', fast: 'new' },
        ['new', 'new', 'new'],
        ['Option `release` of `f` is "older"; it takes old or new or other'],
      ],
      [
        'a name that is nearly one',
        { layuot: 'new' },
        ['new', 'new', 'other'],
        ['`f` has no option `layuot` (did you mean `layout`?); it has `release`, `layout`, `fast`'],
      ],
      [
        'a wrong value is told before what it is refused for',
        { release: 'old', fast: 'x' },
        ['old', 'old', 'other'],
        ['Option `fast` of `f` is "x"; it takes old or new or other'],
      ],
    ],
  )('%s', (_, given, values, messages) => {
    const read = readOptions('f', known, given);
    expect([...read.values]).toEqual(known.map(({ name }, index) => [name, values[index]]));
    expect(read.issues.map(({ message }) => message)).toEqual(messages);
    for (const issue of read.issues)
      expect(issue).toMatchObject({ severity: 'error', scenarioKey: 'framework' });
  });

  test('a default that was set before is not set again', () => {
    const twice = option('twice', 'new', { sets: () => new Map([['layout', { now: 'new', was: 'other' }]]) });
    const { values } = readOptions('f', [release, twice, option('layout', 'new')], {
      release: 'old',
      twice: 'old',
    });
    expect(values.get('layout')).toBe('old');
  });

  test('a framework without options has none', () => {
    const { issues } = readOptions('f', [], { a: '1' });
    expect(issues.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^`f` has no option `a`.*it has none$/),
    ]);
  });
});
