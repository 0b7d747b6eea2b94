/** Losses of a quantizer that differ in what they detach, merged by the default exporter's optimizer. */

import { expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { onnxModel, onnxNode } from '../support/onnxModel.ts';

const called = (call: string): Readonly<Record<string, string>> => ({ 'pkg.torch.onnx.fx_node': call });
const call = (name: string, of: string, read: string): Readonly<Record<string, string>> =>
  called(
    `%${name} : [num_users=1] = call_function[target=torch.ops.aten.${of}](args = (${read}), kwargs = {})`,
  );

/** `mse(q.detach(), z) + mse(q, z.detach())` with q looked up in `codes`, z a product with `w`; `second`: what the sum's call reads. */
function parametersWith(second: string): readonly string[] {
  const loss = call('mse_loss', 'mse_loss.default', '%detach, %linear');
  const sketch = onnxModel({
    inputs: ['x: float32[4, 8]', 'places: int64[4]'],
    outputs: ['y'],
    initializers: ['codes: float32[16, 8]', 'w: float32[8, 8]'],
    nodes: [
      onnxNode('linear = MatMul(x, w)', {}, call('linear', 'linear.default', '%x, %p_w')),
      onnxNode(
        'embedding = Gather(codes, places)',
        {},
        call('embedding', 'embedding.default', '%p_codes, %places'),
      ),
      onnxNode('apart = Sub(embedding, linear)', {}, loss),
      onnxNode('squares = Mul(apart, apart)', {}, loss),
      onnxNode('mse_loss = ReduceMean(squares)', { keepdims: { kind: 'int', value: 0 } }, loss),
      onnxNode('y = Add(mse_loss, mse_loss)', {}, call('y', 'add.Tensor', `%mse_loss, ${second}`)),
    ],
  });
  const signature = 'p_w: PARAMETER target="w"\np_codes: PARAMETER target="codes"';
  const metadata = new Map([['pkg.torch.export.ExportedProgram.graph_signature', signature]]);
  const { parameters } = analyzeOnnx({ ...sketch, graph: { ...sketch.graph, metadata } });
  return parameters.map(({ name }) => name).sort();
}

test('the loss that is gone has a gradient where the other was detached', () => {
  expect(parametersWith('%mse_loss_1')).toEqual(['codes', 'w']);
});

test('one loss that is added to itself stays one, and what it detaches is not trained', () => {
  expect(parametersWith('%mse_loss')).toEqual(['w']);
});
