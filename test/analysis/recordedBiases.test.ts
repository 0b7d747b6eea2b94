/** Biases that are equal to something else, or zero, when a model is exported: whose they are, by the recorded calls. */

import { expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { restoreNormalizations } from '../../server/src/analysis/restoration/restoreNormalizations.ts';
import type { OnnxModel } from '../../server/src/formats/onnx/syntax.ts';
import { onnxModel, onnxNode } from '../support/onnxModel.ts';

type Row = readonly [operator: string, call: string, target: string, read: string];

function fileOf(
  parameters: readonly string[],
  initializers: readonly string[],
  rows: readonly Row[],
): OnnxModel {
  const { graph, ...model } = onnxModel({
    inputs: ['x: float32[2, 4, 8]'],
    outputs: ['y'],
    initializers,
    nodes: rows.map(([operator, call, target, read]) =>
      onnxNode(
        operator,
        {},
        {
          'pkg.torch.onnx.fx_node': `%${call} : [num_users=1] = call_function[target=torch.ops.aten.${target}.default](args = (${read}), kwargs = {})`,
          'pkg.torch.onnx.name_scopes': `['', '${call}']`,
          'pkg.torch.onnx.class_hierarchy': `['Net', 'aten.${target}.default']`,
        },
      ),
    ),
  });
  const signature = parameters
    .map((name) => `p_${name.replaceAll('.', '_')}: PARAMETER target="${name}"`)
    .join('\n');
  const metadata = new Map([['pkg.torch.export.ExportedProgram.graph_signature', signature]]);
  return { ...model, graph: { ...graph, metadata } };
}

/** `shift` and the bias of `fc` are both zeros; the file has the first of them alone. */
const product = (bias: string): readonly Row[] => [
  ['add = Add(x, shift)', 'add', 'add', '%x, %p_shift'],
  ['product = MatMul(add, fc.weight)', 'linear', 'linear', `%add, %p_fc_weight${bias}`],
  ['y = Add(product, shift)', 'linear', 'linear', `%add, %p_fc_weight${bias}`],
];

test.each([
  ['a bias of its own', ', %p_fc_bias', ['fc.bias', 'fc.weight', 'shift']],
  ['a bias that is the shift', ', %p_shift', ['fc.weight', 'shift']],
])('an Add behind a product is %s', (_, bias, expected) => {
  const file = fileOf(
    ['shift', 'fc.weight', 'fc.bias'],
    ['shift: float32[8]', 'fc.weight: float32[8, 8]'],
    product(bias),
  );
  expect(
    analyzeOnnx(file)
      .parameters.map(({ name }) => name)
      .sort(),
  ).toEqual(expected);
});

test.each([
  ['of the call', '%h, %p_weight, %p_shift', 1],
  ['that the call does not have', '%h, %p_weight', 0],
])('a Gemm gets the bias %s again', (_, read, biases) => {
  const file = fileOf(
    ['weight', 'shift'],
    ['weight: float32[32, 8]'],
    [
      ['h = Flatten(x)', 'view', 'view', '%x, [2, 32]'],
      ['y = Gemm(h, weight)', 'linear', 'linear', read],
    ],
  );
  const restored = restoreNormalizations(file, analyzeOnnx(file));
  expect(restored?.biases ?? 0).toBe(biases);
  const added = restored?.model.graph.initializers.find(({ name }) => name === 'shift');
  expect(added?.dimensions).toEqual(biases === 0 ? undefined : [8]);
});
