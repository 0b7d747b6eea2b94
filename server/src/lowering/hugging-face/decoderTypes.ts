/**
 * What types of transformers are made of, one entry per `model_type`: the differences from Llama.
 *
 * Source: `modeling_*.py` and `configuration_*.py` of transformers 5.18; `test/lowering/hugging-face/` holds the
 * parameters and FLOPs of every type against what transformers builds.
 */

import { isKnownActivation } from './activations.ts';
import type { Attention } from './attentionLines.ts';
import type { ConfigFields } from './configFields.ts';
import type { Decoder, Run } from './decoder.ts';
import type { FeedForward, Mixture } from './feedForwardLines.ts';
import type { LatentAttention } from './latentAttentionLines.ts';
import { windowsOf } from './windows.ts';

export type DecoderType = (fields: ConfigFields) => Decoder;

export const rmsNorm =
  (eps: number) =>
  (size: string): string =>
    `RMSNorm(${size}, eps=${eps}, fused=False)`;

const bareRmsNorm =
  (eps: number) =>
  (size: string): string =>
    `RMSNorm(${size}, eps=${eps}, elementwise_affine=False, fused=False)`;

export const layerNorm =
  (eps: number, options = '') =>
  (size: string): string =>
    `LayerNorm(${size}, eps=${eps}${options})`;

/** Llama (transformers, modeling_llama.py), which most types inherit from, with what a type has otherwise. */
function llamaLike(
  fields: ConfigFields,
  changes: {
    readonly attention?: Partial<Attention>;
    readonly feedForward?: (layer: number) => FeedForward;
  } & Partial<Omit<Decoder, 'runs'>> = {},
): Decoder {
  const { attention: attentionChanges, feedForward, ...rest } = changes;
  const attention = groupedAttention(fields, attentionChanges);
  const layers = fields.size('num_hidden_layers');
  const windowOf = windowsOf(fields);
  const plainLayer = feedForward === undefined ? gated(fields) : undefined;
  return {
    hidden: fields.size('hidden_size'),
    vocabulary: fields.size('vocab_size'),
    longest: longestOf(fields),
    norm: rmsNorm(fields.number('rms_norm_eps', 1e-6)),
    runs: runsOf(layers, (layer) => {
      const window = windowOf(layer);
      return {
        attention: window === undefined ? attention : { ...attention, window },
        feedForward: plainLayer ?? feedForward?.(layer) ?? gated(fields),
      };
    }),
    order: 'pre',
    finalNorm: true,
    head: headOf(fields),
    dropout: shareOf(fields, [
      'hidden_dropout',
      'resid_pdrop',
      'residual_dropout',
      'dropout',
      'resid_dropout',
    ]),
    embeddingDropout: shareOf(fields, ['embd_pdrop', 'embedding_dropout']),
    ...rest,
  };
}

/** The first of these fields that the type has. */
const shareOf = (fields: ConfigFields, names: readonly string[]): number =>
  fields.number(names.find((name) => fields.has(name)) ?? '', 0);

/** By the class that was saved: a model alone, one that classifies sequences, or one of language. */
function headOf(fields: ConfigFields): Decoder['head'] {
  const architecture = fields.architecture ?? '';
  if (/(?<!LMHead)Model$/.test(architecture)) return 'none';
  const classes = labelsOf(fields);
  if (architecture.endsWith('ForSequenceClassification')) return { classes };
  // GPT-J alone has a score for each label; the others one for the start of an answer and one for its end.
  if (architecture.endsWith('ForQuestionAnswering'))
    return { classes: fields.type === 'gptj' ? classes : 2, tokenDropout: 0 };
  if (architecture.endsWith('ForTokenClassification')) {
    // `GenericForTokenClassification` of modeling_layers.py.
    const share = ['classifier_dropout', 'hidden_dropout'].find((name) => fields.has(name));
    return { classes, tokenDropout: share === undefined ? 0.1 : fields.number(share, 0.1) };
  }
  return fields.flag('tie_word_embeddings', true) ? 'tied' : 'own';
}

/** Labels of a classifier: two where the config names none (configuration_utils.py), or three (configuration_bart.py). */
export const labelsOf = (fields: ConfigFields): number =>
  fields.optionalSize('num_labels') ?? fields.entries('id2label') ?? (fields.type === 'bart' ? 3 : 2);

const longestOf = (fields: ConfigFields): number =>
  fields.has('max_position_embeddings') ? fields.size('max_position_embeddings') : 2048;

function groupedAttention(fields: ConfigFields, changes: Partial<Attention> = {}): Attention {
  const heads = fields.size('num_attention_heads');
  const headSize = fields.optionalSize('head_dim') ?? Math.floor(fields.size('hidden_size') / heads);
  const bias = fields.flag('attention_bias');
  return {
    heads,
    groups: fields.optionalSize('num_key_value_heads') ?? heads,
    headSize,
    bias,
    outputBias: bias,
    rotated: rotatedOf(fields, headSize),
    causal: true,
    dropout: shareOf(fields, ['attention_dropout', 'attn_pdrop', 'attn_dropout']),
    ...changes,
  };
}

/** Elements of a head that are rotated: all, or the share that `partial_rotary_factor` or `rotary_pct` says. */
function rotatedOf(fields: ConfigFields, headSize: number): number {
  const inner = fields.inner('rope_parameters', fields.type);
  const share = inner?.number('partial_rotary_factor', Number.NaN) ?? Number.NaN;
  const own = fields.number('partial_rotary_factor', fields.number('rotary_pct', 1));
  const rotated = Math.floor(headSize * (Number.isNaN(share) ? own : share));
  return rotated - (rotated % 2);
}

const gated = (
  fields: ConfigFields,
  hidden = fields.size('intermediate_size'),
  bias = fields.flag('mlp_bias'),
): FeedForward => ({
  kind: 'gated',
  hidden,
  activation: activationOf(fields),
  bias,
});

const plain = (fields: ConfigFields, bias: boolean, names?: readonly [string, string]): FeedForward => ({
  kind: 'plain',
  hidden: fields.optionalSize('intermediate_size') ?? 4 * fields.size('hidden_size'),
  activation: activationOf(fields),
  bias,
  ...(names === undefined ? {} : { names }),
});

/** The activation a config names; one that is not known is a problem of the config. */
export function activationOf(fields: ConfigFields, otherwise = 'silu'): string {
  const field = ['hidden_act', 'hidden_activation', 'activation_function', 'activation'].find((name) =>
    fields.has(name),
  );
  const name = field === undefined ? otherwise : fields.text(field, otherwise);
  return knownActivation(fields, name);
}

export function knownActivation(fields: ConfigFields, name: string): string {
  if (!isKnownActivation(name)) fields.problems.push(`the activation "${name}" is not known`);
  return name;
}

/** Consecutive layers that are made alike, as one run each. */
function runsOf(layers: number, of: (layer: number) => Omit<Run, 'count'>): readonly Run[] {
  const runs: Run[] = [];
  let last = '';
  for (let layer = 0; layer < Math.min(layers, mostLayers); layer += 1) {
    const made = of(layer);
    const key = JSON.stringify(made);
    const previous = runs.at(-1);
    if (previous !== undefined && key === last)
      runs[runs.length - 1] = { ...previous, count: previous.count + 1 };
    else runs.push({ ...made, count: 1 });
    last = key;
  }
  return runs;
}

/** More layers than any model has. */
const mostLayers = 10_000;

/** Experts as the types after Mixtral have them. */
function mixture(fields: ConfigFields, changes: Partial<Mixture> = {}): Mixture {
  return {
    kind: 'mixture',
    experts: changes.experts ?? fields.size('num_local_experts'),
    chosen: changes.chosen ?? fields.size('num_experts_per_tok'),
    hidden: changes.hidden ?? fields.size('intermediate_size'),
    activation: activationOf(fields),
    ...changes,
  };
}

/** Experts of the layers between two, every so many (ERNIE 4.5, `Ernie4_5_MoeDecoderLayer`). */
function sparseBetween(
  fields: ConfigFields,
  experts: FeedForward,
  dense: FeedForward,
): (layer: number) => FeedForward {
  const first = fields.number('moe_layer_start_index', 0);
  const last = fields.number('moe_layer_end_index', -1);
  const step = fields.size('moe_layer_interval');
  return (layer) =>
    layer >= first && (last === -1 || layer <= last) && (layer + 1) % step === 0 ? experts : dense;
}

/** Experts in every layer but those that `mlp_only_layers` and `decoder_sparse_step` take out (Qwen). */
function sparseBySteps(fields: ConfigFields, experts: Mixture): (layer: number) => FeedForward {
  const step = fields.number('decoder_sparse_step', 1);
  const dense = new Set(fields.list('mlp_only_layers') ?? []);
  const plainLayer = gated(fields);
  return (layer) => (!dense.has(layer) && step > 0 && (layer + 1) % step === 0 ? experts : plainLayer);
}

/** Dense layers first, then experts with shared ones beside them (DeepSeek). */
function sparseAfterDense(fields: ConfigFields): (layer: number) => FeedForward {
  const dense = fields.number('first_k_dense_replace', 0);
  const hidden = fields.size('moe_intermediate_size');
  const shared = fields.optionalSize('n_shared_experts');
  const experts = mixture(fields, {
    experts: fields.size(fields.has('n_routed_experts') ? 'n_routed_experts' : 'num_local_experts'),
    hidden,
    ...(shared === undefined ? {} : { shared: { hidden: hidden * shared, gate: false } }),
  });
  const plainLayer = dense > 0 ? gated(fields) : experts;
  return (layer) => (layer < dense ? plainLayer : experts);
}

function latent(fields: ConfigFields): LatentAttention {
  return {
    latent: true,
    heads: fields.size('num_attention_heads'),
    queryRank: fields.optionalSize('q_lora_rank'),
    keyRank: fields.size('kv_lora_rank'),
    rotated: fields.size('qk_rope_head_dim'),
    unrotated: fields.size('qk_nope_head_dim'),
    valueSize: fields.size('v_head_dim'),
    bias: fields.flag('attention_bias'),
    norm: rmsNorm(fields.number('rms_norm_eps', 1e-6)),
  };
}

const deepSeek: DecoderType = (fields) => {
  const of = sparseAfterDense(fields);
  const attention = latent(fields);
  return {
    ...llamaLike(fields),
    runs: runsOf(fields.size('num_hidden_layers'), (layer) => ({ attention, feedForward: of(layer) })),
  };
};

/** Latent attention in every layer, dense layers where a list says so, else in the first (GLM-4.7 Flash). */
const latentByTypes: DecoderType = (fields) => {
  const sparse = sparseAfterDense(fields);
  const types = fields.list('mlp_layer_types');
  const attention = latent(fields);
  const dense = gated(fields, undefined, false);
  return {
    ...llamaLike(fields),
    runs: runsOf(fields.size('num_hidden_layers'), (layer) => ({
      attention,
      feedForward: (types === undefined ? layer === 0 : types[layer] !== 'sparse') ? dense : sparse(layer),
    })),
  };
};

/** A bound of logits. That of scores is not applied by `scaled_dot_product_attention`, which transformers 5.18 calls. */
function softcapOf(fields: ConfigFields): { readonly softcap?: number } {
  const bound = fields.number('final_logit_softcapping', 0);
  return bound > 0 ? { softcap: bound } : {};
}

const headNorm = (fields: ConfigFields): NonNullable<Attention['queryNorm']> => ({
  over: 'head',
  call: rmsNorm(fields.number('rms_norm_eps', 1e-6)),
});

const wholeNorm = (fields: ConfigFields): NonNullable<Attention['queryNorm']> => ({
  over: 'all',
  call: rmsNorm(fields.number('rms_norm_eps', 1e-6)),
});

/** Cohere's normalizations, computed step by step (modeling_cohere.py, `CohereLayerNorm`); those of queries and keys have a scale per head. */
const cohereNorms = (fields: ConfigFields) => ({
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
    attention: { queryNorm: headNorm(fields) },
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

/** Attention in the layers that a list names, a short convolution in the others (LFM2). */
const lfm2: DecoderType = (fields) => {
  const types = fields.list('layer_types');
  const attending = fields.list('full_attn_idxs');
  const isFull = (layer: number): boolean =>
    types === undefined
      ? attending === undefined || attending.includes(layer)
      : types[layer] === 'full_attention';
  const norm = rmsNorm(fields.number('norm_eps', 1e-5));
  const given = fields.size('intermediate_size');
  const multiple = fields.size('block_multiple_of');
  const scaled = Math.floor(fields.number('block_ffn_dim_multiplier', 1) * Math.floor((2 * given) / 3));
  const adjusted = fields.has('block_ffn_dim_multiplier')
    ? multiple * Math.ceil(scaled / multiple)
    : Math.floor((2 * given) / 3);
  const feedForward = gated(fields, fields.flag('block_auto_adjust_ff_dim', true) ? adjusted : given, false);
  const attention = groupedAttention(fields, { dropout: 0, queryNorm: { over: 'head', call: norm } });
  const mixer = {
    mixer: 'short-convolution',
    kernel: fields.size('conv_L_cache'),
    bias: fields.flag('conv_bias'),
  } as const;
  return {
    ...llamaLike(fields),
    norm,
    runs: runsOf(fields.size('num_hidden_layers'), (layer) => ({
      attention: isFull(layer) ? attention : mixer,
      feedForward,
    })),
  };
};

const llama: DecoderType = (fields) => llamaLike(fields);

const qwen2: DecoderType = (fields) => llamaLike(fields, { attention: { bias: true, outputBias: false } });

const qwen3: DecoderType = (fields) => llamaLike(fields, { attention: { queryNorm: headNorm(fields) } });

export const decoderTypes: Readonly<Record<string, DecoderType>> = {
  llama,
  mistral: llama,
  ministral: llama,
  ministral3: llama,
  smollm3: llama,
  llama4_text: llama4,
  lfm2,
  eurobert: (fields) => {
    if (fields.architecture?.endsWith('ForSequenceClassification'))
      fields.problems.push('the head of `EuroBertForSequenceClassification` is not known');
    return llamaLike(fields, { attention: { causal: false } });
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
  granite: (fields) => llamaLike(fields, { embeddingScale: true }),
  arcee: (fields) => llamaLike(fields, { feedForward: () => plain(fields, fields.flag('mlp_bias')) }),
  seed_oss: (fields) => llamaLike(fields, { attention: { outputBias: fields.flag('attention_out_bias') } }),
  qwen2,
  // The text parts of Qwen2-VL, Qwen2.5-VL and Qwen3-VL.
  qwen2_vl_text: qwen2,
  qwen2_5_vl_text: qwen2,
  hunyuan_v1_dense: (fields) => llamaLike(fields, { attention: { queryNorm: headNorm(fields) } }),
  qwen3,
  qwen3_vl_text: qwen3,
  phi3: (fields) =>
    llamaLike(fields, {
      attention: { packed: true, bias: false, outputBias: false, rejoined: true },
      feedForward: () => ({ ...gated(fields, undefined, false), packed: true }) as FeedForward,
    }),
  mixtral: (fields) => llamaLike(fields, { feedForward: () => mixture(fields) }),
  granitemoe: (fields) => llamaLike(fields, { embeddingScale: true, feedForward: () => mixture(fields) }),
  granitemoeshared: (fields) => {
    const shared = fields.optionalSize('shared_intermediate_size');
    return llamaLike(fields, {
      embeddingScale: true,
      feedForward: () =>
        mixture(
          fields,
          shared === undefined ? {} : { shared: { hidden: shared, gate: false, packed: true } },
        ),
    });
  },
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
      feedForward: () => mixture(fields),
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
  glm4_moe_lite: latentByTypes,
  youtu: (fields) => ({
    ...llamaLike(fields),
    runs: [
      {
        count: fields.size('num_hidden_layers'),
        attention: latent(fields),
        feedForward: gated(fields, undefined, false),
      },
    ],
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
      attention: { queryNorm: headNorm(fields) },
    }),
  gpt_oss: (fields) =>
    llamaLike(fields, {
      attention: { sinks: true },
      feedForward: () => mixture(fields, { bias: true, routerBias: true, activation: 'swiglu' }),
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
      order: 'parallel',
      ...(fields.flag('use_qk_norm')
        ? { attention: { queryNorm: { over: 'each-head', call: () => 'normalized()' } } }
        : {}),
    }),
  cohere2: (fields) => llamaLike(fields, { ...cohereNorms(fields), order: 'parallel' }),
  glm: (fields) =>
    llamaLike(fields, {
      attention: { outputBias: false, rejoined: true },
      feedForward: () => ({ ...gated(fields, undefined, false), packed: true }) as FeedForward,
    }),
  glm4: (fields) =>
    llamaLike(fields, {
      order: 'sandwich',
      attention: { outputBias: false, rejoined: true },
      feedForward: () => ({ ...gated(fields, undefined, false), packed: true }) as FeedForward,
    }),
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
      feedForward: () => plain(fields, true, ['fc1', 'fc2']),
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
      attention: { packed: true, bias: true, outputBias: true, rotated: 0, written: true, names: neoxNames },
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

const plainOf = (
  fields: ConfigFields,
  inner: string,
  names: readonly [string, string] = ['fc_in', 'fc_out'],
): FeedForward => ({
  kind: 'plain',
  hidden: fields.optionalSize(inner) ?? 4 * fields.size('hidden_size'),
  activation: activationOf(fields, 'gelu_new'),
  bias: true,
  names,
});

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
