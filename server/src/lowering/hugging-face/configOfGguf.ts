/**
 * The config of transformers that the metadata of a GGUF file describes.
 *
 * Source: ggml-org/ggml, docs/gguf.md, "Standardized key-value pairs"; the keys of each architecture: gguf-py,
 * gguf/constants.py (`Keys`) and convert_hf_to_gguf.py of llama.cpp, which wrote them from such a config.
 */

import type { GgufValue } from '../../formats/gguf/readGguf.ts';
import type { StoredTensor } from '../../formats/storedTensor.ts';
import { nearestName } from '../../model/nearestName.ts';

export type ConfigOfGguf =
  | { readonly config: Readonly<Record<string, unknown>> }
  /** Why there is none, and what to do. */
  | { readonly problem: string };

export interface GgufModel {
  readonly metadata: ReadonlyMap<string, GgufValue>;
  readonly tensors: readonly StoredTensor[];
}

/** `name`: of the file, for a model without a name. */
export function configOfGguf(model: GgufModel, name: string): ConfigOfGguf {
  const architecture = model.metadata.get('general.architecture');
  if (typeof architecture !== 'string') {
    return { problem: 'it does not say its `general.architecture`: convert the model again' };
  }
  const type = typeOf(architecture, model);
  if (type === undefined) {
    const near = nearestName(architecture, Object.keys(types));
    return {
      problem: `no architecture is known by the name "${architecture.slice(0, 80)}"${near === undefined ? '' : `, only by "${near}"`}: open the \`config.json\` of the model it was made from, or export that with \`layercost export\``,
    };
  }
  const read = new Metadata(model, architecture);
  const fields = { ...commonFields(read), ...type.fields?.(read) };
  const [problem] = read.problems;
  if (problem !== undefined) return { problem };
  const known = Object.entries(fields).filter(([, value]) => value !== undefined);
  return {
    config: { model_type: type.type, _name_or_path: nameOf(model, name), ...Object.fromEntries(known) },
  };
}

interface GgufType {
  /** `model_type` of transformers. */
  readonly type: string;
  /** Fields that other types do not have, or have under another key. */
  readonly fields?: (read: Metadata) => Readonly<Record<string, unknown>>;
}

/** Values of one architecture, and what its tensors show. */
class Metadata {
  readonly #model: GgufModel;
  readonly #architecture: string;
  readonly #tensors: ReadonlyMap<string, StoredTensor>;
  readonly problems: string[] = [];

  constructor(model: GgufModel, architecture: string) {
    this.#model = model;
    this.#architecture = architecture;
    this.#tensors = new Map(model.tensors.map((tensor) => [tensor.name, tensor]));
  }

  /** A number, or the one number of a list with one for each layer; `undefined` where the file has none. */
  number(key: string): number | undefined {
    const full = `${this.#architecture}.${key}`;
    const value = this.#model.metadata.get(full);
    if (value === undefined) return undefined;
    if (typeof value === 'number') return value;
    const numbers = typeof value === 'object' ? value.numbers : undefined;
    const [first] = numbers ?? [];
    if (first !== undefined && numbers?.every((each) => each === first)) return first;
    this.problems.push(
      `\`${full}\` is ${numbers === undefined ? 'no number' : 'not the same for every layer'}, which is not costed: open the \`config.json\` of the model it was made from`,
    );
    return undefined;
  }

  flag(key: string): boolean | undefined {
    const value = this.#model.metadata.get(`${this.#architecture}.${key}`);
    return typeof value === 'boolean' ? value : undefined;
  }

  has(tensor: string): boolean {
    return this.#tensors.has(tensor);
  }

  /** Rows of the table of tokens, which the file may pad. */
  get vocabulary(): number | undefined {
    const [rows] = this.#tensors.get('token_embd.weight')?.shape ?? [];
    const tokens = this.#model.metadata.get('tokenizer.ggml.tokens');
    return rows ?? this.number('vocab_size') ?? (typeof tokens === 'object' ? tokens.length : undefined);
  }
}

/** By the names that most types of transformers use. */
function commonFields(read: Metadata): Readonly<Record<string, unknown>> {
  const experts = read.number('expert_count');
  const heads = read.number('attention.head_count');
  const hidden = read.number('embedding_length');
  const headSize = read.number('attention.key_length');
  // llama.cpp, `n_embd_head_k`: where the key is left out, embeddings are split over the heads.
  const size = headSize ?? (hidden === undefined || heads === undefined ? undefined : hidden / heads);
  const rotated = read.number('rope.dimension_count');
  const share = rotated === undefined || size === undefined ? undefined : rotated / size;
  const layers = read.number('block_count');
  return {
    hidden_size: hidden,
    // Layers that predict further tokens are not run in training (`nextn_predict_layers`).
    num_hidden_layers:
      layers === undefined ? undefined : layers - (read.number('nextn_predict_layers') ?? noLayers),
    intermediate_size: read.number('feed_forward_length') || read.number('expert_feed_forward_length'),
    num_attention_heads: heads,
    num_key_value_heads: read.number('attention.head_count_kv') ?? heads,
    head_dim: size,
    vocab_size: read.vocabulary,
    max_position_embeddings: read.number('context_length'),
    rms_norm_eps: read.number('attention.layer_norm_rms_epsilon'),
    layer_norm_eps: read.number('attention.layer_norm_epsilon'),
    partial_rotary_factor: share === undefined || share >= 1 ? undefined : share,
    tie_word_embeddings: !read.has('output.weight'),
    attention_bias: read.has('blk.0.attn_q.bias') || read.has('blk.0.attn_qkv.bias'),
    mlp_bias: read.has('blk.0.ffn_up.bias'),
    ...(experts === undefined || experts === 0
      ? {}
      : {
          num_local_experts: experts,
          num_experts: experts,
          n_routed_experts: experts,
          num_experts_per_tok: read.number('expert_used_count'),
          moe_intermediate_size: read.number('expert_feed_forward_length'),
          shared_expert_intermediate_size: read.number('expert_shared_feed_forward_length'),
          n_shared_experts: read.number('expert_shared_count'),
          first_k_dense_replace: read.number('leading_dense_block_count'),
        }),
  };
}

/** A file that does not name such layers has none (llama.cpp, `LLM_KV_NEXTN_PREDICT_LAYERS`). */
const noLayers = 0;

/** Whether queries and keys are normalized, by the tensor of the first layer. */
const queryNorm = (read: Metadata): boolean => read.has('blk.0.attn_q_norm.weight');

const deepSeek: GgufType = {
  type: 'deepseek_v3',
  fields: (read) => {
    const rotated = read.number('rope.dimension_count');
    const key = read.number('attention.key_length_mla') ?? read.number('attention.key_length');
    return {
      head_dim: undefined,
      partial_rotary_factor: undefined,
      q_lora_rank: read.number('attention.q_lora_rank') ?? null,
      kv_lora_rank: read.number('attention.kv_lora_rank'),
      qk_rope_head_dim: rotated,
      qk_nope_head_dim: key === undefined || rotated === undefined ? undefined : key - rotated,
      v_head_dim: read.number('attention.value_length_mla') ?? read.number('attention.value_length'),
    };
  },
};

/** By `general.architecture`. */
const types: Readonly<Record<string, GgufType>> = {
  llama: { type: 'llama' },
  qwen2: { type: 'qwen2' },
  qwen2vl: { type: 'qwen2' },
  qwen2moe: { type: 'qwen2_moe' },
  qwen3: { type: 'qwen3' },
  qwen3moe: { type: 'qwen3_moe' },
  qwen3vl: { type: 'qwen3' },
  qwen3vlmoe: { type: 'qwen3_moe' },
  gemma: { type: 'gemma' },
  gemma2: { type: 'gemma2' },
  gemma3: { type: 'gemma3_text' },
  phi2: { type: 'phi' },
  phi3: { type: 'phi3' },
  gpt2: { type: 'gpt2', fields: (read) => ({ n_inner: read.number('feed_forward_length') }) },
  gptneox: {
    type: 'gpt_neox',
    fields: (read) => ({ use_parallel_residual: read.flag('use_parallel_residual') }),
  },
  starcoder2: { type: 'starcoder2', fields: (read) => ({ use_bias: read.has('blk.0.attn_q.bias') }) },
  stablelm: {
    type: 'stablelm',
    fields: (read) => ({
      use_qkv_bias: read.has('blk.0.attn_q.bias'),
      use_parallel_residual: read.flag('use_parallel_residual'),
      qk_layernorm: queryNorm(read),
    }),
  },
  'command-r': { type: 'cohere', fields: (read) => ({ use_qk_norm: queryNorm(read) }) },
  cohere2: { type: 'cohere2' },
  olmo2: { type: 'olmo2' },
  olmoe: { type: 'olmoe' },
  granite: { type: 'granite' },
  granitemoe: { type: 'granitemoe' },
  smollm3: { type: 'smollm3' },
  arcee: { type: 'arcee' },
  exaone4: { type: 'exaone4' },
  ernie4_5: { type: 'ernie4_5' },
  seed_oss: { type: 'seed_oss' },
  glm4: { type: 'glm4' },
  glm4moe: { type: 'glm4_moe', fields: (read) => ({ use_qk_norm: queryNorm(read) }) },
  dots1: { type: 'dots1' },
  'gpt-oss': { type: 'gpt_oss' },
  deepseek2: deepSeek,
};

export const ggufArchitectures = Object.keys(types);

/** Mixtral is written as a `llama` with experts. */
function typeOf(architecture: string, { metadata }: GgufModel): GgufType | undefined {
  const experts = metadata.get('llama.expert_count');
  if (architecture === 'llama' && typeof experts === 'number' && experts > 0) return { type: 'mixtral' };
  return Object.hasOwn(types, architecture) ? types[architecture] : undefined;
}

function nameOf({ metadata }: GgufModel, file: string): string {
  const name = metadata.get('general.name');
  const given = typeof name === 'string' ? name.trim().replace(/\s+/g, '-') : '';
  return /^[\w.-]+$/.test(given) ? given : file.replace(/\.gguf$/i, '');
}
