/** Splits that an exporter wrote again for each part are one; two splits of the program stay. */

import { expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { onnxModel } from '../support/onnxModel.ts';

const splits = (nodes: readonly string[]) =>
  analyzeOnnx(
    onnxModel({
      inputs: ['x: float32[2, 6, 8]'],
      outputs: ['y'],
      initializers: ['even: int64[2] = 1, 1', 'other: int64[2] = 1, 1', 'odd: int64[3] = 1, 1, 0'],
      nodes: ['n = Relu(x)', ...nodes, 'y = Add(a, d)'],
    }),
  )
    .graph.operators.filter(({ type }) => type === 'Split')
    .map(({ outputs }) => outputs.join(' '));

test.each([
  ['a part of each', ['a, b = Split(n, even)', 'c, d = Split(n, even)'], ['a d']],
  ['sizes that are stored twice', ['a, b = Split(n, even)', 'c, d = Split(n, other)'], ['a d']],
  [
    'a part that is read from both: the program split twice',
    ['a, b = Split(n, even)', 'c, e = Split(n, even)', 'd = Add(c, b)'],
    ['a b', 'c e'],
  ],
  ['other tensors', ['a, b = Split(n, even)', 'm = Relu(n)', 'c, d = Split(m, even)'], ['a b', 'c d']],
  ['other sizes', ['a, b = Split(n, even)', 'c, d, e = Split(n, odd)'], ['a b', 'c d e']],
])('%s', (_, nodes, expected) => expect(splits(nodes)).toEqual(expected));
