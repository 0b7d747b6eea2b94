/** Attention in one call, by the name a person writes and by those that core ATen chooses for a device. */

import { float, int, ints, type Tensor } from '../../layer-spec/layerDefinition.ts';
import { type AtenCall, each, flagAttribute, type LowerAten } from '../atenCall.ts';

/** Dropout is part of the kernel and moves no bytes; query heads may share those of keys and values. */
const attention: LowerAten = (call) => {
  const given = ['query', 'key', 'value'].map((name) => call.tensor(name));
  const mask = call.tensor('attn_mask', 'attn_bias');
  if (call.has('attn_mask') && mask === undefined) return undefined;
  const ranks = new Set(given.map((tensor) => tensor?.shape?.length));
  const [query, key, value] = given;
  if (ranks.size === 1 && !ranks.has(4) && query && key && value)
    return written(call, query, key, value, mask);
  if (ranks.size !== 1 || !ranks.has(4)) return undefined;
  if (query && key && value && !call.flag('enable_gqa', false) && spreads(query, key))
    return written(call, query, key, value, mask);
  const scale = call.number('scale');
  return call.emit('Attention', mask === undefined ? given : [...given, mask], {
    is_causal: flagAttribute(call.flag('is_causal', false)),
    ...(scale === undefined ? {} : { scale: float(scale) }),
  });
};

/** Whether one head of keys is spread over those of queries, which the fused kernels do where they are told to (`enable_gqa`). */
const spreads = (query: Tensor, key: Tensor): boolean => {
  const [heads, groups] = [query, key].map(({ shape }) => shape?.at(1));
  return groups === 1 && typeof heads === 'number' && heads > 1;
};

/**
 * Fused kernels take four axes, and as many heads of keys as of queries; PyTorch computes others in steps (`check_tensor_shapes` of
 * aten/src/ATen/native/transformers/sdp_utils_cpp.h and `_scaled_dot_product_attention_math`, PyTorch 2.13). Queries and keys
 * are each scaled by the root.
 */
function written(
  call: AtenCall,
  query: Tensor,
  key: Tensor,
  value: Tensor,
  mask: Tensor | undefined,
): readonly Tensor[] | undefined {
  const rank = key.shape?.length;
  if (rank === undefined) return undefined;
  const type = query.elementType ?? 'float32';
  const root = call.scalar(0.5, type);
  const order = Array.from({ length: rank }, (_, axis) => axis);
  const perm = ints([...order.slice(0, -2), rank - 1, rank - 2]);
  const keys = call.emit('Transpose', call.emit('Mul', [key, root]), { perm });
  const [products] = call.emit('MatMul', [...call.emit('Mul', [query, root]), ...keys]);
  const masked =
    mask === undefined
      ? [products]
      : mask.elementType === 'bool'
        ? call.emit('Where', [mask, products, call.scalar(Number.NEGATIVE_INFINITY, type)])
        : call.emit('Add', [products, mask]);
  const whole = call.flag('is_causal', false) ? call.emit('Trilu', masked, { upper: int(0) }) : masked;
  const weights = call.emit('Softmax', whole, { axis: int(-1) });
  return call.emit('MatMul', [...weights, value]);
}

export const attentionOperators: Readonly<Record<string, LowerAten>> = each(
  [
    'scaled_dot_product_attention.default',
    '_scaled_dot_product_flash_attention.default',
    '_scaled_dot_product_flash_attention_for_cpu.default',
    '_scaled_dot_product_efficient_attention.default',
    '_scaled_dot_product_cudnn_attention.default',
    '_scaled_dot_product_fused_attention_overrideable.default',
    '_scaled_dot_product_attention_math.default',
  ],
  attention,
);
