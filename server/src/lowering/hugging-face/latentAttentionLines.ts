/** Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1), one line each. */

import type { ConfigFields } from './configFields.ts';
import { rmsNorm } from './normalizations.ts';

export interface LatentAttention {
  readonly latent: true;
  readonly heads: number;
  /** Rank of queries; `undefined` where they are projected at once. */
  readonly queryRank: number | undefined;
  readonly keyRank: number;
  /** Elements of a head's query and key that are rotated by position, and that are not. */
  readonly rotated: number;
  readonly unrotated: number;
  readonly valueSize: number;
  readonly bias: boolean;
  /** Whether queries are multiplied by a number for each position (Mistral 4, `get_llama_4_attn_scale`). */
  readonly queryScale?: boolean;
  /** Whether nothing is rotated by position (Kimi Linear). */
  readonly unplaced?: boolean;
  readonly norm: (size: string) => string;
}

/** As DeepSeek's config has it. */
export function latentAttentionOf(fields: ConfigFields): LatentAttention {
  const heads = fields.size('num_attention_heads');
  return {
    latent: true,
    heads,
    queryRank: fields.optionalSize('q_lora_rank'),
    keyRank: fields.size('kv_lora_rank'),
    rotated: fields.size('qk_rope_head_dim'),
    unrotated: fields.size('qk_nope_head_dim'),
    // MiniCPM3 alone leaves it out.
    valueSize: fields.optionalSize('v_head_dim') ?? Math.floor(fields.size('hidden_size') / heads),
    bias: fields.flag('attention_bias'),
    norm: rmsNorm(fields.number('rms_norm_eps', 1e-6)),
  };
}

/**
 * Queries and keys are joined behind the transposition, so that heads lie one behind the other (`expand_kv`), and so does what the
 * kernel gives.
 */
export function latentAttentionLines(of: LatentAttention, source: string): readonly string[] {
  const bias = of.bias ? '' : ', bias=False';
  const head = of.rotated + of.unrotated;
  const queries =
    of.queryRank === undefined
      ? [`q_proj: Linear(${of.heads * head}, bias=False) from ${source}`]
      : [
          `q_a_proj: Linear(${of.queryRank}${bias}) from ${source}`,
          `q_a_layernorm: ${of.norm(String(of.queryRank))}`,
          `q_b_proj: Linear(${of.heads * head}, bias=False)`,
        ];
  return [
    ...queries,
    `q_split: reshape(batch, seq, ${of.heads}, ${head})`,
    ...(of.unplaced === true
      ? []
      : [
          `q_plain, q_turning: split([${of.unrotated}, ${of.rotated}], dim=-1)`,
          'q_rotary: RotaryPositionalEmbeddings() from q_turning',
          'q_rotary_heads: transpose(1, 2)',
          'q_plain_heads: transpose(q_plain, 1, 2)',
        ]),
    ...(of.unplaced === true
      ? ['q_heads: transpose(q_split, 1, 2)']
      : of.queryScale === true
        ? [
            'q_joined: cat((q_plain_heads, q_rotary_heads), dim=-1)',
            'q_scale: Buffer(seq, 1)',
            'q_heads: mul(q_joined, q_scale)',
          ]
        : ['q_heads: cat((q_plain_heads, q_rotary_heads), dim=-1)']),
    `kv_a_proj_with_mqa: Linear(${of.keyRank + of.rotated}${bias}) from ${source}`,
    `kv_latent, k_turning: split([${of.keyRank}, ${of.rotated}], dim=-1)`,
    `k_split: reshape(k_turning, batch, seq, 1, ${of.rotated})`,
    ...(of.unplaced === true ? [] : ['k_rotary: RotaryPositionalEmbeddings()']),
    `k_shared: expand(batch, seq, ${of.heads}, ${of.rotated})`,
    `kv_a_layernorm: ${of.norm(String(of.keyRank))} from kv_latent`,
    `kv_b_proj: Linear(${of.heads * (of.unrotated + of.valueSize)}, bias=False)`,
    `kv_split: reshape(batch, seq, ${of.heads}, ${of.unrotated + of.valueSize})`,
    `k_plain, v_split: split([${of.unrotated}, ${of.valueSize}], dim=-1)`,
    'k_plain_heads: transpose(k_plain, 1, 2)',
    'k_shared_heads: transpose(k_shared, 1, 2)',
    'k_heads: cat((k_plain_heads, k_shared_heads), dim=-1)',
    'v_heads: transpose(v_split, 1, 2)',
    'attention: scaled_dot_product_attention(q_heads, k_heads, v_heads, is_causal=True)',
    'joined: transpose(1, 2)',
    `merged: reshape(batch, seq, ${of.heads * of.valueSize})`,
    `o_proj: Linear(hidden_size${bias})`,
  ];
}
