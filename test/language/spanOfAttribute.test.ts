/** The name of an attribute is found where a node of a text writes it. */

import { expect, test } from 'vitest';
import { spanOfAttribute } from '../../server/src/language/onnx-text/spanOfAttribute.ts';
import { splitLines } from '../../server/src/language/textLines.ts';

const text = [
  'g (float[1] x) => (float[1] y) {',
  '  a = Relu (x)',
  '  b = Conv <pads = [0, 0],',
  '    group = 1, auto_pad = "SAME">(a, w)',
  '  y = Softmax <axis: int = 1> (b)',
  '}',
];
const nodeLines = [1, 2, 4];

test.each(['\n', '\r\n'])('of nodes over several lines that end in %j', (lineEnd) => {
  const source = text.join(lineEnd);
  const view = { text: splitLines(source), nodeLines };
  const found = (operator: number, name: string): string | undefined => {
    const span = spanOfAttribute(view, operator, name);
    return span && `${span.start}: ${source.slice(span.start, span.end)}`;
  };
  for (const [operator, name] of [
    [1, 'pads'],
    [1, 'group'],
    [1, 'auto_pad'],
    [2, 'axis'],
    [1, 'group'],
  ] as const) {
    expect(found(operator, name)).toBe(`${source.indexOf(name)}: ${name}`);
  }
  expect(found(0, 'group')).toBeUndefined();
  expect(found(1, 'axis')).toBeUndefined();
  expect(found(9, 'axis')).toBeUndefined();
});
