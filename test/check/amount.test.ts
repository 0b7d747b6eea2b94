import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readAmount, type Unit } from '../../server/src/check/amount.ts';

/** Every name of every unit, by the SI and the binary prefixes (ISO/IEC 80000-13); B of a count is a billion. */
const names: Readonly<Record<Unit, Readonly<Record<string, number>>>> = {
  time: { ns: 1e-9, us: 1e-6, µs: 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600, d: 86_400 },
  size: {
    ...{ B: 1, kB: 1000, KB: 1000, MB: 1e6, GB: 1e9, TB: 1e12 },
    ...{ KiB: 1024, MiB: 1_048_576, GiB: 1_073_741_824, TiB: 1_099_511_627_776 },
  },
  share: { '%': 0.01 },
  count: { '': 1, k: 1000, M: 1e6, G: 1e9, B: 1e9, T: 1e12, P: 1e15 },
  money: { '': 1, k: 1000, M: 1e6 },
};

test.each(Object.entries(names))('%s in every unit, and in no other', (unit, values) => {
  const read = readAmount('?', unit as Unit);
  const listed = /\(units: (.*)\), nor/.exec(read.kind === 'wrong' ? read.message : '')?.[1] ?? '';
  expect(listed.split(', ')).toEqual(Object.keys(values).filter((name) => name !== ''));
  for (const [name, value] of Object.entries(values))
    expect(readAmount(`3 ${name}`, unit as Unit), name).toEqual({
      kind: 'absolute',
      value: expect.closeTo(3 * value, 12),
    });
});

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
