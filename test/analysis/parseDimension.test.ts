import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseDimension } from '../../server/src/analysis/parseDimension.ts';
import { evaluateDimension, printDimension } from '../../server/src/model/dimension.ts';

test.each([
  ['batch', 'batch'],
  ['2*s0 + 1', '2*s0 + 1'],
  ['batch*seq', 'batch*seq'],
  ['(s0 - 1)//2 + 1', 'floor((s0 - 1)/(2)) + 1'],
  ['floor(s0/2)', 'floor((s0)/(2))'],
  ['Max(1, s0)', 'max(1, s0)'],
  ['s0**2', 's0*s0'],
  ['-s0 + 4', '-s0 + 4'],
  ['4*s0//4', 's0'],
  ['images.shape', 'images.shape'],
  ['batch size', 'batch size'],
  ['unk__0', 'unk__0'],
  ['a +', 'a +'],
  ['(a', '(a'],
  ['f(x)', 'f(x)'],
])('%s', (text, printed) => {
  expect(printDimension(parseDimension(text))).toBe(printed);
});

test('nesting without end is one name', () => {
  const text = `${'('.repeat(100_000)}a`;
  expect(printDimension(parseDimension(text))).toBe(text);
});

test('sums and products evaluate as they are written', () => {
  const leaf = fc.oneof(fc.integer({ min: 0, max: 9 }).map(String), fc.constantFrom('a', 'b'));
  const expression = fc.letrec<{ tree: string }>((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small' },
      leaf,
      fc
        .tuple(tie('tree'), fc.constantFrom('+', '-', '*'), tie('tree'))
        .map(([left, operator, right]) => `(${left} ${operator} ${right})`),
    ),
  })).tree;
  fc.assert(
    fc.property(expression, (text) => {
      const value = evaluateDimension(
        parseDimension(text),
        new Map([
          ['a', 3],
          ['b', 5],
        ]),
      );
      expect(value === 0 ? 0 : value).toBe(compute(text.replaceAll('a', '3').replaceAll('b', '5')));
    }),
  );
});

/** Fully parenthesised arithmetic, innermost first. */
function compute(text: string): number {
  const inner = /\((-?\d+) ([-+*]) (-?\d+)\)/.exec(text);
  if (inner === null) return Number(text) === 0 ? 0 : Number(text);
  const [whole, left, operator, right] = inner;
  const [a, b] = [Number(left), Number(right)];
  const value = operator === '+' ? a + b : operator === '-' ? a - b : a * b;
  return compute(text.replace(whole, String(value)));
}
