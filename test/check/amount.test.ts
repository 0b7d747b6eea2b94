import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readAmount, type Unit } from '../../server/src/check/amount.ts';

test.each<[Unit, string, number]>([
  ['time', '60 ms', 0.06],
  ['time', '60ms', 0.06],
  ['time', '1.5 s', 1.5],
  ['time', '13 h', 46_800],
  ['time', '20 µs', 2e-5],
  ['size', '70 GiB', 75_161_927_680],
  ['size', '80 GB', 8e10],
  ['share', '80 %', 0.8],
  ['share', '80%', 0.8],
  ['count', '26 M', 26e6],
  ['count', '25557032', 25_557_032],
  ['count', '25,557,032', 25_557_032],
  ['count', '7 B', 7e9],
  ['money', '$2000', 2000],
  ['money', '$2,000', 2000],
  ['money', '1.5 k', 1500],
])('%s: %s', (unit, text, value) => {
  expect(readAmount(text, unit)).toEqual({ kind: 'absolute', value: expect.closeTo(value, 9) });
});

test.each([
  ['+5 %', 0.05],
  ['-5%', -0.05],
  ['+0 %', 0],
  ['+ 2.5 %', 0.025],
])('the change %s', (text, share) => {
  for (const unit of ['time', 'share', 'money'] as const)
    expect(readAmount(text, unit)).toEqual({ kind: 'relative', share: expect.closeTo(share, 12) });
});

test.each<[Unit, string]>([
  ['time', '60'],
  ['time', '60 GiB'],
  ['time', '-60 ms'],
  ['time', ''],
  ['time', 'fast'],
  ['size', '70 ms'],
  ['share', '0.8'],
  ['time', '$60'],
  ['count', '5 %'],
  ['time', '1e999 s'],
])('%s refuses %j', (unit, text) => {
  expect(readAmount(text, unit)).toEqual({
    kind: 'wrong',
    message: expect.stringContaining('is not an amount'),
  });
});

test('no text makes it throw', () => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.constantFrom<Unit>('time', 'size', 'share', 'count', 'money'),
      (text, unit) => {
        const read = readAmount(text, unit);
        if (read.kind === 'absolute') expect(Number.isFinite(read.value)).toBe(true);
      },
    ),
  );
});
