/**
 * What types of transformers are made of, one entry per `model_type`: the differences from Llama.
 *
 * Source: `modeling_*.py` and `configuration_*.py` of transformers 5.18; `test/lowering/hugging-face/` holds the
 * parameters and FLOPs of every type against what transformers builds.
 */

import { activationOf } from './activations.ts';
import type { ConfigFields } from './configFields.ts';
import type { Decoder } from './decoder.ts';
import type { FeedForward } from './feedForwardLines.ts';
import { latentAttentionOf } from './latentAttentionLines.ts';
import { lfm2 } from './lfm2.ts';
import {
  type DecoderType,
  gated,
  granitesScales,
  llamaLike,
  longestOf,
  onlyNearRotates,
  plain,
  plainOf,
  softcapOf,
} from './llamaLike.ts';
import { modernBertDecoder } from './modernBertDecoder.ts';
import { bareRmsNorm, headNorm, layerNorm, rmsNorm, wholeNorm } from './normalizations.ts';

/** Cohere's normalizations, computed step by step (modeling_cohere.py, `CohereLayerNorm`); those of queries and keys have a scale per head. */
export const cohereNorms = (fields: ConfigFields) => ({
  norm: () => 'cohere_norm()',
  blocks: {
    normalized: [
      'average: mean(input, dim=-1, keepdim=True)',
      'difference: sub(input, average)',
      'squared: pow(2)',
      'variance: mean(dim=-1, keepdim=True)',
      'centred: sub(input, average)',
      `bounded: add(variance, ${fields.number('layer_norm_eps', 1e-5)})`,
      'inverse: rsqrt()',
      'output: mul(centred, inverse)',
    ],
    cohere_norm: [
      'normalized: normalized()',
      'weight: Parameter(hidden_size)',
      'output: mul(weight, normalized)',
    ],
  },
});

/** GLM-4, and what reads for its models of images. */
const glmSandwich = (fields: ConfigFields, bias: boolean): Decoder =>
  llamaLike(fields, {
    order: 'sandwich',
    attention: { bias, outputBias: false, rejoined: true },
    feedForward: () => ({ ...gated(fields, undefined, false), packed: true }) as FeedForward,
  });

const gptj: DecoderType = (fields) => {
  const heads = fields.size('num_attention_heads');
  const headSize = Math.floor(fields.size('hidden_size') / heads);
  return llamaLike(fields, {
    norm: layerNorm(fields.number('layer_norm_epsilon', 1e-5)),
    order: 'parallel',
    attention: {
      bias: false,
      outputBias: false,
      rotated: fields.optionalSize('rotary_dim') ?? headSize,
      packed: fields.type === 'codegen',
      written: true,
    },
    feedForward: () => plainOf(fields, 'n_inner'),
    headBias: true,
  });
};

const gpt2: DecoderType = (fields) =>
  llamaLike(fields, {
    norm: layerNorm(fields.number('layer_norm_epsilon', 1e-5)),
    positions: longestOf(fields),
    attention: { packed: true, bias: true, outputBias: true, rotated: 0, names: gpt2Names },
    feedForward: () => plainOf(fields, 'n_inner', ['c_fc', 'c_proj_2']),
  });

const llama: DecoderType = (fields) => llamaLike(fields);

const qwen2: DecoderType = (fields) => llamaLike(fields, { attention: { bias: true, outputBias: false } });

const qwen3: DecoderType = (fields) => llamaLike(fields, { attention: { queryNorm: headNorm(fields) } });

const hunyuan: DecoderType = (fields) =>
  llamaLike(fields, { attention: { queryNorm: { ...headNorm(fields), rotatedFirst: true } } });

export const decoderTypes: Readonly<Record<string, DecoderType>> = {
  llama,
  mistral: llama,
  ministral: llama,
  ministral3: llama,
  smollm3: (fields) => {
    const listed = fields.list('no_rope_layers');
    const interval = fields.number('no_rope_layer_interval', 4);
    return llamaLike(fields, {
      rotates: (layer) => (listed === undefined ? (layer + 1) % interval !== 0 : listed[layer] !== 0),
    });
  },
  lfm2,
  'modernbert-decoder': modernBertDecoder,
  eurobert: (fields) => {
    if (fields.architecture?.endsWith('ForSequenceClassification'))
      fields.problems.push('the head of `EuroBertForSequenceClassification` is not known');
    return llamaLike(fields, { attention: { causal: false }, headBias: fields.flag('mlp_bias') });
  },
  bitnet: (fields) => {
    const norm = rmsNorm(fields.number('rms_norm_eps', 1e-5));
    return llamaLike(fields, {
      attention: { outputNorm: norm },
      feedForward: () => ({ ...gated(fields, undefined, false), norm }) as FeedForward,
    });
  },
  ernie4_5: (fields) => {
    const bias = fields.flag('use_bias');
    return llamaLike(fields, {
      attention: { bias, outputBias: bias },
      feedForward: () => gated(fields, undefined, bias),
    });
  },
  helium: (fields) => llamaLike(fields, { attention: { outputBias: false } }),
  cwm: (fields) => llamaLike(fields, { attention: { bias: false, outputBias: false } }),
  vaultgemma: (fields) => llamaLike(fields, { embeddingScale: true, ...softcapOf(fields) }),
  granite: (fields) => llamaLike(fields, granitesScales(fields)),
  granite_swa: (fields) => llamaLike(fields, { ...granitesScales(fields), attention: { sinks: 'scales' } }),
  hyperclovax: (fields) =>
    llamaLike(fields, {
      ...granitesScales(fields),
      order: fields.flag('use_post_norm', true) ? 'sandwich' : 'pre',
    }),
  minicpm3: (fields) => {
    return {
      ...llamaLike(fields),
      embeddingScale: true,
      branchScale: fields.number('scale_depth', 1) / Math.sqrt(fields.size('num_hidden_layers')),
      hiddenScale: fields.number('dim_model_base', 1) / fields.size('hidden_size'),
      runs: [
        {
          count: fields.size('num_hidden_layers'),
          attention: latentAttentionOf(fields),
          feedForward: gated(fields),
        },
      ],
    };
  },
  nanochat: (fields) => {
    const norm = bareRmsNorm(fields.number('rms_norm_eps', 1e-6));
    return llamaLike(fields, {
      norm,
      embeddingNorm: true,
      attention: { queryNorm: { over: 'head', call: norm, rotatedFirst: true } },
      feedForward: () => plain(fields, false, ['fc1', 'fc2']),
      ...softcapOf(fields),
    });
  },
  emu3_text_model: (fields) => llamaLike(fields, { dropout: fields.number('attention_dropout', 0) }),
  // It casts back what it rotated in fp32, so that its norms read what products gave.
  hunyuan_vl_text: (fields) => llamaLike(fields, { attention: { queryNorm: headNorm(fields) } }),
  qwen2_5_omni_text: qwen2,
  paddleocr_vl_text: (fields) => {
    const bias = fields.flag('use_bias');
    return llamaLike(fields, {
      attention: { bias, outputBias: bias },
      feedForward: () => gated(fields, undefined, bias),
    });
  },
  glm4v_text: (fields) => glmSandwich(fields, true),
  glm_ocr_text: (fields) => glmSandwich(fields, false),
  apertus: (fields) =>
    llamaLike(fields, {
      attention: { queryNorm: headNorm(fields) },
      feedForward: () => plain(fields, false),
    }),
  arcee: (fields) => llamaLike(fields, { feedForward: () => plain(fields, fields.flag('mlp_bias')) }),
  seed_oss: (fields) => llamaLike(fields, { attention: { outputBias: fields.flag('attention_out_bias') } }),
  qwen2,
  // The text parts of Qwen2-VL, Qwen2.5-VL and Qwen3-VL.
  qwen2_vl_text: qwen2,
  qwen2_5_vl_text: qwen2,
  hunyuan_v1_dense: hunyuan,
  qwen3,
  qwen3_vl_text: qwen3,
  phi3: (fields) =>
    llamaLike(fields, {
      attention: { packed: true, packedBy: 'ranges', bias: false, outputBias: false, rejoined: true },
      feedForward: () => ({ ...gated(fields, undefined, false), packed: true }) as FeedForward,
    }),
  youtu: (fields) => ({
    ...llamaLike(fields),
    runs: [
      {
        count: fields.size('num_hidden_layers'),
        attention: latentAttentionOf(fields),
        feedForward: gated(fields, undefined, false),
      },
    ],
  }),
  gemma: (fields) => llamaLike(fields, { embeddingScale: true }),
  gemma2: (fields) =>
    llamaLike(fields, {
      embeddingScale: true,
      order: 'sandwich',
      ...softcapOf(fields),
    }),
  gemma3_text: (fields) =>
    llamaLike(fields, {
      embeddingScale: true,
      order: 'sandwich',
      ...softcapOf(fields),
      attention: {
        queryNorm: headNorm(fields),
        // Every layer is then given a mask, also where it hides nothing (modeling_gemma3.py, `or_mask_function`).
        ...(fields.flag('use_bidirectional_attention') ? { masked: true } : {}),
      },
    }),
  olmo: (fields) => llamaLike(fields, { norm: layerNorm(1e-5, ', elementwise_affine=False') }),
  olmo2: (fields) =>
    llamaLike(fields, {
      order: 'post',
      attention: { queryNorm: wholeNorm(fields) },
    }),
  olmo3: (fields) =>
    llamaLike(fields, {
      order: 'post',
      attention: { queryNorm: wholeNorm(fields) },
    }),
  exaone4: (fields) =>
    llamaLike(fields, {
      rotates: onlyNearRotates(fields),
      order: 'post',
      attention: { bias: false, outputBias: false, queryNorm: headNorm(fields) },
    }),
  starcoder2: (fields) => {
    const bias = fields.flag('use_bias', true);
    return llamaLike(fields, {
      norm: layerNorm(fields.number('norm_epsilon', 1e-5)),
      attention: { bias, outputBias: bias },
      feedForward: () => plain(fields, bias, ['c_fc', 'c_proj']),
    });
  },
  stablelm: (fields) =>
    llamaLike(fields, {
      norm: layerNorm(fields.number('layer_norm_eps', 1e-5)),
      order: fields.flag('use_parallel_residual') ? 'parallel' : 'pre',
      attention: {
        bias: fields.flag('use_qkv_bias'),
        outputBias: false,
        ...(fields.flag('qk_layernorm')
          ? {
              queryNorm: {
                over: 'head-by-head',
                call: layerNorm(fields.number('layer_norm_eps', 1e-5), ', bias=False'),
              },
            }
          : {}),
      },
    }),
  cohere: (fields) =>
    llamaLike(fields, {
      ...cohereNorms(fields),
      logitScale: fields.number('logit_scale', 1),
      order: 'parallel',
      ...(fields.flag('use_qk_norm')
        ? { attention: { queryNorm: { over: 'each-head', call: () => 'normalized()' } } }
        : {}),
    }),
  cohere2: (fields) =>
    llamaLike(fields, {
      ...cohereNorms(fields),
      logitScale: fields.number('logit_scale', 1),
      order: 'parallel',
      // Even without windows (modeling_cohere2.py, `Cohere2Attention`).
      rotates: (_, window) => window !== undefined,
    }),
  glm: (fields) =>
    llamaLike(fields, {
      attention: { outputBias: false, rejoined: true },
      feedForward: () => ({ ...gated(fields, undefined, false), packed: true }) as FeedForward,
    }),
  glm4: (fields) => glmSandwich(fields, fields.flag('attention_bias')),
  phi: (fields) =>
    llamaLike(fields, {
      norm: layerNorm(fields.number('layer_norm_eps', 1e-5)),
      order: 'parallel',
      attention: {
        bias: true,
        outputBias: true,
        ...(fields.flag('qk_layernorm')
          ? { queryNorm: { over: 'head', call: layerNorm(fields.number('layer_norm_eps', 1e-5)) } }
          : {}),
      },
      feedForward: () => plain(fields, true, ['fc1', 'fc2']),
      headBias: true,
    }),
  gpt_neox: (fields) => {
    const bias = fields.flag('attention_bias', true);
    return llamaLike(fields, {
      norm: layerNorm(fields.number('layer_norm_eps', 1e-5)),
      order: fields.flag('use_parallel_residual', true) ? 'parallel-two-norms' : 'pre',
      attention: { packed: true, bias, outputBias: bias, rejoined: true, names: neoxNames },
      feedForward: () => plain(fields, true, ['dense_h_to_4h', 'dense_4h_to_h']),
    });
  },
  gptj,
  codegen: gptj,
  opt: (fields) =>
    llamaLike(fields, {
      norm: layerNorm(
        1e-5,
        fields.flag('layer_norm_elementwise_affine', true) ? '' : ', elementwise_affine=False',
      ),
      // Two positions stand before the first (modeling_opt.py, `OPTLearnedPositionalEmbedding`).
      positions: longestOf(fields) + 2,
      order: fields.flag('do_layer_norm_before', true) ? 'pre' : 'post',
      finalNorm: fields.flag('do_layer_norm_before', true) && !fields.flag('_remove_final_layer_norm'),
      embedding: fields.optionalSize('word_embed_proj_dim') ?? fields.size('hidden_size'),
      attention: {
        bias: fields.flag('enable_bias', true),
        outputBias: fields.flag('enable_bias', true),
        rotated: 0,
        names: optNames,
      },
      feedForward: () => ({
        kind: 'plain',
        hidden: fields.size('ffn_dim'),
        activation: activationOf(fields, 'relu'),
        bias: fields.flag('enable_bias', true),
        names: ['fc1', 'fc2'],
      }),
    }),
  biogpt: (fields) =>
    llamaLike(fields, {
      norm: layerNorm(1e-5),
      // Two positions stand before the first, as in OPT.
      positions: longestOf(fields) + 2,
      embeddingScale: fields.flag('scale_embedding', true),
      dropout: fields.number('hidden_dropout_prob', 0),
      embeddingDropout: fields.number('hidden_dropout_prob', 0),
      attention: {
        bias: true,
        outputBias: true,
        rotated: 0,
        dropout: fields.number('attention_probs_dropout_prob', 0),
        names: optNames,
      },
      feedForward: () => ({
        ...plain(fields, true, ['fc1', 'fc2']),
        dropout: fields.number('activation_dropout', 0),
      }),
    }),
  gpt_neo: (fields) =>
    llamaLike(fields, {
      norm: layerNorm(fields.number('layer_norm_epsilon', 1e-5)),
      positions: longestOf(fields),
      embeddingDropout: fields.number('embed_dropout', 0),
      // Its scores are not scaled, and stand as tensors of their own (`GPTNeoSelfAttention._attn`).
      attention: {
        bias: false,
        outputBias: true,
        rotated: 0,
        written: true,
        masking: 'fill-and-add',
        scale: 1,
        names: optNames,
      },
      feedForward: () => plain(fields, true, ['c_fc', 'c_proj']),
    }),
  jais2: (fields) =>
    llamaLike(fields, {
      norm: layerNorm(fields.number('layer_norm_eps', 1e-5)),
      feedForward: () => plain(fields, fields.flag('mlp_bias', true)),
    }),
  gpt2,
  'gpt-sw3': gpt2,
  gpt_bigcode: (fields) =>
    llamaLike(fields, {
      norm: layerNorm(fields.number('layer_norm_epsilon', 1e-5)),
      positions: longestOf(fields),
      attention: {
        packed: true,
        bias: true,
        outputBias: true,
        rotated: 0,
        names: gpt2Names,
        ...(fields.flag('multi_query', true) ? { groups: 1 } : {}),
      },
      feedForward: () => plainOf(fields, 'n_inner', ['c_fc', 'c_proj_2']),
    }),
  falcon: (fields) => {
    const bias = fields.flag('bias');
    const fresh = fields.flag('new_decoder_architecture');
    const norms = fields.number('num_ln_in_parallel_attn', 2);
    const heads = fields.size('num_attention_heads');
    return llamaLike(fields, {
      norm: layerNorm(fields.number('layer_norm_epsilon', 1e-5)),
      order: fields.flag('parallel_attn', true)
        ? fresh && norms === 2
          ? 'parallel-two-norms'
          : 'parallel'
        : 'pre',
      attention: {
        packed: true,
        packedBy: fresh || fields.flag('multi_query', true) ? 'lists' : 'places',
        bias,
        outputBias: bias,
        groups: fresh
          ? (fields.optionalSize('num_kv_heads') ?? heads)
          : fields.flag('multi_query', true)
            ? 1
            : heads,
        names: neoxNames,
        // Queries that share one head of keys are more than any fused kernel takes without being told.
        ...(!fresh && fields.flag('multi_query', true) ? { written: true } : { masked: true }),
        ...(fields.flag('alibi') ? { rotated: 0, distances: true } : {}),
      },
      feedForward: () => ({
        kind: 'plain',
        hidden: fields.optionalSize('ffn_hidden_size') ?? 4 * fields.size('hidden_size'),
        activation: activationOf(fields, 'gelu'),
        bias,
        names: ['dense_h_to_4h', 'dense_4h_to_h'],
      }),
    });
  },
  mpt: (fields) =>
    llamaLike(fields, {
      norm: layerNorm(fields.number('layer_norm_epsilon', 1e-5), ', bias=False'),
      longest: fields.size('max_seq_len'),
      attention: {
        packed: true,
        bias: false,
        outputBias: false,
        rotated: 0,
        written: true,
        masking: 'fill',
        names: mptNames,
      },
      feedForward: () => ({
        kind: 'plain',
        hidden: 4 * fields.size('hidden_size'),
        activation: 'gelu',
        bias: false,
      }),
    }),
  nemotron: (fields) =>
    llamaLike(fields, {
      norm: layerNorm(fields.number('norm_eps', 1e-5)),
      attention: { rejoined: true },
      feedForward: () => plain(fields, fields.flag('mlp_bias')),
    }),
  persimmon: (fields) =>
    llamaLike(fields, {
      norm: layerNorm(fields.number('layer_norm_eps', 1e-5)),
      attention: {
        packed: true,
        packedBy: 'places',
        bias: true,
        outputBias: true,
        names: neoxNames,
        ...(fields.flag('qk_layernorm', true)
          ? { queryNorm: { over: 'head', call: layerNorm(fields.number('layer_norm_eps', 1e-5)) } }
          : {}),
      },
      feedForward: () => plain(fields, true, ['dense_h_to_4h', 'dense_4h_to_h']),
    }),
  bloom: (fields) =>
    llamaLike(fields, {
      norm: layerNorm(fields.number('layer_norm_epsilon', 1e-5)),
      embeddingNorm: true,
      longest: 2048,
      attention: {
        packed: true,
        packedBy: 'places',
        bias: true,
        outputBias: true,
        rotated: 0,
        written: true,
        names: neoxNames,
      },
      feedForward: () => ({
        kind: 'plain',
        hidden: 4 * fields.size('hidden_size'),
        // In training one function that keeps its input (modeling_bloom.py, `GeLUFunction`).
        activation: 'gelu_pytorch_tanh',
        bias: true,
        names: ['dense_h_to_4h', 'dense_4h_to_h'],
      }),
    }),
};

const neoxNames = {
  q_proj: 'query',
  k_proj: 'key',
  v_proj: 'value',
  qkv_proj: 'query_key_value',
  o_proj: 'dense',
};
const mptNames = { q_proj: 'query', k_proj: 'key', v_proj: 'value', qkv_proj: 'Wqkv', o_proj: 'out_proj' };
const gpt2Names = { q_proj: 'query', k_proj: 'key', v_proj: 'value', qkv_proj: 'c_attn', o_proj: 'c_proj' };
const optNames = {
  q_proj: 'q_proj',
  k_proj: 'k_proj',
  v_proj: 'v_proj',
  qkv_proj: 'qkv_proj',
  o_proj: 'out_proj',
};
