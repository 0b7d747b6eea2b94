import { expect, test } from 'vitest';
import { parseDimension } from '../../../server/src/analysis/parseDimension.ts';
import { symbolicSize } from '../../../server/src/formats/pt2/symbolicSize.ts';
import { evaluateDimension } from '../../../server/src/model/dimension.ts';

const s0 = "Symbol('s0', positive=True, integer=True)";

/** Texts are `sympy.srepr` of the expression (sympy 1.14, `torch.utils._sympy.functions`), values by hand at s0 = 9. */
test.each([
  [s0, 9],
  [`Add(Mul(Integer(2), ${s0}), Integer(-1))`, 17],
  [`FloorDiv(${s0}, Integer(2))`, 4],
  [`Add(FloorDiv(Add(${s0}, Integer(-1)), Integer(2)), Integer(1))`, 5],
  [`Mul(Integer(-1), ${s0}, Integer(-3))`, 27],
  [`Pow(${s0}, Integer(3))`, 729],
  [`Max(Integer(1), ${s0})`, 9],
  ['2*s0 - 1', 17],
])('%s at s0 = 9 is %s', (text, value) => {
  const size = symbolicSize(text);
  expect(evaluateDimension(parseDimension(String(size)), new Map([['s0', 9]]))).toBe(value);
});

test.each([
  ['Integer(12)', 12],
  ['Mod(Integer(1), Integer(2))', undefined],
  ['Add(Integer(1)', undefined],
  [`Symbol('a b')`, undefined],
  [`${'Add('.repeat(1000)}Integer(1)${')'.repeat(1000)}`, undefined],
])('%s is %s', (text, size) => {
  expect(symbolicSize(text)).toBe(size);
});
