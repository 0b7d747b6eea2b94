/**
 * What types of transformers with experts are made of, one entry per `model_type`: the differences from Llama.
 *
 * Source: `modeling_*.py` and `configuration_*.py` of transformers 5.18.
 */

import { activationOf } from './activations.ts';
import type { Attention } from './attentionLines.ts';
import type { ConfigFields } from './configFields.ts';
import type { Decoder } from './decoder.ts';
import { cohereNorms } from './decoderTypes.ts';
import {
  deepSeekExperts,
  denseByTypes,
  mixture,
  sparseAfterDense,
  sparseBetween,
  sparseBySteps,
  sparseByTypes,
} from './experts.ts';
import type { FeedForward } from './feedForwardLines.ts';
import { type LatentAttention, latentAttentionOf } from './latentAttentionLines.ts';
import { lfm2Moe } from './lfm2.ts';
import {
  type DecoderType,
  gated,
  granitesScales,
  groupedAttention,
  llamaLike,
  onlyNearRotates,
  runsOf,
} from './llamaLike.ts';
import { bareRmsNorm, headNorm, layerNorm, rmsNorm, wholeNorm } from './normalizations.ts';

const deepSeek: DecoderType = (fields) => {
  const of = sparseAfterDense(fields);
  const attention = latentAttentionOf(fields);
  return {
    ...llamaLike(fields),
    runs: runsOf(fields.size('num_hidden_layers'), (layer) => ({ attention, feedForward: of(layer) })),
  };
};

/** The same decoder with one attention in all its blocks. */
const attendingBy = (decoder: Decoder, attention: LatentAttention): Decoder => ({
  ...decoder,
  runs: decoder.runs.map((run) => ({ ...run, attention })),
});

/** DeepSeek-V3.2 and GLM-5: an indexer in every layer chooses what its queries see. */
const sparseDeepSeek: DecoderType = (fields) => {
  const decoder = deepSeekByTypes(fields);
  const indexer = {
    heads: fields.size('index_n_heads'),
    size: fields.size('index_head_dim'),
    chosen: fields.size('index_topk'),
  };
  if (fields.list('indexer_types')?.includes('shared') === true || fields.number('index_topk_freq', 1) > 1)
    fields.problems.push('`indexer_types` has layers that share the choice of another, which are not known');
  return attendingBy(decoder, { ...latentAttentionOf(fields), indexer });
};

/** Dense layers where a list says so, else the first of DeepSeek. */
const deepSeekByTypes: DecoderType = (fields) =>
  fields.list('mlp_layer_types') === undefined ? deepSeek(fields) : latentByTypes(fields);

/** Latent attention in every layer, dense layers where a list says so, else in the first (GLM-4.7 Flash). */
const latentByTypes: DecoderType = (fields) => {
  const experts = deepSeekExperts(fields);
  const isDense = denseByTypes(fields, 1);
  const attention = latentAttentionOf(fields);
  const dense = gated(fields, undefined, false);
  return {
    ...llamaLike(fields),
    runs: runsOf(fields.size('num_hidden_layers'), (layer) => ({
      attention,
      feedForward: isDense(layer) ? dense : experts,
    })),
  };
};

const qwen3Moe: DecoderType = (fields) =>
  llamaLike(fields, {
    attention: { queryNorm: headNorm(fields) },
    feedForward: sparseBySteps(
      fields,
      mixture(fields, {
        experts: fields.size('num_experts'),
        hidden: fields.size('moe_intermediate_size'),
      }),
    ),
  });

/** Every layer's experts and chosen ones, which may differ from layer to layer, beside one that all tokens run through. */
const hunyuanMoe: DecoderType = (fields) => {
  const experts = fields.list('num_experts');
  const chosen = fields.list('moe_topk');
  const hidden = fields.size('intermediate_size');
  const count = (list: readonly unknown[] | undefined, layer: number, name: string): number => {
    if (list === undefined) return fields.size(name);
    const value = list[layer];
    if (typeof value === 'number' && Number.isInteger(value) && value > 0) return value;
    fields.problems.push(`\`${name}\` has no whole number of at least 1 for layer ${layer}`);
    return 1;
  };
  return llamaLike(fields, {
    attention: { queryNorm: { ...headNorm(fields), rotatedFirst: true } },
    feedForward: (layer) =>
      mixture(fields, {
        experts: count(experts, layer, 'num_experts'),
        chosen: count(chosen, layer, 'moe_topk'),
        hidden,
        shared: { hidden, gate: false },
      }),
  });
};

/** Experts in the layers that `moe_layers` lists, else in every so many; positions in all but every so many (Llama 4). */
const llama4: DecoderType = (fields) => {
  const listed = fields.list('moe_layers');
  const step = fields.number('interleave_moe_layer_step', 1);
  const rotates = fields.list('no_rope_layers') ?? [];
  const interval = fields.number('no_rope_layer_interval', 4);
  const isRotated = (layer: number): boolean =>
    rotates.length === 0 ? (layer + 1) % interval !== 0 : rotates[layer] !== 0;
  const isSparse = (layer: number): boolean =>
    listed === undefined ? layer >= step - 1 && (layer - step + 1) % step === 0 : listed.includes(layer);
  const experts: FeedForward = {
    kind: 'all-experts',
    experts: fields.size('num_local_experts'),
    hidden: fields.size('intermediate_size'),
    activation: activationOf(fields),
  };
  const dense = gated(fields, fields.size('intermediate_size_mlp'), false);
  const chunk = fields.optionalSize('attention_chunk_size');
  const near = groupedAttention(fields, {
    ...(fields.flag('use_qk_norm', true)
      ? { queryNorm: { over: 'head', call: bareRmsNorm(fields.number('rms_norm_eps', 1e-5)) } }
      : {}),
    ...(chunk === undefined ? {} : { window: chunk }),
  });
  const far = groupedAttention(fields, { rotated: 0 });
  return {
    ...llamaLike(fields),
    runs: runsOf(fields.size('num_hidden_layers'), (layer) => ({
      attention: isRotated(layer) ? near : far,
      feedForward: isSparse(layer) ? experts : dense,
    })),
  };
};

function graniteShared(fields: ConfigFields, attention: Partial<Attention> = {}): Decoder {
  const shared = fields.optionalSize('shared_intermediate_size');
  const experts = mixture(
    fields,
    shared === undefined ? {} : { shared: { hidden: shared, gate: false, packed: true } },
  );
  return llamaLike(fields, { ...granitesScales(fields), attention, feedForward: () => experts });
}

/** Cohere's blocks with experts, and dense ones before them. */
const cohereMoe: DecoderType = (fields) => {
  const eps = fields.number('rms_norm_eps', 0);
  const shared = fields.optionalSize('num_shared_experts');
  const hidden = fields.size('intermediate_size');
  const experts = mixture(fields, {
    experts: fields.size('num_experts'),
    hidden,
    ...(shared === undefined
      ? {}
      : {
          shared: {
            hidden: hidden * shared,
            gate: false,
            averaged: fields.text('shared_expert_combination_strategy', 'average') === 'average',
          },
        }),
  });
  const isDense = denseByTypes(fields, fields.number('first_k_dense_replace', 0));
  const alwaysRotates = fields.number('prefix_dense_sliding_window_pattern', 1) === 1;
  return llamaLike(fields, {
    ...(eps > 0 ? { norm: rmsNorm(eps) } : cohereNorms(fields)),
    logitScale: fields.number('logit_scale', 1),
    order: 'parallel',
    rotates: (layer, window) => window !== undefined || (alwaysRotates && isDense(layer)),
    feedForward: (layer) =>
      isDense(layer) ? gated(fields, fields.size('prefix_dense_intermediate_size'), false) : experts,
  });
};

export const expertTypes: Readonly<Record<string, DecoderType>> = {
  llama4_text: llama4,
  mixtral: (fields) => llamaLike(fields, { feedForward: () => mixture(fields) }),
  granitemoe: (fields) =>
    llamaLike(fields, { ...granitesScales(fields), feedForward: () => mixture(fields) }),
  granitemoeshared: graniteShared,
  granitemoe_swa: (fields) => graniteShared(fields, { sinks: 'scales' }),
  ernie4_5_moe: (fields) => {
    const bias = fields.flag('use_bias');
    const hidden = fields.size('moe_intermediate_size');
    const shared = fields.optionalSize('moe_num_shared_experts');
    const experts = mixture(fields, {
      experts: fields.size('num_experts'),
      hidden,
      ...(shared === undefined ? {} : { shared: { hidden: hidden * shared, gate: false, bias } }),
    });
    return llamaLike(fields, {
      attention: { bias, outputBias: bias, dropout: 0 },
      feedForward: sparseBetween(fields, experts, gated(fields, undefined, bias)),
      headBias: bias,
    });
  },
  minimax_m2: (fields) =>
    llamaLike(fields, { attention: { queryNorm: wholeNorm(fields) }, feedForward: () => mixture(fields) }),
  phimoe: (fields) =>
    llamaLike(fields, {
      norm: layerNorm(fields.number('rms_norm_eps', 1e-5)),
      // Two experts, whatever the config says (modeling_phimoe.py, `sparsemixer`).
      feedForward: () => mixture(fields, { chosen: 2 }),
      headBias: fields.flag('lm_head_bias'),
    }),
  qwen2_moe: (fields) =>
    llamaLike(fields, {
      attention: { bias: fields.flag('qkv_bias', true), outputBias: false },
      feedForward: sparseBySteps(
        fields,
        mixture(fields, {
          experts: fields.size('num_experts'),
          hidden: fields.size('moe_intermediate_size'),
          shared: { hidden: fields.size('shared_expert_intermediate_size'), gate: true },
        }),
      ),
    }),
  mellum: qwen3Moe,
  qwen3_moe: qwen3Moe,
  qwen3_vl_moe_text: qwen3Moe,
  hunyuan_v1_moe: hunyuanMoe,
  olmoe: (fields) =>
    llamaLike(fields, {
      attention: { queryNorm: wholeNorm(fields) },
      feedForward: () => mixture(fields, { experts: fields.size('num_experts') }),
    }),
  flex_olmo: (fields) =>
    llamaLike(fields, {
      order: 'post',
      attention: { queryNorm: wholeNorm(fields) },
      feedForward: () => mixture(fields, { experts: fields.size('num_experts') }),
    }),
  deepseek_v2: deepSeek,
  deepseek_v3: deepSeek,
  deepseek_v32: sparseDeepSeek,
  glm_moe_dsa: sparseDeepSeek,
  glm4_moe_lite: latentByTypes,
  axk1: (fields) => {
    const norm = rmsNorm(fields.number('rms_norm_eps', 1e-6), fields);
    const decoder = deepSeek(fields);
    return {
      ...decoder,
      runs: decoder.runs.map((run) =>
        run.feedForward.kind === 'mixture' ? { ...run, feedForward: { ...run.feedForward, norm } } : run,
      ),
    };
  },
  mistral4: (fields) => {
    return attendingBy(deepSeek(fields), { ...latentAttentionOf(fields), queryScale: true });
  },
  exaone_moe: (fields) =>
    llamaLike(fields, {
      rotates: onlyNearRotates(fields),
      attention: { bias: false, outputBias: false, queryNorm: headNorm(fields) },
      feedForward: sparseByTypes(
        fields,
        fields.number('first_k_dense_replace', 0),
        fields.optionalSize('num_shared_experts'),
      ),
    }),
  hy_v3: (fields) =>
    llamaLike(fields, {
      attention: { queryNorm: headNorm(fields) },
      feedForward: sparseByTypes(fields, 1, fields.optionalSize('num_shared_experts'), {
        sharedBias: fields.flag('mlp_bias'),
      }),
    }),
  afmoe: (fields) =>
    llamaLike(fields, {
      order: 'sandwich',
      embeddingScale: fields.flag('mup_enabled'),
      rotates: (_, window) => window !== undefined,
      attention: { gate: 'own', queryNorm: headNorm(fields) },
      feedForward: sparseByTypes(
        fields,
        fields.number('num_dense_layers', 0),
        fields.optionalSize('num_shared_experts'),
      ),
    }),
  lfm2_moe: lfm2Moe,
  cohere2_moe: cohereMoe,
  qwen3_omni_moe_text: qwen3Moe,
  glm4v_moe_text: (fields) =>
    llamaLike(fields, {
      attention: { outputBias: false, rejoined: true },
      feedForward: sparseAfterDense(fields),
    }),
  dots1: (fields) =>
    llamaLike(fields, {
      attention: { queryNorm: headNorm(fields) },
      feedForward: sparseAfterDense(fields),
    }),
  solar_open: (fields) =>
    llamaLike(fields, { attention: { outputBias: false }, feedForward: sparseAfterDense(fields) }),
  glm4_moe: (fields) =>
    llamaLike(fields, {
      attention: {
        outputBias: false,
        ...(fields.flag('use_qk_norm') ? { queryNorm: headNorm(fields) } : {}),
      },
      feedForward: sparseAfterDense(fields),
    }),
  gpt_oss: (fields) =>
    llamaLike(fields, {
      attention: { sinks: 'joined' },
      feedForward: () => mixture(fields, { bias: true, routerBias: true, activation: 'swiglu' }),
    }),
};
