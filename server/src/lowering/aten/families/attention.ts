/** Attention in one call, by the name a person writes and by those that core ATen chooses for a device. */

import { float } from '../../layer-spec/layerDefinition.ts';
import { each, flagAttribute, type LowerAten } from '../atenCall.ts';

/** Dropout is part of the kernel and moves no bytes; query heads may share those of keys and values. */
const attention: LowerAten = (call) => {
  const given = ['query', 'key', 'value'].map((name) => call.tensor(name));
  const mask = call.tensor('attn_mask', 'attn_bias');
  if (call.has('attn_mask') && mask === undefined) return undefined;
  const ranks = new Set(given.map((tensor) => tensor?.shape?.length));
  const isSingle = ranks.size === 1 && ranks.has(3);
  if (!isSingle && !(ranks.size === 1 && ranks.has(4))) return undefined;
  const heads = call.integers([1]);
  const inputs = isSingle ? given.flatMap((tensor) => call.emit('Unsqueeze', [tensor, heads])) : given;
  const scale = call.number('scale');
  const output = call.emit('Attention', mask === undefined ? inputs : [...inputs, mask], {
    is_causal: flagAttribute(call.flag('is_causal', false)),
    ...(scale === undefined ? {} : { scale: float(scale) }),
  });
  return isSingle ? call.emit('Squeeze', [...output, heads]) : output;
};

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
