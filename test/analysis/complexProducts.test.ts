/** Complex products are several real ones in an ONNX file, and the report says so. */

import { expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { onnxModel, onnxNode } from '../support/onnxModel.ts';

const inCall = (text: string, called: string) =>
  onnxNode(
    text,
    {},
    {
      'pkg.torch.onnx.name_scopes': "['', 'matmul']",
      'pkg.torch.onnx.class_hierarchy': `['Net', '${called}']`,
    },
  );
const codes = (
  called: string,
  nodes = [inCall('r = MatMul(x, a)', called), inCall('i = MatMul(x, b)', called)],
) =>
  analyzeOnnx({
    ...onnxModel({
      inputs: ['x: float32[4, 16]'],
      outputs: ['y'],
      initializers: ['a: float32[16, 8]', 'b: float32[16, 8]'],
      nodes: [...nodes, 'y = Add(r, i)'],
    }),
    producerName: 'pytorch',
  }).issues.map(({ code }) => code);

test('one call with two products', () => {
  expect(codes('aten.matmul.default')).toContain('graph/complex-products');
});

test.each(['aten.einsum.default', 'aten.scaled_dot_product_attention.default'])(
  '%s may have several of its own',
  (called) => {
    expect(codes(called)).not.toContain('graph/complex-products');
  },
);
