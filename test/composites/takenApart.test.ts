/** Calls that the TorchScript exporter takes apart, as torch/onnx/symbolic_opset9.py of PyTorch 2.13 writes them. */

import { expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { findComposites } from '../../server/src/composites/findComposites.ts';
import { compositePatterns } from '../../server/src/composites/patterns.ts';
import type { OnnxNode } from '../../server/src/formats/onnx/syntax.ts';
import { onnxModel, onnxNode } from '../support/onnxModel.ts';

const sum = (text: string, keepdims = 0): OnnxNode =>
  onnxNode(text, { keepdims: { kind: 'int', value: keepdims } });

const float = (text: string): OnnxNode => onnxNode(text, { to: { kind: 'int', value: 1 } });

const join = (text: string): OnnxNode => onnxNode(text, { axis: { kind: 'int', value: 1 } });

/** What is found in what two layers give, `a` and `b` of [N, 8]: its name, what it keeps, and how many operators it has. */
function found(nodes: readonly (string | OnnxNode)[]): readonly string[] {
  const { composites } = analyzeOnnx(
    onnxModel({
      inputs: ['x: float32[N, 8]'],
      outputs: ['y'],
      initializers: [
        ...['v: float32[8, 8]', 'w: float32[8, 8]', 'half: float32[] = 0.5', 'one: float32[] = 1'],
        ...['two: float32[] = 2', 'zero: float32[] = 0', 'eps: float32[] = 0.00000001', 'last: int64[1] = 1'],
        ...['rows: int64[1] = 1', 'columns: int64[1] = 0', 'third: int64[1] = 2', 'square: int64[2] = 8, 8'],
        'columns8: int64[1] = 8',
        'act.alpha: float32[1] = 1',
        ...['places: float32[40, 3, 1]', 'table: float32[40, 3, 2]', 'thetas: int64[3] = -1, 3, 2'],
      ],
      nodes: ['a = MatMul(x, v)', 'b = MatMul(x, w)', ...nodes],
    }),
  );
  return [...new Set(composites.values())].map(
    ({ name, keeps = 'gradients', operators }) => `${name} ${keeps} ${operators.length}`,
  );
}

test.each<readonly [string, readonly (string | OnnxNode)[], readonly string[]]>([
  [
    'softplus of a learned number',
    [
      ...['s = Mul(act.alpha, one)', 'l = Softplus(s)', 'd = Div(l, one)', 'g = Greater(s, two)'],
      ...['p = Where(g, act.alpha, d)', 'y = Mul(a, p)'],
    ],
    ['Softplus gradients 5'],
  ],
  ['mse_loss', ['d = Sub(a, b)', 'e = Sub(a, b)', 'y = Mul(d, e)'], ['MseLoss inputs 3']],
  [
    'roll',
    ['e = Slice(a, third, columns8, last)', 'f = Slice(a, columns, third, last)', join('y = Concat(e, f)')],
    ['Roll nothing 3'],
  ],
  [
    'a beginning that comes first',
    ['e = Slice(a, columns, third, last)', 'f = Slice(a, third, columns8, last)', join('y = Concat(e, f)')],
    [],
  ],
  [
    'an end and a beginning that overlap',
    ['e = Slice(a, rows, columns8, last)', 'f = Slice(a, columns, third, last)', join('y = Concat(e, f)')],
    [],
  ],
  [
    'parts of two tensors',
    ['e = Slice(a, third, columns8, last)', 'f = Slice(b, columns, third, last)', join('y = Concat(e, f)')],
    [],
  ],
  [
    'bernoulli',
    ['u = RandomUniformLike(a)', 'l = Less(u, half)', float('n = Cast(l)'), 'y = Mul(a, n)'],
    ['Bernoulli nothing 3'],
  ],
  [
    'numbers at random that something else reads too',
    ['u = RandomUniformLike(a)', 'l = Less(u, half)', float('n = Cast(l)'), 'y = Mul(u, n)'],
    [],
  ],
  ['a difference squared by hand', ['d = Sub(a, b)', 'y = Mul(d, d)'], []],
  ['a product of two other differences', ['d = Sub(a, b)', 'e = Sub(b, a)', 'y = Mul(d, e)'], []],
  [
    'kl_div',
    ['l = Log(b)', 'd = Sub(l, a)', 'p = Mul(b, d)', 'g = Greater(b, zero)', 'y = Where(g, p, zero)'],
    ['KLDivLoss input 5'],
  ],
  [
    'a logarithm less another, where something else is positive',
    ['l = Log(b)', 'd = Sub(l, a)', 'p = Mul(b, d)', 'g = Greater(a, zero)', 'y = Where(g, p, zero)'],
    [],
  ],
  [
    'lerp',
    [
      ...['s = Sigmoid(b)', 'l = Less(s, half)', 'd = Sub(b, a)', 'm = Mul(s, d)', 'n = Add(a, m)'],
      ...['r = Sub(one, s)', 'f = Mul(d, r)', 'o = Sub(b, f)', 'y = Where(l, n, o)'],
    ],
    ['Lerp inputs 8'],
  ],
  [
    'cdist',
    [
      ...['k = Unsqueeze(a, rows)', 'l = Unsqueeze(b, columns)', 'd = Sub(k, l)', 'p = Pow(d, two)'],
      ...[sum('s = ReduceSum(p, third)'), 'y = Pow(s, half)'],
    ],
    ['CDist both 6'],
  ],
  [
    'distances by hand end in a root',
    [
      ...['k = Unsqueeze(a, rows)', 'l = Unsqueeze(b, columns)', 'd = Sub(k, l)', 'p = Pow(d, two)'],
      ...[sum('s = ReduceSum(p, third)'), 'y = Sqrt(s)'],
    ],
    [],
  ],
  [
    'cosine_similarity',
    [
      ...['p = Mul(a, b)', sum('s = ReduceSum(p, last)'), 'q = Mul(a, a)', sum('t = ReduceSum(q, last)')],
      ...['r = Mul(b, b)', sum('u = ReduceSum(r, last)'), 'n = Mul(t, u)', 'k = Sqrt(n)', 'm = Max(k, eps)'],
      'y = Div(s, m)',
    ],
    ['CosineSimilarity gradients 10'],
  ],
  [
    'a cosine of other vectors',
    [
      ...['p = Mul(a, a)', sum('s = ReduceSum(p, last)'), 'q = Mul(a, a)', sum('t = ReduceSum(q, last)')],
      ...['r = Mul(b, b)', sum('u = ReduceSum(r, last)'), 'n = Mul(t, u)', 'k = Sqrt(n)', 'm = Max(k, eps)'],
      'y = Div(s, m)',
    ],
    [],
  ],
  [
    'affine_grid',
    [
      ...['t = Reshape(a, thetas)', 'u = Unsqueeze(t, rows)', 'p = Mul(places, u)'],
      sum('y = ReduceSum(p, third)'),
    ],
    ['AffineGrid nothing 2'],
  ],
  [
    'other places times the same',
    [
      ...['t = Reshape(a, thetas)', 'u = Unsqueeze(t, rows)', 'p = Mul(table, u)'],
      sum('y = ReduceSum(p, third)'),
    ],
    [],
  ],
  [
    'diagonal',
    ['c = MatMul(v, a)', 'e = EyeLike(c)', 'm = Mul(c, e)', sum('y = ReduceSum(m, last)')],
    ['Diagonal nothing 2'],
  ],
])('%s', (_, nodes, expected) => {
  expect(found(nodes)).toEqual(expected);
});

test('calls that were taken apart are found for themselves in what a model writes out', () => {
  // (a - a.mean(-1)) * torch.rsqrt(a.var(-1) + eps)
  const written = [
    ['mean', 'm = ReduceMean(a, last)'],
    ['var', 'k = ReduceMean(a, last)'],
    ['var', 'd = Sub(a, k)'],
    ['var', 'q = Mul(d, d)'],
    ['var', 'v = ReduceMean(q, last)'],
    ['sub', 'c = Sub(a, m)'],
    ['add', 'e = Add(v, eps)'],
    ['rsqrt', 's = Sqrt(e)'],
    ['rsqrt', 'r = Reciprocal(s)'],
    ['mul', 'y = Mul(c, r)'],
  ] as const;
  const { graph } = analyzeOnnx(
    onnxModel({
      inputs: ['a: float32[N, 8]'],
      outputs: ['y'],
      initializers: ['last: int64[1] = 1', 'eps: float32[] = 0.00001'],
      nodes: written.map(([, node]) => node),
    }),
  );
  const originOf = (index: number) => {
    const [name = ''] = written[index] ?? [];
    return { call: { name, function: `aten.${name}.default` } };
  };
  const composites = new Set(findComposites(graph, compositePatterns, originOf).values());
  expect([...composites].map(({ name, launchedAs, operators }) => [name, launchedAs, operators])).toEqual([
    ['LayerNorm', 'several', [0, 5, 6, 9]],
    ['Var', 'one', [1, 2, 3, 4]],
    ['Rsqrt', 'one', [7, 8]],
  ]);
});
