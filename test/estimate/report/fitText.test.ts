import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Column, fitColumns } from '../../../server/src/estimate/report/columns.ts';
import { shortenMiddle, wrapText } from '../../../server/src/estimate/report/fitText.ts';

it.each([
  ['/model/h.0/mlp/c_fc', 19, '/model/h.0/mlp/c_fc'],
  ['/model/h.0/mlp/c_fc', 16, '/mode…0/mlp/c_fc'],
  ['abcdef', 1, '…'],
  ['😀😀😀😀😀', 4, '😀…😀😀'],
])('shortens %s to %i', (text, width, expected) => expect(shortenMiddle(text, width)).toBe(expected));

it.each([
  ['one two three', 9, 2, ['one two', '  three']],
  ['takes 1.50 ms or so', 14, 0, ['takes 1.50 ms', 'or so']],
  ['name   value  detail', 15, 4, ['name   value', '    detail']],
  ['unbreakable', 4, 2, ['unbreakable']],
])('breaks “%s” at %i', (text, width, indent, expected) => {
  expect(wrapText(text, width, indent)).toEqual(expected);
  expect(wrapText(text, undefined, indent)).toEqual([text]);
});

const columns: readonly Column[] = [
  { title: 'layer', align: 'left', least: 8 },
  { title: 'type', align: 'left', least: 6, leaves: 2 },
  { title: 'output', align: 'left', leaves: 1 },
  { title: 'time', align: 'right' },
];
const rows = [['encoder.layer.0.attention', 'MultiheadAttention', '8×128×768', '1.20 ms']];

it.each([
  [100, 'encoder.layer.0.attention  MultiheadAttention  8×128×768  1.20 ms', []],
  [60, 'encoder.layer.0.attention  Mult…ttention  8×128×768  1.20 ms', []],
  [50, 'encoder…er.0.attention  M…tion  8×128×768  1.20 ms', []],
  [30, 'enco…ttention  M…tion  1.20 ms', ['output']],
  [20, 'enc…tention  1.20 ms', ['type', 'output']],
])('fits a table into %i characters', (room, line, left) => {
  const fitted = fitColumns(columns, rows, room);
  expect([fitted.lines[1], fitted.left, fitted.whole]).toEqual([line, left, 65]);
});

it('never makes a line longer, and keeps the columns that do not leave', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 120 }), fc.array(fc.string({ maxLength: 60 })), (room, names) => {
      const many = names.map((name) => [name, name, name, '1 s']);
      const { lines, whole } = fitColumns(columns, many, room);
      const least = 8 + 2 + 4;
      for (const line of lines) {
        expect([...line].length).toBeLessThanOrEqual(Math.min(whole, Math.max(room, least)));
      }
    }),
  );
});
