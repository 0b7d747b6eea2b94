/** What is folded before a step, and what a step computes. */

import { expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { onnxModel } from '../support/onnxModel.ts';

/** By operator, whether it is folded. */
const folded = (initializers: readonly string[], nodes: readonly string[]): readonly boolean[] =>
  analyzeOnnx(onnxModel({ inputs: ['x: float32[2, 4]'], outputs: ['y'], initializers, nodes })).costing
    .auxiliary.shapeArithmetic;

test('what is computed from numbers of the file is folded', () => {
  expect(folded(['mask: float32[4] = 0, 1, 1, 0'], ['n = Neg(mask)', 'y = Add(x, n)'])).toEqual([
    true,
    false,
  ]);
});

test('a temperature is computed in every step, as training changes it, though the file holds its numbers', () => {
  const scale = ['attn.logit_scale: float32[1] = 2.3'];
  expect(folded(scale, ['s = Exp(attn.logit_scale)', 't = Neg(s)', 'y = Mul(x, t)'])).toEqual([
    false,
    false,
    false,
  ]);
});

test('the shape of a weight is known before', () => {
  const weight = ['fc.weight: float32[4, 4]'];
  expect(folded(weight, ['s = Shape(fc.weight)', 'w = Reshape(fc.weight, s)', 'y = MatMul(x, w)'])[0]).toBe(
    true,
  );
});

/** As the TorchScript exporter of PyTorch 2.13 writes `mse_loss`; the zeros and sums are its own. */
test('a sum of zeros and tensors is folded where only its shape is read', () => {
  const zeros = ['s = Shape(x)', 'z = ConstantOfShape(s)', 'a = Add(z, x)', 'b = Add(a, x)'];
  const nodes = [...zeros, 't = Shape(b)', 'y = Expand(x, t)'];
  expect(folded([], nodes).slice(2, 4)).toEqual([true, true]);
  expect(folded([], [...nodes.slice(0, -1), 'e = Expand(x, t)', 'y = Mul(e, a)']).slice(2, 4)).toEqual([
    false,
    true,
  ]);
});

test('a sum of tensors whose shape is read is computed', () => {
  expect(folded([], ['a = Add(x, x)', 's = Shape(a)', 'y = Expand(x, s)'])[0]).toBe(false);
});
