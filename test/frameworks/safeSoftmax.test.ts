/**
 * `_safe_softmax` of `scaled_dot_product_attention` as exporters write it: zeros where a softmax gave no number (PyTorch 2.x
 * aten/src/ATen/native/SoftMax.cpp). Anything that another operator needs, or that chooses otherwise, is no such call.
 */

import { expect, test } from 'vitest';
import { openOnnxText } from '../../server/src/analysis/openModel.ts';
import { safeSoftmaxes } from '../../server/src/frameworks/pytorch/safeSoftmax.ts';

const softmax = 's = Softmax (x)';
const isEmpty = 'e = IsNaN (s)';

/** By the lines of a graph: operators of the calls that are found. */
test.each<[string, readonly string[], readonly (readonly number[])[]]>([
  ['as exporters write it', [softmax, isEmpty, 'y = Where (e, zero, s)'], [[0, 1, 2]]],
  [
    'behind and before others',
    ['a = Relu (x)', 's = Softmax (a)', isEmpty, 'w = Where (e, zero, s)', 'y = Relu (w)'],
    [[1, 2, 3]],
  ],
  [
    'twice',
    [
      softmax,
      isEmpty,
      'w = Where (e, zero, s)',
      't = Softmax (w)',
      'f = IsNaN (t)',
      'y = Where (f, zero, t)',
    ],
    [
      [0, 1, 2],
      [3, 4, 5],
    ],
  ],
  ['of no softmax', ['s = Relu (x)', isEmpty, 'y = Where (e, zero, s)'], []],
  ['of what comes in', ['e = IsNaN (x)', 'y = Where (e, zero, x)'], []],
  ['that asks for another thing', [softmax, 'e = IsInf (s)', 'y = Where (e, zero, s)'], []],
  ['that chooses numbers where there are none', [softmax, isEmpty, 'y = Where (e, s, zero)'], []],
  ['that chooses between others', [softmax, isEmpty, 'y = Where (e, zero, x)', 'u = Relu (s)'], []],
  ['that chooses by its opposite', [softmax, isEmpty, 'n = Not (e)', 'y = Where (n, zero, s)'], []],
  ['whose test is read again', [softmax, isEmpty, 'y = Where (e, zero, s)', 'n = Not (e)'], []],
  ['whose softmax is read again', [softmax, isEmpty, 'y = Where (e, zero, s)', 'u = Relu (s)'], []],
  ['that nobody chooses by', [softmax, isEmpty, 'y = Relu (s)'], []],
])('a softmax %s', (_, lines, found) => {
  const outputs = ['y', ...['n', 'u'].filter((name) => lines.some((line) => line.startsWith(`${name} = `)))];
  const types = outputs.map((name) => `${name === 'n' ? 'bool' : 'float'}[8, 64] ${name}`);
  const kept = lines.some((line) => line.includes('Where (n,')) ? types.slice(0, 1) : types;
  const text = `<ir_version: 10, opset_import: ["" : 21]>
g (float[8, 64] x) => (${kept.join(', ')})
<float zero = {0.0}> {
${lines.join('\n')}
}
`;
  const { analysis, issues } = openOnnxText(text, 'safe.onnxtxt');
  if (analysis === undefined) throw new Error(issues.map(({ message }) => message).join('\n'));
  const calls = safeSoftmaxes(analysis.graph);
  expect(calls.map(({ operators }) => operators)).toEqual(found);
  for (const { operators: own, inputs, outputs: given } of calls) {
    const [first, , last] = own.map((index) => analysis.graph.operators[index]);
    expect([inputs, given]).toEqual([first?.inputs, last?.outputs]);
  }
});
