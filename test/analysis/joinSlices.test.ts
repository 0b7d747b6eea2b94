/** Slices that an exporter wrote for one call are one `Split`; slices of the program stay. */

import { expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import type { OnnxNode } from '../../server/src/formats/onnx/syntax.ts';
import { onnxModel, onnxNode } from '../support/onnxModel.ts';

const unbind = {
  'pkg.torch.onnx.name_scopes': "['', 'unbind']",
  'pkg.torch.onnx.class_hierarchy': "['Net', 'aten.unbind.int']",
};
const slice = { ...unbind, 'pkg.torch.onnx.class_hierarchy': "['Net', 'aten.slice.Tensor']" };

const types = (nodes: readonly (string | OnnxNode)[]) =>
  analyzeOnnx(
    onnxModel({
      inputs: ['x: float32[2, 6, 8]'],
      outputs: ['y'],
      initializers: [0, 1, 2].map((value) => `c${value}: int64[1] = ${value}`),
      valueInfos: ['n: float32[2, 6, 8]'],
      nodes: ['n = Relu(x)', ...nodes, 'y = Add(a, b)'],
    }),
  )
    .graph.operators.map(({ type }) => type)
    .filter((type) => type === 'Slice' || type === 'Split');

const parts = (metadata: Readonly<Record<string, string>>) => [
  onnxNode('a = Slice(n, c0, c1, c0)', {}, metadata),
  onnxNode('b = Slice(n, c1, c2, c0)', {}, metadata),
];

/** As the TorchScript exporter writes `n.chunk(2)` where the size is not known: (size + 1) ÷ 2 is the length. */
const chunk = (divisor: string) => [
  's = Shape(n)',
  'g = Gather(s, c0)',
  'm = Add(g, c1)',
  `d = Div(m, ${divisor})`,
  'e = Mul(d, c1)',
  'f = Mul(d, c2)',
  'a = Slice(n, c0, e, c0)',
  'b = Slice(n, e, f, c0)',
];

test.each([
  ['an unbind', parts(unbind), ['Split']],
  ['slices of the program', parts(slice), ['Slice', 'Slice']],
  ['an unbind that is not read whole', [parts(unbind)[0] ?? '', 'b = Relu(n)'], ['Slice']],
  ['a chunk', chunk('c2'), ['Split']],
  ['a part of a chunk of more', chunk('c1'), ['Slice', 'Slice']],
])('%s', (_, nodes, expected) => expect(types(nodes)).toEqual(expected));
