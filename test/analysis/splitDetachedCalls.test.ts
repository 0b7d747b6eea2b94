/** Calls that differ in what they detach, or in what dropout draws, merged by the default exporter's optimizer. */

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

/**
 * `f = g(z)`, judged by `d` as `f.detach()` and then as it is; `second`: what the last call reads. Nothing but names tells that
 * the judge was called twice.
 */
function productsWith(second: string): number {
  const sketch = onnxModel({
    inputs: ['z: float32[4, 8]'],
    outputs: ['loss'],
    initializers: ['g: float32[8, 8]', 'd1: float32[8, 8]', 'd2: float32[8, 1]'],
    nodes: [
      onnxNode('mm = MatMul(z, g)', {}, call('mm', 'mm.default', '%z, %p_g')),
      onnxNode('mm_1 = MatMul(mm, d1)', {}, call('mm_1', 'mm.default', '%detach, %p_d1')),
      onnxNode('tanh = Tanh(mm_1)', {}, call('tanh', 'tanh.default', '%mm_1')),
      onnxNode('mm_2 = MatMul(tanh, d2)', {}, call('mm_2', 'mm.default', '%tanh, %p_d2')),
      onnxNode('neg = Neg(mm_2)', {}, call('neg', 'neg.default', '%mm_2')),
      onnxNode('loss = Sub(mm_2, neg)', {}, call('loss', 'sub.Tensor', `${second}, %neg`)),
    ],
  });
  const signature = ['g', 'd1', 'd2'].map((name) => `p_${name}: PARAMETER target="${name}"`).join('\n');
  const metadata = new Map([['pkg.torch.export.ExportedProgram.graph_signature', signature]]);
  const { graph } = analyzeOnnx({ ...sketch, graph: { ...sketch.graph, metadata } });
  return graph.operators.filter(({ type }) => type === 'MatMul').length;
}

test('all that was computed again behind what was detached is there twice', () => {
  expect(productsWith('%mm_2')).toBe(3);
  expect(productsWith('%mm_4')).toBe(5);
});

/** Two dropouts of `x`, or of what a dropout and a product gave: `second` is the other result that the sum reads. */
function dropoutsWith(second: string): number {
  const dropout = (output: string, input: string) =>
    onnxNode(
      `${output} = Dropout(${input}, ratio, training)`,
      {},
      call(output, 'native_dropout.default', `%${input}`),
    );
  const sketch = onnxModel({
    inputs: ['x: float32[4, 8]', 'ratio: float32', 'training: bool'],
    outputs: ['sum'],
    initializers: ['w: float32[8, 8]'],
    nodes: [
      dropout('native_dropout', 'x'),
      onnxNode('mm = MatMul(native_dropout, w)', {}, call('mm', 'mm.default', '%native_dropout, %p_w')),
      dropout('native_dropout_1', 'mm'),
      onnxNode(
        'sum = Add(native_dropout_1, native_dropout_1)',
        {},
        call('sum', 'add.Tensor', `%native_dropout_1, ${second}`),
      ),
    ],
  });
  const metadata = new Map([
    ['pkg.torch.export.ExportedProgram.graph_signature', 'p_w: PARAMETER target="w"'],
  ]);
  const { graph } = analyzeOnnx({ ...sketch, graph: { ...sketch.graph, metadata } });
  return graph.operators.filter(({ type }) => type === 'Dropout').length;
}

test('numbers of names tell whether one dropout was called again, or all before it too', () => {
  expect(dropoutsWith('%native_dropout_1')).toBe(2);
  expect(dropoutsWith('%native_dropout_2')).toBe(3);
  expect(dropoutsWith('%native_dropout_3')).toBe(4);
});

test('one loss that is added to itself stays one, and what it detaches is not trained', () => {
  expect(parametersWith('%mse_loss')).toEqual(['w']);
});

/**
 * `(q + u) @ k + (q + v) @ p` with biases that are equal when the file is exported, behind a dropout: relative positions (Transformer-XL).
 * `users`: the calls that read q, as they are recorded.
 */
function countsWith(users: number): readonly number[] {
  const scores = call('matmul_1', 'matmul.default', '%transpose_1, %p_p');
  const sketch = onnxModel({
    inputs: ['x: float32[8, 8]', 'ratio: float32', 'training: bool'],
    outputs: ['sum'],
    initializers: ['w: float32[8, 8]', 'u: float32[8]', 'k: float32[8, 8]', 'p: float32[8, 8]'],
    nodes: [
      onnxNode('drop = Dropout(x, ratio, training)', {}, call('drop', 'native_dropout.default', '%x')),
      onnxNode(
        'linear = MatMul(drop, w)',
        {},
        called(
          `%linear : [num_users=${users}] = call_function[target=torch.ops.aten.linear.default](args = (%drop, %p_w), kwargs = {})`,
        ),
      ),
      onnxNode('add = Add(linear, u)', {}, call('add', 'add.Tensor', '%linear, %p_u')),
      onnxNode('transpose = Transpose(add)', {}, call('transpose', 'transpose.int', '%add')),
      onnxNode('matmul = MatMul(transpose, k)', {}, call('matmul', 'matmul.default', '%transpose, %p_k')),
      onnxNode('matmul_1 = MatMul(transpose, p)', {}, scores),
      onnxNode('sum = Add(matmul, matmul_1)', {}, call('sum', 'add.Tensor', '%matmul, %matmul_1')),
    ],
  });
  const signature = ['w', 'u', 'k', 'p'].map((name) => `p_${name}: PARAMETER target="${name}"`).join('\n');
  const metadata = new Map([['pkg.torch.export.ExportedProgram.graph_signature', signature]]);
  const { graph } = analyzeOnnx({ ...sketch, graph: { ...sketch.graph, metadata } });
  return ['Dropout', 'MatMul', 'Transpose'].map(
    (type) => graph.operators.filter((operator) => operator.type === type).length,
  );
}

test('what had another user was read again and not made again', () => {
  expect(countsWith(2)).toEqual([1, 3, 2]);
  expect(countsWith(1)).toEqual([2, 4, 2]);
});
