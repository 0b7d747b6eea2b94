/** Differences that a loss has in common with the model around it, after the default exporter's optimizer. */

import { expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { onnxModel, onnxNode } from '../support/onnxModel.ts';

const call = (name: string, of: string, read: string): Readonly<Record<string, string>> => ({
  'pkg.torch.onnx.fx_node': `%${name} : [num_users=1] = call_function[target=torch.ops.aten.${of}](args = (${read}), kwargs = {})`,
  namespace: `: Net/${name}: aten.${of}`,
  'pkg.torch.onnx.class_hierarchy': `['Net', 'aten.${of}']`,
  'pkg.torch.onnx.name_scopes': `['', '${name}']`,
});

const loss = call('mse_loss', 'mse_loss.default', '%detach, %linear');
const sum = { keepdims: { kind: 'int', value: 0 } } as const;

/** Operators by type and what they read, and what is found of the loss, where `difference` is of the call `own`. */
function analysed(
  own: Readonly<Record<string, string>>,
  difference: string,
  last: Readonly<Record<string, string>>,
) {
  const { graph, composites } = analyzeOnnx(
    onnxModel({
      inputs: ['x: float32[4, 8]', 'codes: float32[4, 8]'],
      outputs: ['y', 'mse_loss'],
      initializers: ['w: float32[8, 8]'],
      nodes: [
        onnxNode('linear = MatMul(x, w)', {}, call('linear', 'linear.default', '%x, %p_w')),
        onnxNode(`${difference} = Sub(codes, linear)`, {}, own),
        onnxNode(`squares = Mul(${difference}, ${difference})`, {}, loss),
        onnxNode('mse_loss = ReduceMean(squares)', sum, loss),
        onnxNode(`y = Add(linear, ${difference})`, {}, last),
      ],
    }),
  );
  const found = [...new Set(composites.values())].map(({ name, inputs }) => `${name} of ${inputs.length}`);
  // Where a gradient stops, an identity stands.
  const types = graph.operators.map(({ type }) => type).filter((type) => type !== 'Identity');
  return { types, found };
}

const whole = ['MatMul', 'Sub', 'Sub', 'Mul', 'ReduceMean', 'Add'];

test('what stands inside a loss is computed again by who reads it', () => {
  const { types, found } = analysed(loss, 'val_29', call('add_1', 'add.Tensor', '%linear, %detach_1'));
  expect(types.toSorted()).toEqual(whole.toSorted());
  expect(found).toEqual(['MseLoss of 2']);
});

test('a loss whose first operator is the result of an equal call has its own', () => {
  const own = call('sub', 'sub.Tensor', '%codes, %linear');
  const { types, found } = analysed(own, 'sub', call('add_1', 'add.Tensor', '%linear, %sub'));
  expect(types.toSorted()).toEqual(whole.toSorted());
  expect(found).toEqual(['MseLoss of 2']);
});

test('a difference that a program squares itself stays one', () => {
  const own = call('sub', 'sub.Tensor', '%codes, %linear');
  const square = call('pow_1', 'pow.Tensor_Scalar', '%sub, 2');
  const { graph } = analyzeOnnx(
    onnxModel({
      inputs: ['x: float32[4, 8]', 'codes: float32[4, 8]'],
      outputs: ['y', 'z'],
      initializers: ['w: float32[8, 8]'],
      nodes: [
        onnxNode('linear = MatMul(x, w)', {}, call('linear', 'linear.default', '%x, %p_w')),
        onnxNode('sub = Sub(codes, linear)', {}, own),
        onnxNode('z = Mul(sub, sub)', {}, square),
        onnxNode('y = Add(linear, sub)', {}, call('y', 'add.Tensor', '%linear, %sub')),
      ],
    }),
  );
  expect(graph.operators.map(({ type }) => type)).toEqual(['MatMul', 'Sub', 'Mul', 'Add']);
});
