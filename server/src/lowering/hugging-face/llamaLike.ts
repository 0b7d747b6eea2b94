/** Llama (transformers 5.18, modeling_llama.py), which most types inherit from, and what they change of it. */

import { activationOf } from './activations.ts';
import type { Attention } from './attentionLines.ts';
import { type ConfigFields, labelsOf } from './configFields.ts';
import type { Decoder, Run } from './decoder.ts';
import type { FeedForward } from './feedForwardLines.ts';
import { rmsNorm } from './normalizations.ts';
import { windowsOf } from './windows.ts';

export type DecoderType = (fields: ConfigFields) => Decoder;

/** Llama (transformers, modeling_llama.py), which most types inherit from, with what a type has otherwise. */
export function llamaLike(
  fields: ConfigFields,
  changes: {
    readonly attention?: Partial<Attention>;
    readonly feedForward?: (layer: number) => FeedForward;
    /** Whether a layer rotates by position; all do where it is left out. */
    readonly rotates?: (layer: number, window: number | undefined) => boolean;
  } & Partial<Omit<Decoder, 'runs'>> = {},
): Decoder {
  const { attention: attentionChanges, feedForward, rotates, ...rest } = changes;
  const attention = groupedAttention(fields, attentionChanges);
  const layers = fields.size('num_hidden_layers');
  const windowOf = windowsOf(fields);
  const plainLayer = feedForward === undefined ? gated(fields) : undefined;
  return {
    hidden: fields.size('hidden_size'),
    vocabulary: fields.size('vocab_size'),
    longest: longestOf(fields),
    norm: rmsNorm(fields.number('rms_norm_eps', 1e-6), fields),
    runs: runsOf(layers, (layer) => {
      const window = windowOf(layer);
      return {
        attention: {
          ...attention,
          ...(window === undefined ? {} : { window }),
          ...(rotates?.(layer, window) === false ? { rotated: 0 } : {}),
        },
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
export const shareOf = (fields: ConfigFields, names: readonly string[]): number =>
  fields.number(names.find((name) => fields.has(name)) ?? '', 0);

/** By the class that was saved: a model alone, one that classifies sequences, or one of language. */
export function headOf(fields: ConfigFields): Decoder['head'] {
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

export const longestOf = (fields: ConfigFields): number =>
  fields.has('max_position_embeddings') ? fields.size('max_position_embeddings') : 2048;

export function groupedAttention(fields: ConfigFields, changes: Partial<Attention> = {}): Attention {
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
    ...rotationCastOf(fields.type),
    ...(rotatesPart.has(fields.type) ? { rejoined: true } : {}),
    causal: true,
    dropout: shareOf(fields, ['attention_dropout', 'attn_pdrop', 'attn_dropout']),
    ...changes,
  };
}

/**
 * Elements of a head that are rotated: all, or the share that `partial_rotary_factor` or `rotary_pct` says, where the class of the
 * type reads it.
 */
function rotatedOf(fields: ConfigFields, headSize: number): number {
  if (!rotatesPart.has(fields.type)) return headSize;
  const inner = fields.inner('rope_parameters', fields.type);
  const share = inner?.number('partial_rotary_factor', Number.NaN) ?? Number.NaN;
  const own = fields.number('partial_rotary_factor', fields.number('rotary_pct', 1));
  const rotated = Math.floor(headSize * (Number.isNaN(share) ? own : share));
  return rotated - (rotated % 2);
}

/**
 * What classes cast to fp32 before they rotate it, and back behind (`apply_rotary_pos_emb` in `modeling_*.py`): `q.float()`, once or
 * in each product.
 */
function rotationCastOf(type: string): Pick<Attention, 'rotationCast'> {
  if (/^cohere2?(_moe)?$/.test(type)) return { rotationCast: 'input' };
  const casts = /^(modernbert-decoder|ernie4_5|ernie4_5_moe)$/.test(type);
  return casts ? { rotationCast: 'operands' } : {};
}

/** Types whose classes take the rotated part of a head by itself (`rotary_dim`, `rotary_ndims` or `rot_dim` in `modeling_*.py`). */
const rotatesPart: ReadonlySet<string> = new Set([
  'bamba',
  'glm',
  'glm4',
  'glm4_moe',
  'glm4v_moe_text',
  'glm4v_text',
  'glm_ocr_text',
  'gpt_neox',
  'minimax_m2',
  'nemotron',
  'persimmon',
  'phi',
  'phi3',
  'qwen3_5',
  'qwen3_5_moe',
  'qwen3_5_moe_text',
  'qwen3_5_text',
  'qwen3_next',
  'stablelm',
]);

export const gated = (
  fields: ConfigFields,
  hidden = fields.size('intermediate_size'),
  bias = fields.flag('mlp_bias'),
): FeedForward => ({
  kind: 'gated',
  hidden,
  activation: activationOf(fields),
  bias,
});

export const plain = (
  fields: ConfigFields,
  bias: boolean,
  names?: readonly [string, string],
): FeedForward => ({
  kind: 'plain',
  hidden: fields.optionalSize('intermediate_size') ?? 4 * fields.size('hidden_size'),
  activation: activationOf(fields),
  bias,
  ...(names === undefined ? {} : { names }),
});

export const plainOf = (
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

/** Consecutive layers that are made alike, as one run each. */
export function runsOf(layers: number, of: (layer: number) => Omit<Run, 'count'>): readonly Run[] {
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
export const mostLayers = 10_000;

/** A bound of logits. That of scores is not applied by `scaled_dot_product_attention`, which transformers 5.18 calls. */
export function softcapOf(fields: ConfigFields): { readonly softcap?: number } {
  const bound = fields.number('final_logit_softcapping', 0);
  return bound > 0 ? { softcap: bound } : {};
}

/** What Granite multiplies: embeddings, branches and logits (modeling_granite.py; HyperCLOVA X multiplies logits where Granite divides). */
export const granitesScales = (fields: ConfigFields) => ({
  embeddingScale: true,
  branchScale: fields.number('residual_multiplier', 1),
  logitScale: fields.number('logits_scaling', 1),
});

/** Layers with a window rotate by position; those that see all do not, where others have one. */
export function onlyNearRotates(
  fields: ConfigFields,
): (layer: number, window: number | undefined) => boolean {
  const isWindowed = fields.optionalSize('sliding_window') !== undefined;
  return (_, window) => window !== undefined || !isWindowed;
}
