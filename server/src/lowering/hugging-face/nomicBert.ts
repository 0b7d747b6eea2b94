/** Nomic BERT (modeling_nomic_bert.py of transformers 5.18): post-norm blocks with rotated positions and gated products. */

import { activationBlocks } from './activations.ts';
import { attentionLines } from './attentionLines.ts';
import { bertHead } from './bertHeads.ts';
import type { ConfigFields } from './configFields.ts';
import { dropoutLines } from './dropoutLines.ts';
import { selfAttention } from './encoderAttention.ts';
import { feedForwardLines } from './feedForwardLines.ts';
import { gated } from './llamaLike.ts';
import { layerNorm } from './normalizations.ts';
import type { SpecParts } from './specText.ts';
import { textDims } from './textDims.ts';

export function nomicBert(fields: ConfigFields, name: string): SpecParts {
  const norm = layerNorm(fields.number('layer_norm_eps', 1e-12))('hidden_size');
  const share = fields.number('hidden_dropout_prob', 0);
  const attention = selfAttention(fields);
  const headSize = fields.optionalSize('head_dim') ?? attention.headSize;
  const block = [
    ...attentionLines(
      {
        ...attention,
        headSize,
        bias: false,
        outputBias: false,
        rotated: headSize,
        causal: false,
        names: {
          q_proj: 'q_proj',
          k_proj: 'k_proj',
          v_proj: 'v_proj',
          o_proj: 'o_proj',
          qkv_proj: 'qkv_proj',
        },
      },
      { source: 'input', length: 'seq' },
    ),
    ...dropoutLines('attention_dropout', share),
    `attention_residual: add(${share > 0 ? 'attention_dropout' : 'o_proj'}, input)`,
    `post_attention_layernorm: ${norm}`,
    ...feedForwardLines(gated(fields, undefined, false), 'post_attention_layernorm'),
    ...dropoutLines('mlp_dropout', share),
    `mlp_residual: add(${share > 0 ? 'mlp_dropout' : 'down_proj'}, post_attention_layernorm)`,
    `post_mlp_layernorm: ${norm}`,
  ];
  return {
    name,
    comments: [],
    dims: textDims(fields, Math.min(fields.size('max_position_embeddings'), 512)),
    inputs: { tokens: 'int64[batch, seq]', segments: 'int64[batch, seq]' },
    blocks: { ...activationBlocks(block), encoder_layer: block },
    layers: [
      'word_embeddings: Embedding(vocab_size, hidden_size) from tokens',
      `token_type_embeddings: Embedding(${fields.size('type_vocab_size')}, hidden_size) from segments`,
      'embedded: add(word_embeddings, token_type_embeddings)',
      `embeddings_norm: ${norm}`,
      ...dropoutLines('embeddings_dropout', share),
      `encoder: encoder_layer() * ${fields.size('num_hidden_layers')}`,
      ...(/Model$/.test(fields.architecture ?? '') ? [] : bertHead(fields)),
    ],
  };
}
