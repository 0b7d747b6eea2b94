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
  /** What chooses the tokens that a query sees, of all before it. */
  readonly indexer?: Indexer;
  /** The mask that it is given, where it is. */
  readonly mask?: string;
}

/** DeepSeek Sparse Attention (DeepSeek-V3.2, arXiv 2512.02556, section 2.1; `DeepseekV32Indexer`). */
export interface Indexer {
  readonly heads: number;
  readonly size: number;
  /** Tokens that a query sees, at most. */
  readonly chosen: number;
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
  const { indexer, mask } = of;
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
    ...(indexer === undefined || mask === undefined
      ? []
      : indexerLines(indexer, { rotated: of.rotated, mask, source })),
    `attention: scaled_dot_product_attention(q_heads, k_heads, v_heads, ${indexer === undefined ? 'is_causal=True' : 'chosen_mask'})`,
    'joined: transpose(1, 2)',
    `merged: reshape(batch, seq, ${of.heads * of.valueSize})`,
    `o_proj: Linear(hidden_size${bias})`,
  ];
}

/**
 * Scores of one key for all heads, summed by weights that each token has. transformers hides what is not chosen by a mask; the few
 * kernels that negate masks are left out (transformers 5.18, modeling_deepseek_v32.py, `DeepseekV32Attention.forward`).
 */
function indexerLines(
  { heads, size, chosen }: Indexer,
  { rotated, mask, source }: { readonly rotated: number; readonly mask: string; readonly source: string },
): readonly string[] {
  const parts = `split([${rotated}, ${size - rotated}], dim=-1)`;
  return [
    `wq_b: Linear(${heads * size}, bias=False) from q_a_layernorm`,
    `index_heads: reshape(batch, seq, ${heads}, ${size})`,
    `index_turning, index_plain: ${parts}`,
    'index_rotary: RotaryPositionalEmbeddings() from index_turning',
    'index_queries: cat((index_rotary, index_plain), dim=-1)',
    `wk: Linear(${size}, bias=False) from ${source}`,
    `index_k_norm: LayerNorm(${size})`,
    'index_key: unsqueeze(2)',
    `index_k_turning, index_k_plain: ${parts}`,
    'index_k_rotary: RotaryPositionalEmbeddings() from index_k_turning',
    'index_k_joined: cat((index_k_rotary, index_k_plain), dim=-1)',
    'index_keys: transpose(-3, -2)',
    'index_keys_turned: transpose(-2, -1)',
    'index_products: matmul(index_queries, index_keys_turned) precision=fp32',
    `index_scaled: mul(${size ** -0.5})`,
    'index_positive: relu()',
    `weights_proj: Linear(${heads}, bias=False) from ${source}`,
    `index_weights: mul(${heads ** -0.5})`,
    'index_row: unsqueeze(-2)',
    'index_sums: matmul(index_row, index_positive) precision=fp32',
    'index_scores: squeeze(-2)',
    `seen: select(${mask}, 1, 0)`,
    'index_seen: masked_fill(index_scores, seen, -1e30)',
    `index_values, index_tokens: topk(${smallerOf('seq', chosen)})`,
    "hidden: Buffer(1, 1, 1, dtype='bool')",
    'all_tokens: expand(batch, seq, seq)',
    'not_chosen: scatter(all_tokens, -1, index_tokens, value=0)',
    'not_chosen_heads: unsqueeze(1)',
    `chosen_mask: where(not_chosen_heads, not_chosen_heads, ${mask})`,
  ];
}

/** `min(name, number)` by the arithmetic of layer specs: 1 // (1 + n // m) is 1 where n is below m, else 0. */
const smallerOf = (name: string, number: number): string =>
  `${number} + 1 // (1 + ${name} // ${number}) * (${name} - ${number})`;
