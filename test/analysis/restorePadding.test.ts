/** Padding that an optimizer put into a convolution: where it stands again, and what the convolution pads itself. */

import { expect, test } from 'vitest';
import { restorePadding } from '../../server/src/analysis/restoration/restorePadding.ts';
import { onnxModel, onnxNode } from '../support/onnxModel.ts';

const rule = 'pkg.onnxscript.rewriter.rule_name';
const call = 'pkg.torch.onnx.fx_node';
const conv2d = (rest: string) =>
  `%conv2d : [num_users=1] = call_function[target=torch.ops.aten.conv2d.default](args = (%pad, %p_weight, %p_bias${rest}), kwargs = {})`;
const normalization =
  '%batch_norm : [num_users=3] = call_function[target=torch.ops.aten._native_batch_norm_legit_functional.default](args = (%conv2d, %p_w, %p_b, %b_m, %b_v, True, 0.1, 1e-05), kwargs = {})';

function fileOf(pads: readonly number[], metadata: Readonly<Record<string, string>>) {
  return onnxModel({
    inputs: ['x: float32[2, 3, 8, 8]'],
    outputs: ['y'],
    initializers: ['weight: float32[4, 3, 3, 3]'],
    nodes: [onnxNode('y = Conv(x, weight)', { pads: { kind: 'ints', value: pads } }, metadata)],
  });
}

test.each([
  {
    name: 'TensorFlow’s padding',
    pads: [0, 0, 1, 1],
    metadata: { [rule]: 'FuseConvPad', [call]: conv2d(', None, [2, 2]') },
    before: [0, 0, 0, 0, 0, 0, 1, 1],
    own: [0, 0, 0, 0],
  },
  {
    name: 'beside padding of the convolution',
    pads: [3, 1, 1, 1],
    metadata: { [rule]: 'FuseConvPad', [call]: conv2d(', [1, 1], [1, 1]') },
    before: [0, 0, 2, 0, 0, 0, 0, 0],
    own: [1, 1, 1, 1],
  },
  {
    name: 'under a normalization, whose call is recorded instead',
    pads: [1, 1, 1, 1],
    metadata: { [rule]: 'FuseBatchNormIntoConv, FuseConvPad', [call]: normalization },
    before: [0, 0, 1, 1, 0, 0, 1, 1],
    own: [0, 0, 0, 0],
  },
  { name: 'of the convolution alone', pads: [1, 1, 1, 1], metadata: { [call]: conv2d(', [1, 1], [1, 1]') } },
  { name: 'of another rule', pads: [0, 0, 1, 1], metadata: { [rule]: 'NormalizePadFormatConv' } },
])('$name', ({ pads, metadata, before, own }) => {
  const graph = restorePadding(fileOf(pads, metadata))?.model.graph;
  const numbers = graph?.initializers.find(({ name }) => name === graph.nodes[0]?.inputs[1]);
  expect(graph?.nodes.map(({ type }) => type)).toEqual(before && ['Pad', 'Conv']);
  expect(numbers?.elements).toEqual(before);
  expect(graph?.nodes[1]?.attributes.get('pads')).toEqual(own && { kind: 'ints', value: own });
});
