/** Self-attention of encoders after BERT (modeling_bert.py of transformers 5.18). */

import type { Attention } from './attentionLines.ts';
import type { ConfigFields } from './configFields.ts';

export const bertNames = {
  q_proj: 'query',
  k_proj: 'key',
  v_proj: 'value',
  qkv_proj: 'query_key_value',
  o_proj: 'attention_dense',
};

export const selfAttention = (fields: ConfigFields, changes: Partial<Attention> = {}): Attention => {
  const heads = fields.size('num_attention_heads');
  return {
    heads,
    groups: heads,
    headSize: Math.floor(fields.size('hidden_size') / heads),
    bias: true,
    outputBias: true,
    rotated: 0,
    causal: fields.flag('is_decoder'),
    dropout: fields.number('attention_probs_dropout_prob', 0),
    names: bertNames,
    ...changes,
  };
};
