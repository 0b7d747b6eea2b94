/** Layer specs of the transformers that layouts were measured with, by the sizes that a table gives. */

interface DecoderSizes {
  readonly layers: number;
  readonly hidden: number;
  readonly heads: number;
  readonly seq: number;
  readonly vocabulary: number;
}

/**
 * GPT of Megatron-LM: dropout and a tied head. `core` tells whether attention is one kernel or keeps its scores. BERT is the same to
 * the byte but for its mask and a small pooler, which are left out.
 */
export const gptSpec = (
  { layers, hidden, heads, seq, vocabulary }: DecoderSizes,
  { core = 'scores', causal = true, dropout = 0.1 } = {},
): string => `name: gpt
dims: { batch: 1, seq: ${seq}, h: ${hidden}, a: ${heads} }
inputs:
  tokens: int64[batch, seq]
  labels: int64[batch*seq]
blocks:
  decoder:
    - ln_1: LayerNorm(h)
    - attn: MultiheadAttention(h, a, dropout=${dropout}, causal=${causal ? 'True' : 'False'}, fused=${core === 'scores' ? 'False' : 'True'})
    - drop_1: Dropout(${dropout})
    - res_1: add(drop_1, input)
    - ln_2: LayerNorm(h)
    - fc: Linear(h, 4*h)
    - act: GELU()
    - proj: Linear(4*h, h)
    - drop_2: Dropout(${dropout})
    - res_2: add(drop_2, res_1)
layers:
  - embed: Embedding(${vocabulary}, h) from tokens
  - drop: Dropout(${dropout})
  - h: decoder() * ${layers}
  - last: LayerNorm(h)
  - head: Linear(h, ${vocabulary}, bias=False, weight=embed)
  - rows: reshape((batch*seq, ${vocabulary}))
  - loss: CrossEntropyLoss() from rows, labels precision=fp32
`;

/** Llama: grouped keys and values, a gated MLP, and a head of its own. */
export const llamaSpec = ({
  layers,
  hidden,
  heads,
  seq,
  vocabulary,
  groups,
  width,
}: DecoderSizes & { readonly groups: number; readonly width: number }): string => `name: llama
dims: { batch: 1, seq: ${seq} }
inputs:
  tokens: int64[batch, seq]
  labels: int64[batch*seq]
blocks:
  decoder:
    - input_norm: RMSNorm(${hidden})
    - query: Linear(${hidden}, ${hidden}, bias=False)
    - query_heads: reshape((batch, seq, ${heads}, ${hidden / heads}))
    - query_rows: permute(0, 2, 1, 3)
    - query_turned: RotaryEmbedding()
    - key: Linear(${hidden}, ${(groups * hidden) / heads}, bias=False) from input_norm
    - key_heads: reshape((batch, seq, ${groups}, ${hidden / heads}))
    - key_rows: permute(0, 2, 1, 3)
    - key_turned: RotaryEmbedding()
    - value: Linear(${hidden}, ${(groups * hidden) / heads}, bias=False) from input_norm
    - value_heads: reshape((batch, seq, ${groups}, ${hidden / heads}))
    - value_rows: permute(0, 2, 1, 3)
    - attention: scaled_dot_product_attention(query_turned, key_turned, value_rows, is_causal=True, enable_gqa=True)
    - attention_rows: permute(0, 2, 1, 3)
    - merged: reshape((batch, seq, ${hidden}))
    - attn: Linear(${hidden}, ${hidden}, bias=False)
    - res_1: add(attn, input)
    - post_norm: RMSNorm(${hidden})
    - gate: Linear(${hidden}, ${width}, bias=False)
    - act: SiLU()
    - up: Linear(${hidden}, ${width}, bias=False) from post_norm
    - gated: mul(act, up)
    - down: Linear(${width}, ${hidden}, bias=False)
    - res_2: add(down, res_1)
layers:
  - embed: Embedding(${vocabulary}, ${hidden}) from tokens
  - layers: decoder() * ${layers}
  - last_norm: RMSNorm(${hidden})
  - head: Linear(${hidden}, ${vocabulary}, bias=False)
  - rows: reshape((batch*seq, ${vocabulary}))
  - loss: CrossEntropyLoss() from rows, labels precision=fp32
`;
