import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isSameContent } from '../../server/src/model/sameContent.ts';

it.each<[unknown, unknown, boolean]>([
  [1, 1, true],
  [Number.NaN, Number.NaN, true],
  [0, -0, false],
  [Number.POSITIVE_INFINITY, null, false],
  [[1, 2], [1, 2], true],
  [[1, 2], [2, 1], false],
  [[1], { 0: 1 }, false],
  [{ a: 1, b: [2] }, { b: [2], a: 1 }, true],
  [{ a: undefined }, {}, false],
  [{ a: undefined }, { b: undefined }, false],
  [new Map([['a', [1]]]), new Map([['a', [1]]]), true],
  [new Map([['a', [1]]]), new Map([['b', [1]]]), false],
  [new Map(), {}, false],
  [new Date(1), new Date(1), false],
  [null, undefined, false],
])('%j and %j', (left, right, same) => {
  expect(isSameContent(left, right)).toBe(same);
  expect(isSameContent(right, left)).toBe(same);
});

it('plain data is the same as its copy', () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => isSameContent(value, structuredClone(value))));
});
