/** Small constants that nodes and initializers hold, by name. */

import type { OnnxNode } from '../formats/onnx/syntax.ts';
import type { TensorLiteral } from '../model/attribute.ts';

export type Constants = ReadonlyMap<string, readonly number[]>;

export function constantsOf(
  nodes: readonly { readonly node: OnnxNode }[],
  initializers: readonly TensorLiteral[],
): Constants {
  const constants = new Map<string, readonly number[]>();
  for (const { name, elements } of initializers) if (elements !== undefined) constants.set(name, elements);
  for (const { node } of nodes) {
    const [output] = node.outputs;
    if (node.type !== 'Constant' || output === undefined) continue;
    const value = node.attributes.get('value');
    const integers = node.attributes.get('value_ints');
    const integer = node.attributes.get('value_int');
    const floats = node.attributes.get('value_floats');
    const float = node.attributes.get('value_float');
    if (value?.kind === 'tensor' && value.value.elements !== undefined) {
      constants.set(output, value.value.elements);
    } else if (integers?.kind === 'ints') constants.set(output, integers.value);
    else if (integer?.kind === 'int') constants.set(output, [integer.value]);
    else if (floats?.kind === 'floats') constants.set(output, floats.value);
    else if (float?.kind === 'float') constants.set(output, [float.value]);
  }
  return constants;
}
