/** Cells that a spreadsheet would run as formulas, or that would steer a terminal, are text. */

import { expect, test } from 'vitest';
import { csvOf } from '../../../server/src/estimate/report/csv.ts';
import { printableLines } from '../../../server/src/model/readableIssues.ts';

test.each([
  ['=HYPERLINK("http://x","y")', `"'=HYPERLINK(""http://x"",""y"")"`],
  ['+1', "'+1"],
  ['-1', "'-1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\t=1', "'\\u0009=1"],
  ['/layer1/conv', '/layer1/conv'],
  ['a,b', '"a,b"'],
  ['\u001b[31mred', '\\u001b[31mred'],
  ['abc\u202edef', 'abc\\u202edef'],
  [-0.5, '-0.5'],
  [null, ''],
])('%j is written as %j', (cell, written) => {
  expect(csvOf([['name', () => cell]], [0])).toBe(`name\r\n${written}\r\n`);
});

test('a terminal is shown lines and tabs, and nothing that steers it', () => {
  expect(printableLines('a\tb\r\nc\u001b]0;title\u0007\u009b1m\u2066x')).toBe(
    'a\tb\r\nc\\u001b]0;title\\u0007\\u009b1m\\u2066x',
  );
});
