/**
 * What the one kernel of attention computes where a graph has it written out. PyTorch 2.13 aten/src/ATen/native/transformers/: the fused
 * kernels take four axes and as many heads of keys as of queries (sdp_utils_cpp.h, `check_tensor_shapes`,
 * `check_batch_size_and_num_heads_dense`), each product is 2 FLOPs for each score and element of a head.
 */

import { describe, expect, test } from 'vitest';
import { openOnnxText } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { resolveFramework } from '../../server/src/frameworks/registry.ts';

interface Written {
  readonly query?: string;
  readonly keys?: string;
  readonly values?: string;
  /** What gives the scores `s`. */
  readonly scaled?: readonly string[];
  /** Between the scores `s` and what the softmax reads, `t`. */
  readonly lines?: readonly string[];
  readonly stored?: readonly string[];
  /** Between the softmax `w` and the second product, which reads `p`. */
  readonly behind?: string;
  readonly attention?: 'fused' | 'eager' | 'as-exported';
}

/** 2 sequences with 4 heads: 10 queries of 16 elements, 12 keys. Exporters scale both by the root of the scale. */
function kernelsOf({
  query = '2, 4, 10, 16',
  keys = '2, 4, 16, 12',
  values = '2, 4, 12, 16',
  scaled = ['a = Mul (q, scale)', 'b = Mul (k, scale)', 's = MatMul (a, b)'],
  lines = ['t = Identity (s)'],
  stored = [],
  behind = 'p = Identity (w)',
  attention = 'as-exported',
}: Written) {
  const text = `<ir_version: 10, opset_import: ["" : 21]>
g (float[${query}] q, float[${keys}] k, float[${values}] v, float[10, 10] m) => (y)
<${['float scale = {0.5}', ...stored].join(', ')}> {
  ${scaled.join('\n  ')}
  ${lines.join('\n  ')}
  w = Softmax <axis = -1> (t)
  ${behind}
  y = MatMul (p, v)
}
`;
  const { training, issues } = estimateModel(openOnnxText(text, 'attention.onnxtxt'), [
    { cluster: 'a100-sxm-80gb', gpus: 1, precision: 'fp32', loss: 'none' },
  ]);
  if (training === undefined) throw new Error(issues.map(({ message }) => message).join('\n'));
  const options = { ...(attention === 'as-exported' ? {} : { attention }) };
  const { behaviour } = resolveFramework({ name: 'pytorch-ddp', options });
  return behaviour
    .lower(training, 'fp32', 'training')
    .operators.flatMap((operator) => operator?.forward ?? []);
}

const plain = { sequences: 8, queries: 10, keys: 12, size: 16, causal: false, pass: 'forward' };

describe('one kernel', () => {
  test.each<[string, Written, object]>([
    ['without a mask', {}, plain],
    [
      'with a trained mask, which is one for all heads',
      { lines: ['t = Add (s, learned)'], stored: ['float[10, 12] learned = {...}'] },
      { ...plain, mask: { elements: 120, trained: true } },
    ],
    ['with one query', { query: '2, 4, 1, 16' }, { ...plain, queries: 1 }],
  ])('%s', (_, written, expected) => {
    for (const attention of ['as-exported', 'fused'] as const) {
      const kernels = kernelsOf({ ...written, attention });
      expect(kernels.flatMap(({ attention: shape }) => shape ?? [])).toEqual([expected]);
    }
  });
});

describe('step by step', () => {
  test.each<[string, Written]>([
    ['three axes', { query: '2, 10, 16', keys: '2, 16, 12', values: '2, 12, 16' }],
    ['one head of keys for all', { keys: '2, 1, 16, 12', values: '2, 1, 12, 16' }],
    ['one sequence of keys for all', { keys: '1, 4, 16, 12', values: '1, 4, 12, 16' }],
    ['no queries', { query: '2, 4, 0, 16' }],
  ])('of %s', (_, written) => {
    expect(kernelsOf(written).flatMap(({ attention }) => attention ?? [])).toEqual([]);
  });

  test('where a person says so', () => {
    expect(kernelsOf({ attention: 'eager' }).flatMap(({ attention }) => attention ?? [])).toEqual([]);
  });
});

/**
 * A model that scales the scores is several kernels, unless a person says that it is one. A mask that is made of positions alone the kernel
 * makes itself, as `is_causal=True`; what comes of an input it must be given.
 */
describe('where a person says that it is one kernel', () => {
  const square = { keys: '2, 4, 16, 10', values: '2, 4, 10, 16' };
  const scaled = ['r = MatMul (q, k)', 's = Mul (r, scale)'];
  const triangle = [
    'size = Constant <value_int = 10> ()',
    'none = Constant <value_int = 0> ()',
    'one = Constant <value_int = 1> ()',
    'places = Range (none, size, one)',
    'last = Constant <value_ints = [1]> ()',
    'rows = Unsqueeze (places, last)',
    'later = Less (rows, places)',
    'low = Constant <value_float = -10000.0> ()',
    'zero = Constant <value_float = 0.0> ()',
    'mask = Where (later, low, zero)',
  ];
  const shapeOf = (lines: readonly string[], attention: 'as-exported' | 'fused') =>
    kernelsOf({ ...square, scaled, lines, attention }).flatMap(({ attention: shape }) => shape ?? []);

  test.each<[string, readonly string[], object]>([
    ['without a mask', ['t = Identity (s)'], {}],
    ['a mask of positions', [...triangle, 't = Add (s, mask)'], { causal: true }],
    ['one that comes in', ['t = Add (s, m)'], { mask: { elements: 100, trained: false } }],
    [
      'one that is computed of what comes in',
      ['n = Neg (m)', 'o = Exp (n)', 't = Add (s, o)'],
      { mask: { elements: 100, trained: false } },
    ],
    [
      'one of positions and of what comes in',
      [...triangle, 'both = Add (mask, m)', 't = Add (s, both)'],
      { mask: { elements: 100, trained: false } },
    ],
    [
      // Sizes of what comes in are no contents of it.
      'one of positions, as many as what comes in has',
      ['n = Shape <start = 0, end = 1> (m)', 'size = Squeeze (n)', ...triangle.slice(1), 't = Add (s, mask)'],
      { causal: true },
    ],
  ])('%s', (_, lines, more) => {
    expect(shapeOf(lines, 'as-exported')).toEqual([]);
    expect(shapeOf(lines, 'fused')).toEqual([{ ...plain, keys: 10, ...more }]);
  });
});
