/**
 * Padding that the default exporter's optimizer put into the convolution behind it, as an operator of its own again.
 *
 * Causal convolutions and those with TensorFlow's padding call `F.pad` first, and backward keeps the padded tensor. onnxscript's rewriter takes
 * the numbers into the attribute of the convolution and leaves its name (0.5, `rules/common/_fuse_pad_into_conv.py`). What the
 * convolution pads itself is in its recorded call; where a normalization was folded behind it, that call is gone, and it is taken to pad nothing.
 */

import type { OnnxModel, OnnxNode } from '../../formats/onnx/syntax.ts';
import { itemAt } from '../../model/at.ts';
import type { TensorLiteral } from '../../model/attribute.ts';

export interface RestoredPadding {
  readonly model: OnnxModel;
  /** Convolutions with their padding in front of them again. */
  readonly count: number;
}

/** `undefined` where no padding was put into a convolution. */
export function restorePadding(model: OnnxModel): RestoredPadding | undefined {
  const { graph } = model;
  const added: TensorLiteral[] = [];
  const nodes = graph.nodes.flatMap((node, index): readonly OnnxNode[] => {
    const standsFor = node.standsFor ?? index;
    const padding = paddingBefore(node);
    if (padding === undefined) return [{ ...node, standsFor }];
    const { before, own } = padding;
    const [input = '', ...others] = node.inputs;
    const padded = `${node.outputs[0]} padded input`;
    const axes = before.length / 2;
    const elements = [0, 0, ...before.slice(0, axes), 0, 0, ...before.slice(axes)];
    const numbers: TensorLiteral = {
      name: `${padded} by`,
      elementType: 'int64',
      dimensions: [elements.length],
      elements,
      storedBytes: 0,
    };
    added.push(numbers);
    return [
      {
        ...node,
        name: `${node.name}_Pad`,
        type: 'Pad',
        inputs: [input, numbers.name],
        outputs: [padded],
        attributes: new Map(),
        metadata: new Map(),
        standsFor,
      },
      {
        ...node,
        inputs: [padded, ...others],
        attributes: new Map([...node.attributes, ['pads', { kind: 'ints', value: own }]]),
        standsFor,
      },
    ];
  });
  if (added.length === 0) return undefined;
  return {
    model: { ...model, graph: { ...graph, nodes, initializers: [...graph.initializers, ...added] } },
    count: added.length,
  };
}

interface Padding {
  /** Of `F.pad`: at the beginning of each spatial axis, then at the end of each. */
  readonly before: readonly number[];
  /** Of the convolution itself, in the same order. */
  readonly own: readonly number[];
}

function paddingBefore({ type, attributes, metadata }: OnnxNode): Padding | undefined {
  const pads = attributes.get('pads');
  const isFused = type === 'Conv' && fused.test(metadata.get('pkg.onnxscript.rewriter.rule_name') ?? '');
  if (!isFused || pads?.kind !== 'ints') return undefined;
  const called = paddingOfCall(metadata.get('pkg.torch.onnx.fx_node') ?? '');
  const own = pads.value.map((_, index) => (called.length === 0 ? 0 : itemAt(called, index % called.length)));
  const before = pads.value.map((size, index) => size - itemAt(own, index));
  return before.every((size) => size >= 0) && before.some((size) => size > 0) ? { before, own } : undefined;
}

const fused = /\bFuseConvPad\b/;

/** `args = (%pad, %p_weight, %p_bias, [1], [2], [4])`: stride, padding, dilation; those that are as usual may be left out. */
function paddingOfCall(call: string): readonly number[] {
  const lists = /\baten\.conv\dd\.default\]\(args = \(([^)]*)\)/.exec(call)?.[1]?.match(/\[[^\]]*\]/g);
  const padding = lists?.[1]?.match(/\d+/g) ?? [];
  return padding.map(Number);
}
