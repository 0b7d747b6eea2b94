import { expect, test } from 'vitest';
import { floatAt, intAt, itemAt } from '../../server/src/model/at.ts';

test.each([
  ['floatAt', (index: number) => floatAt(new Float64Array([0, 2]), index), 2],
  ['intAt', (index: number) => intAt(new Int32Array([0, 3]), index), 3],
  ['itemAt', (index: number) => itemAt(['', 'b'], index), 'b'],
])('%s reads what is there and throws where nothing is', (_, read, last) => {
  expect(read(1)).toBe(last);
  for (const index of [-1, 2, Number.NaN]) expect(() => read(index)).toThrow(RangeError);
});
