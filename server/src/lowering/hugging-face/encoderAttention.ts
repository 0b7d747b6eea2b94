/** Self-attention of encoders after BERT (modeling_bert.py of transformers 5.18), and what models call its projections. */

import { type Attention, evenHeads } from './attentionLines.ts';
import type { ConfigFields } from './configFields.ts';

export const bertNames = {
  q_proj: 'query',
  k_proj: 'key',
  v_proj: 'value',
  qkv_proj: 'query_key_value',
  o_proj: 'attention_dense',
};

export const bartNames = {
  q_proj: 'q_proj',
  k_proj: 'k_proj',
  v_proj: 'v_proj',
  qkv_proj: 'qkv',
  o_proj: 'out_proj',
};

export const selfAttention = (fields: ConfigFields, changes: Partial<Attention> = {}): Attention => ({
  ...evenHeads(fields.size('num_attention_heads'), fields.size('hidden_size')),
  causal: fields.flag('is_decoder'),
  dropout: fields.number('attention_probs_dropout_prob', 0),
  names: bertNames,
  ...changes,
});
