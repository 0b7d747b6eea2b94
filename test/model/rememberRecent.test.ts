import { expect, test } from 'vitest';
import { memoizeRecent } from '../../server/src/model/memoizeRecent.ts';

test('the last few questions about a thing are answered once, and those about another apart', () => {
  const asked: string[] = [];
  const answer = memoizeRecent(
    ({ name }: { readonly name: string }, question: number) => {
      asked.push(`${name}${question}`);
      return { name, question };
    },
    (known, question) => known === question,
  );
  const [a, b] = [{ name: 'a' }, { name: 'b' }];
  expect(answer(a, 1)).toBe(answer(a, 1));
  expect(answer(a, 1)).not.toBe(answer(b, 1));
  expect(asked).toEqual(['a1', 'b1']);
  for (const question of [2, 3, 4, 1]) expect(answer(a, question)).toEqual({ name: 'a', question });
  expect(asked).toEqual(['a1', 'b1', 'a2', 'a3', 'a4', 'a1']);
});
