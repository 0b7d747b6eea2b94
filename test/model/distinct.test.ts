import fc from 'fast-check';
import { expect, test } from 'vitest';
import { distinct } from '../../server/src/model/distinct.ts';

test('each item once, in order; the list itself where none repeats', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 12 }), { maxLength: 20 }), (items) => {
      expect(distinct(items)).toEqual([...new Set(items)]);
      if (items.length <= 8 && new Set(items).size === items.length) expect(distinct(items)).toBe(items);
    }),
  );
});
