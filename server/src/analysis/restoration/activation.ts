/** The activation that ONNX Runtime runs inside a convolution or matmul, as an operator of its own. */

import type { OnnxNode } from '../../formats/onnx/syntax.ts';
import { floatAttributes, type NodeWriter, textOf } from './nodeWriter.ts';

/** What `activation_params` are, in their order (ONNX Runtime, core/providers/cpu/activation/activations.cc). */
const parameters: Readonly<Record<string, readonly string[]>> = {
  Relu: [],
  Sigmoid: [],
  Tanh: [],
  HardSwish: [],
  Softplus: [],
  LeakyRelu: ['alpha'],
  ThresholdedRelu: ['alpha'],
  Elu: ['alpha'],
  HardSigmoid: ['alpha', 'beta'],
  Clip: ['min', 'max'],
};

/** Whether the activation of a node, if it has one, is known. */
export const isKnownActivation = ({ attributes }: OnnxNode): boolean => {
  const name = textOf(attributes, 'activation');
  return name === '' || parameters[name] !== undefined;
};

/** Writes the activation of `node` over `input` as its output. */
export function writeActivation(writer: NodeWriter, node: OnnxNode, input: string, output: string): void {
  const type = textOf(node.attributes, 'activation');
  const given = node.attributes.get('activation_params');
  const values = given?.kind === 'floats' ? given.value : [];
  const names = parameters[type] ?? [];
  const own = names.flatMap((name, index): (readonly [string, number])[] => {
    // LeakyRelu and its like have theirs as an attribute `activation_alpha` in files of older versions.
    const older = node.attributes.get(`activation_${name}`);
    const value = values[index] ?? (older?.kind === 'float' ? older.value : undefined);
    return value === undefined ? [] : [[name, value]];
  });
  const limits = type === 'Clip' ? own.map(([, value]) => writer.numbers('float32', [], [value])) : [];
  writer.add(node, {
    type,
    inputs: [input, ...limits],
    output,
    ...(type === 'Clip' ? {} : { attributes: floatAttributes(Object.fromEntries(own)) }),
  });
}
