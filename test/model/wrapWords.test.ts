import fc from 'fast-check';
import { expect, it } from 'vitest';
import { fitTail } from '../../server/src/charts/shapes.ts';
import { wrapWords } from '../../server/src/model/wrapWords.ts';

it.each([
  ['a bb ccc', 4, ['a bb', 'ccc']],
  ['of 8 GPUs', 6, ['of', '8 GPUs']],
  ['a longest b', 3, ['a', 'longest', 'b']],
  ['', 3, []],
])('%j in lines of %i', (text, most, lines) => {
  expect(wrapWords(text, () => most)).toEqual(lines);
});

it('loses no word, and has no line that a word could still join', () => {
  const words = fc.array(fc.stringMatching(/^[a-z]{1,9}$/), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(words, fc.integer({ min: 1, max: 30 }), (all, most) => {
      const lines = wrapWords(all.join(' '), () => most);
      expect(lines.join(' ')).toBe(all.join(' '));
      for (const [index, line] of lines.entries()) {
        expect(line.length <= most || !line.includes(' ')).toBe(true);
        const [next] = lines[index + 1]?.split(' ') ?? [];
        if (next !== undefined) expect(line.length + 1 + next.length).toBeGreaterThan(most);
      }
    }),
  );
});

it.each([
  ['/layers/layers.2/blocks/blocks.1/mlp/fc2', 24, '…/blocks.1/mlp/fc2'],
  ['layers[*].attention.q_proj', 12, '…q_proj'],
  ['a_name_without_modules', 8, '…modules'],
  ['short', 8, 'short'],
])('the end of %s in %i characters is cut between modules', (text, most, expected) => {
  expect(fitTail(text, most)).toBe(expected);
});
