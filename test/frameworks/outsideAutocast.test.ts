/** Operators where a program turns autocast off run in the types of what they read. */

import { expect, test } from 'vitest';
import { openOnnxText } from '../../server/src/analysis/openModel.ts';
import { withOutsideAutocast } from '../../server/src/analysis/outsideAutocast.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { assignTypes } from '../../server/src/frameworks/pytorch/autocast.ts';

const text = `<ir_version: 10, opset_import: ["" : 21]>
g (float[N, 64] x, float[64, 64] w) => (float[N, 64] y) {
  ["/fc/MatMul"] a = MatMul (x, w)
  ["/sums/Cast"] b = Cast <to = 1> (a)
  ["/sums/MatMul"] c = MatMul (b, w)
  ["/sums/MatMul_1"] d = MatMul (a, a)
  ["/sums/Exp"] e = Exp (a)
  ["/sums/Mul"] f = Mul (e, d)
  y = Add (f, c)
}
`;

test.each([
  { outside: [], types: ['bf16 2', 'fp32 4', 'bf16 2', 'bf16 2', 'fp32 4', 'fp32 4', 'fp32 4'] },
  {
    outside: ['/sums/'],
    // What was cast is multiplied in fp32, and no list casts for the exponential.
    types: ['bf16 2', 'fp32 4', 'fp32 4', 'bf16 2', 'fp32 2', 'fp32 2', 'fp32 4'],
  },
])('outside: $outside', ({ outside, types }) => {
  const { training } = estimateModel(openOnnxText(text, 'outside.onnxtxt'), [{ precision: 'bf16' }]);
  if (training === undefined) throw new Error('not bound');
  const isOutside = (name: string) => outside.some((start) => name.startsWith(start));
  const graph = withOutsideAutocast(training.analysis.graph, ({ name }) =>
    isOutside(name) ? { name, function: 'aten', isOutsideAutocast: true } : undefined,
  );
  const { operators } = assignTypes({ ...training, analysis: { ...training.analysis, graph } }, 'bf16', {
    convolutionTf32: false,
    fusedCalls: true,
    channelsLast: false,
  });
  expect(operators.map(({ dtype, bytesPerElement }) => `${dtype} ${bytesPerElement}`)).toEqual(types);
});
