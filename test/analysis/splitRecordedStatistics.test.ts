/**
 * Scale and shift of a batch normalization without any (`affine=False`), as PyTorch 2.13 exports them: ones and zeros, which
 * `DeduplicateInitializersPass` of onnxscript merges with the fresh statistics.
 */

import { expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { onnxModel, onnxNode } from '../support/onnxModel.ts';

const names = ['running_mean', 'running_var'];
const signature = names
  .map((name) => `b_norm_${name}: BUFFER target='norm.${name}' persistent=True`)
  .join('\n');

const normalization = (input: string, output: string, statistics: string) =>
  onnxNode(
    `${output} = BatchNormalization(${input}, norm.running_var, norm.running_mean, norm.running_mean, norm.running_var)`,
    { training_mode: { kind: 'int', value: 1 } },
    {
      'pkg.torch.onnx.fx_node': `%${output} : args = (%${input}, None, None, ${statistics}, True, 0.1, 1e-05), kwargs = {}`,
      'pkg.torch.onnx.name_scopes': `['', 'norm', '${output}']`,
      'pkg.torch.onnx.class_hierarchy':
        "['Net', 'torch.nn.modules.batchnorm.BatchNorm1d', 'aten._native_batch_norm_legit_functional.default']",
    },
  );

const first = normalization('x', 'a', '%b_norm_running_mean, %b_norm_running_var');
/** A second call updates the statistics that the first one gave. */
const second = normalization('y', 'b', '%getitem_3, %getitem_4');

test.each([
  ['one call', [first]],
  ['two calls', [first, second]],
])('%s of a normalization without scale and shift trains nothing', (_, nodes) => {
  const model = onnxModel({
    inputs: ['x: float32[8, 32]', 'y: float32[8, 32]'],
    outputs: nodes.flatMap(({ outputs }) => outputs),
    initializers: names.map((name) => `norm.${name}: float32[32]`),
    nodes,
  });
  const metadata = new Map([['pkg.torch.export.ExportedProgram.graph_signature', signature]]);
  const { parameters } = analyzeOnnx({ ...model, graph: { ...model.graph, metadata } });
  expect(parameters).toEqual([]);
});
