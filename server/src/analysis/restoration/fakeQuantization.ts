/**
 * Pairs of QuantizeLinear and DequantizeLinear as training runs them: fake quantization, which hands gradients straight through.
 *
 * PyTorch's exporters write `fake_quantize_per_tensor_affine` so, and quantizers put the same pairs into a trained model. Taken
 * by themselves, integers between the two would let no gradient pass.
 */

import type { OnnxModel, OnnxNode } from '../../formats/onnx/syntax.ts';
import { contribDomain, ownDomain } from '../../operators/vocabulary/define.ts';

export interface FakeQuantized {
  readonly model: OnnxModel;
  readonly count: number;
  /** What is rounded by the first of them. */
  readonly first: string;
}

/** `undefined` where no number is rounded so. */
export function withFakeQuantization(model: OnnxModel): FakeQuantized | undefined {
  const { nodes, outputs } = model.graph;
  const given = new Set(outputs.map(({ name }) => name));
  const rounded = new Map<string, OnnxNode>();
  for (const node of nodes) {
    const [integers = ''] = node.outputs;
    if (isQuantizer(node, 'QuantizeLinear') && !given.has(integers)) rounded.set(integers, node);
  }
  for (const node of nodes) {
    node.inputs.forEach((name, at) => {
      if (at > 0 || !isQuantizer(node, 'DequantizeLinear')) rounded.delete(name);
    });
  }
  const pairs = nodes.flatMap((node, index) => {
    const first = rounded.get(node.inputs[0] ?? '');
    return first === undefined ? [] : [{ index, first }];
  });
  const [pair] = pairs;
  if (pair === undefined) return undefined;
  const quantizers = new Set(pairs.map(({ first }) => first));
  const sources = new Map(pairs.map(({ index, first }) => [index, first]));
  const now = nodes.flatMap((node, index) => {
    if (quantizers.has(node)) return [];
    const numbered = { ...node, standsFor: node.standsFor ?? index };
    const first = sources.get(index);
    return first === undefined ? [numbered] : [fakeQuantizer(numbered, first)];
  });
  return {
    model: { ...model, graph: { ...model.graph, nodes: now } },
    count: quantizers.size,
    first: pair.first.inputs[0] ?? '',
  };
}

const isQuantizer = ({ domain, type }: OnnxNode, wanted: string): boolean =>
  type === wanted && (domain === '' || domain === contribDomain);

const fakeQuantizer = (node: OnnxNode, { inputs }: OnnxNode): OnnxNode => ({
  ...node,
  domain: ownDomain,
  type: 'FakeQuantize',
  inputs,
});
