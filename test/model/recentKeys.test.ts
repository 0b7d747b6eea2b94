import fc from 'fast-check';
import { expect, test } from 'vitest';
import { recentKeys } from '../../server/src/model/recentKeys.ts';

test('the last hundred keys, however a map grows between two questions', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 150 }), { maxLength: 8 }), (steps) => {
      const map = new Map<string, number>();
      for (const step of steps) {
        for (let index = 0; index < step; index += 1) map.set(`k${map.size}`, index);
        map.set('k0', step);
        expect(recentKeys(map)).toEqual([...map.keys()].slice(-100));
      }
    }),
  );
});
