/**
 * Casts that an exporter writes for a promotion of types are none: the call that promotes reads what was there. PyTorch, "Type promotion
 * documentation": true and false, and whole numbers, widen no floating-point tensor; an fp32 one widens one in half precision.
 */

import { expect, test } from 'vitest';
import { openOnnxText } from '../../server/src/analysis/openModel.ts';
import { withPromotions } from '../../server/src/analysis/typePromotions.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { assignTypes } from '../../server/src/frameworks/pytorch/autocast.ts';

/** `a` is a product in half precision. */
function typesOf(nodes: readonly string[], isPromotion: boolean, wholeHalf = false): readonly string[] {
  const text = `<ir_version: 10, opset_import: ["" : 21]>
g (float[N, 64] x, int64[N, 64] n, bool[N, 64] m, float[64, 64] w) => (float[N, 64] y) {
  a = MatMul (x, w)
${nodes.join('\n')}
}
`;
  const { training, issues } = estimateModel(openOnnxText(text, 'promoted.onnxtxt'), [{ precision: 'bf16' }]);
  if (training === undefined) throw new Error(issues.map(({ message }) => message).join('\n'));
  const graph = withPromotions(training.analysis.graph, ({ type, name }) =>
    type === 'Cast'
      ? { name, function: isPromotion ? 'prims.convert_element_type.default' : 'aten.to' }
      : undefined,
  );
  const { operators } = assignTypes({ ...training, analysis: { ...training.analysis, graph } }, 'bf16', {
    ...{ convolutionTf32: false, fusedCalls: true, channelsLast: false, wholeHalf },
  });
  return operators.map(({ dtype, bytesPerElement }) => `${dtype} ${bytesPerElement}`);
}

/** By what is cast: types where that is a promotion, and where the program casts. */
test.each<[string, readonly string[], readonly string[], readonly string[]]>([
  [
    'true and false',
    ['c = Cast <to = 1> (m)', 'y = Mul (a, c)'],
    ['bf16 2', 'fp32 2', 'fp32 2'],
    ['bf16 2', 'fp32 4', 'fp32 4'],
  ],
  [
    'whole numbers',
    ['c = Cast <to = 1> (n)', 'y = Add (a, c)'],
    ['bf16 2', 'fp32 2', 'fp32 2'],
    ['bf16 2', 'fp32 4', 'fp32 4'],
  ],
  [
    'of a comparison',
    ['g = Greater (a, x)', 'c = Cast <to = 1> (g)', 'y = Mul (a, c)'],
    ['bf16 2', 'fp32 4', 'fp32 2', 'fp32 2'],
    ['bf16 2', 'fp32 4', 'fp32 4', 'fp32 4'],
  ],
  [
    'what is in half precision, which is widened either way',
    ['c = Cast <to = 1> (a)', 'y = Mul (c, x)'],
    ['bf16 2', 'fp32 4', 'fp32 4'],
    ['bf16 2', 'fp32 4', 'fp32 4'],
  ],
])('%s', (_, nodes, promoted, cast) => {
  expect(typesOf(nodes, true)).toEqual(promoted);
  expect(typesOf(nodes, false)).toEqual(cast);
  // Where nothing is cast, everything is narrow.
  expect(typesOf(nodes, true, true).map((type) => type.slice(-1))).toEqual(promoted.map(() => '2'));
});
