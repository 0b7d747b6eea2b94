/**
 * Calls inside a region of `torch.autocast`: the program does not have the casts, but the types of results say which there are.
 *
 * Operators of two lists cast what they are given, the first to the half type of the region, the second to fp32; all others run in
 * the types that they get. Source: "CUDA Ops that can autocast" of the documentation of `torch.amp`, PyTorch 2.13.
 */

import type { AtenNode } from '../../formats/pt2/syntax.ts';
import { type ElementType, isFloatingPoint } from '../../model/elementType.ts';
import type { Tensor } from '../layer-spec/layerDefinition.ts';

export const autocastRegion = 'torch.ops.higher_order.wrap_with_autocast';

const half =
  /^(?:linear|matmul|mm|bmm|mv|addmm|addmv|addbmm|baddbmm|addr|dot|vdot|einsum|chain_matmul|linalg_multi_dot|_?convolution|conv[123]d|conv_tbc|conv_transpose[123]d|prelu|scaled_dot_product_attention|lstm|gru|rnn_tanh|rnn_relu|lstm_cell|gru_cell|rnn_tanh_cell|rnn_relu_cell)\./;
const converts = /^(?:to|_to_copy|type_as|float|clone|detach|copy_?)\./;

/** Names of operands that the call casts, and to which type; `result` is the type that the program says. */
export function autocastOf(
  { target, arguments: given }: AtenNode,
  result: ElementType | undefined,
  typeOf: (name: string) => ElementType | undefined,
): { readonly type: ElementType; readonly names: readonly string[] } | undefined {
  const name = target.replace('torch.ops.aten.', '');
  if (result === undefined || !isFloatingPoint(result) || converts.test(name)) return undefined;
  const isHalf = result === 'float16' || result === 'bfloat16';
  if (isHalf ? !half.test(name) : result !== 'float32') return undefined;
  const from = isHalf ? ['float32'] : ['float16', 'bfloat16'];
  const names = [...given.values()].flatMap((argument) =>
    argument.kind === 'tensor' ? [argument.name] : argument.kind === 'tensors' ? argument.names : [],
  );
  const cast = names.flatMap((operand) =>
    operand !== undefined && from.includes(typeOf(operand) ?? '') ? [operand] : [],
  );
  return cast.length === 0 ? undefined : { type: result, names: [...new Set(cast)] };
}

/** Whether a call begins such a region: its second argument is the type, its third whether it is on. */
export function isAutocast({ target, arguments: given }: AtenNode): boolean {
  const enabled = given.get('2');
  return target === autocastRegion && enabled?.kind === 'boolean' && enabled.value;
}

export type TensorLookup = Pick<ReadonlyMap<string, Tensor>, 'get' | 'has'>;
