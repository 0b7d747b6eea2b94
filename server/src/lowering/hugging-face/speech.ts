/**
 * Encoders of sound waves (transformers 5.18): wav2vec 2.0 (arXiv 2006.11477; modeling_wav2vec2.py), HuBERT
 * (modeling_hubert.py) and UniSpeech, which differ in what may be left out.
 */

import { activationBlocks, activationCall, activationOf, knownActivation } from './activations.ts';
import { attentionLines } from './attentionLines.ts';
import { type ConfigFields, labelsOf } from './configFields.ts';
import { dropoutLines } from './dropoutLines.ts';
import { bartNames, selfAttention } from './encoderAttention.ts';
import { layerNorm } from './normalizations.ts';
import type { SpecParts } from './specText.ts';

/** Ten seconds at 16 kHz; a config does not say how long a wave is. */
const samples = 160_000;

export function speechEncoder(fields: ConfigFields, name: string): SpecParts {
  for (const part of ['add_adapter', 'use_weighted_layer_sum', 'conv_pos_batch_norm'])
    if (fields.flag(part)) fields.problems.push(`\`${part}\` is true, which is not known here`);
  if (fields.has('adapter_attn_dim'))
    fields.problems.push('`adapter_attn_dim` is set, and adapters are not known here');
  const norm = layerNorm(fields.number('layer_norm_eps', 1e-5))('hidden_size');
  const hidden = fields.size('hidden_size');
  const stable = fields.flag('do_stable_layer_norm');
  const block = blockLines(fields, norm, stable);
  const drop = dropout(fields, 'hidden_dropout');
  const share = fields.number('hidden_dropout', 0);
  const features = featureLines(fields);
  const position =
    fields.type === 'data2vec-audio' ? stackedPositionLines(fields, hidden) : positionLines(fields, hidden);
  const isGated = fields.type === 'wavlm';
  const isMasked = fields.number('mask_time_prob', 0) > 0 || fields.number('mask_feature_prob', 0) > 0;
  const normalized = fields.flag('feat_proj_layer_norm', true);
  const start = `${share > 0 ? 'embedding_dropout' : stable ? 'placed' : 'embedded'}`;
  const encoder = stable ? 'encoder_layers' : 'encoder';
  const head = headLines(fields, normalized);
  const layers = [
    ...(isMasked ? ['masked_spec_embed: Parameter(hidden_size)'] : []),
    ...features,
    'frames: transpose(1, 2)',
    ...(normalized
      ? [
          `features_norm: ${layerNorm(fields.number('layer_norm_eps', 1e-5))(String(channelsOf(fields).at(-1) ?? 1))}`,
        ]
      : []),
    'projection: Linear(hidden_size)',
    ...dropout(fields, 'feat_proj_dropout')('projection_dropout'),
    ...position,
    `placed: add(${fields.number('feat_proj_dropout', 0) > 0 ? 'projection_dropout' : 'projection'}, position_embeddings)`,
    ...(stable ? [] : [`embedded: ${norm}`]),
    ...drop('embedding_dropout'),
    ...(isGated ? biasLines(fields) : []),
    `${encoder}: encoder_layer() * ${fields.size('num_hidden_layers')}${isGated ? ` from ${start}, bias` : ''}`,
    ...(stable ? [`encoder: ${norm}`] : []),
    ...head,
  ];
  const last = head.at(-1)?.split(':')[0] ?? 'encoder';
  const outputs = [
    last,
    ...(isMasked ? ['masked_spec_embed'] : []),
    ...(fields.architecture?.endsWith('ForPreTraining') === true ? ['project_hid'] : []),
  ];
  return {
    name,
    comments: [],
    dims: { batch: 8, samples, ...(isGated ? { steps: framesOf(fields) } : {}), hidden_size: hidden },
    inputs: {
      wave: 'float32[batch, samples]',
      ...(isGated ? { distances: 'int64[steps, steps]' } : {}),
    },
    blocks: {
      ...activationBlocks([...block, ...layers]),
      [isGated ? 'encoder_layer from input, bias' : 'encoder_layer']: block,
    },
    layers,
    ...(outputs.length > 1 ? { outputs } : {}),
  };
}

const dropout =
  (fields: ConfigFields, field: string) =>
  (line: string): readonly string[] => {
    const share = fields.number(field, 0);
    return share > 0 ? [`${line}: Dropout(${share})`] : [];
  };

const channelsOf = (fields: ConfigFields): readonly number[] => fields.sizes('conv_dim');

/** Convolutions from waves to frames; all are normalized, or the first alone. */
function featureLines(fields: ConfigFields): readonly string[] {
  const channels = channelsOf(fields);
  const kernels = fields.sizes('conv_kernel');
  const strides = fields.sizes('conv_stride');
  if (kernels.length !== channels.length || strides.length !== channels.length)
    fields.problems.push('`conv_dim`, `conv_kernel` and `conv_stride` must be equally long');
  const all = fields.type === 'data2vec-audio' || fields.text('feat_extract_norm', 'group') === 'layer';
  const bias = fields.flag('conv_bias') ? '' : ', bias=False';
  const act = activationCall(knownActivation(fields, fields.text('feat_extract_activation', 'gelu')));
  return [
    'channel: unsqueeze(wave, 1)',
    ...channels.flatMap((size, index) => [
      `conv_${index}: Conv1d(${size}, kernel_size=${kernels[index] ?? 1}, stride=${strides[index] ?? 1}${bias})`,
      ...(all
        ? [
            `conv_${index}_last: transpose(1, 2)`,
            `conv_${index}_norm: LayerNorm(${size})`,
            `conv_${index}_first: transpose(1, 2)`,
          ]
        : index === 0
          ? [`conv_${index}_norm: GroupNorm(${size}, ${size})`]
          : []),
      `conv_${index}_act: ${act}`,
    ]),
  ];
}

/** Frames of a wave: a convolution after the other. */
const framesOf = (fields: ConfigFields): string => {
  const strides = fields.sizes('conv_stride');
  return fields
    .sizes('conv_kernel')
    .reduce((length, kernel, index) => `((${length}-${kernel})//${strides[index] ?? 1}+1)`, 'samples');
};

/** Several convolutions behind each other (`Data2VecAudioPositionalConvEmbedding`). */
function stackedPositionLines(fields: ConfigFields, hidden: number): readonly string[] {
  const kernel = fields.size('conv_pos_kernel_size');
  const groups = fields.size('num_conv_pos_embedding_groups');
  if (hidden % groups !== 0)
    fields.problems.push('`num_conv_pos_embedding_groups` must divide `hidden_size`');
  const source = fields.number('feat_proj_dropout', 0) > 0 ? 'projection_dropout' : 'projection';
  const act = activationCall(knownActivation(fields, fields.text('feat_extract_activation', 'gelu')));
  return [
    `channels: transpose(${source}, 1, 2)`,
    ...Array.from({ length: fields.size('num_conv_pos_embeddings') }, (_, index) => [
      `position_conv_${index}: Conv1d(hidden_size, kernel_size=${kernel}, padding=${Math.floor(kernel / 2)}, groups=${groups})`,
      ...(kernel % 2 === 0 ? [`position_cut_${index}: slice(2, 0, -1)`] : []),
      `position_last_${index}: transpose(1, 2)`,
      `position_norm_${index}: LayerNorm(hidden_size, elementwise_affine=False)`,
      `position_first_${index}: transpose(1, 2)`,
      `position_act_${index}: ${act}`,
    ]).flat(),
    'position_embeddings: transpose(1, 2)',
  ];
}

/** A trained number for each head and distance, which all layers of WavLM share (`compute_bias`). */
const biasLines = (fields: ConfigFields): readonly string[] => {
  const heads = fields.size('num_attention_heads');
  return [
    `rel_attn_embed: Embedding(${fields.size('num_buckets')}, ${heads}) from distances`,
    'bias_of_heads: permute(2, 0, 1)',
    'bias_once: unsqueeze(0)',
    'bias_repeated: repeat(batch, 1, 1, 1)',
    `bias: reshape(batch*${heads}, steps, steps)`,
  ];
};

/** Attention whose bias frames open and close by gates (arXiv 2110.13900, section III.A; `WavLMAttention`), with frames before batches. */
function gatedAttentionLines(fields: ConfigFields, source: string): readonly string[] {
  const heads = fields.size('num_attention_heads');
  const head = Math.floor(fields.size('hidden_size') / heads);
  const projected = (part: 'q' | 'k' | 'v'): readonly string[] => [
    `${part}_rows: cat((turned), dim=0)`,
    `${part}_proj: Linear(hidden_size)`,
    `${part}_split: reshape(steps, batch*${heads}, ${head})`,
    `${part}_heads: transpose(0, 1)`,
  ];
  const dropped = fields.number('attention_dropout', 0);
  return [
    `gated: reshape(${source}, batch, steps, ${heads}, ${head})`,
    'gated_heads: permute(0, 2, 1, 3)',
    'gru_rel_pos_linear: Linear(8)',
    `gru_split: reshape(batch, ${heads}, steps, 2, 4)`,
    'gru_sums: sum(dim=-1)',
    'gates: sigmoid()',
    'gate_a, gate_b: chunk(2, dim=-1)',
    `gru_rel_pos_const: Parameter(1, ${heads}, 1, 1)`,
    'gate_scaled: mul(gate_b, gru_rel_pos_const)',
    'gate_shifted: sub(1)',
    'gate_mixed: mul(gate_a, gate_shifted)',
    'gate_output: add(2)',
    `gate_rows: reshape(batch*${heads}, steps, 1)`,
    'gated_bias: mul(gate_rows, bias)',
    `turned: transpose(${source}, 0, 1)`,
    ...projected('q'),
    ...projected('k'),
    ...projected('v'),
    `q_scaled: mul(q_heads, ${1 / Math.sqrt(head)})`,
    'k_columns: transpose(k_heads, 1, 2)',
    'products: bmm(q_scaled, k_columns)',
    'scores: add(products, gated_bias)',
    'weights: softmax(dim=-1)',
    ...dropoutLines('kept_weights', dropped),
    `attention: bmm(${dropped > 0 ? 'kept_weights' : 'weights'}, v_heads)`,
    'joined: transpose(0, 1)',
    'merged: reshape(steps*batch, hidden_size)',
    'out_rows: Linear(hidden_size)',
    'out_frames: reshape(steps, batch, hidden_size)',
    'out_proj: transpose(0, 1)',
  ];
}

/** A wide convolution whose weight is normalized (`Wav2Vec2PositionalConvEmbedding`). */
function positionLines(fields: ConfigFields, hidden: number): readonly string[] {
  const kernel = fields.size('num_conv_pos_embeddings');
  const groups = fields.size('num_conv_pos_embedding_groups');
  if (hidden % groups !== 0)
    fields.problems.push('`num_conv_pos_embedding_groups` must divide `hidden_size`');
  const half = Math.floor(kernel / 2);
  const source = fields.number('feat_proj_dropout', 0) > 0 ? 'projection_dropout' : 'projection';
  return [
    `position_weight_v: Parameter(hidden_size, ${Math.floor(hidden / groups)}, ${kernel})`,
    `position_weight_g: Parameter(1, 1, ${kernel})`,
    'position_bias: Parameter(hidden_size)',
    'position_squares: pow(position_weight_v, 2)',
    'position_sums: sum(dim=(0, 1), keepdim=True)',
    'position_lengths: sqrt()',
    'position_scale: div(position_weight_g, position_lengths)',
    'position_weight: mul(position_weight_v, position_scale)',
    `channels: transpose(${source}, 1, 2)`,
    `position_conv: Conv(kernel_shape=[${kernel}], pads=[${half}, ${half}], group=${groups}) from channels, position_weight, position_bias`,
    ...(kernel % 2 === 0 ? ['position_cut: slice(2, 0, -1)'] : []),
    `position_act: ${activationCall(knownActivation(fields, fields.text('feat_extract_activation', 'gelu')))}`,
    'position_embeddings: transpose(1, 2)',
  ];
}

function blockLines(fields: ConfigFields, norm: string, stable: boolean): readonly string[] {
  const share = fields.number('hidden_dropout', 0);
  const drop = dropout(fields, 'hidden_dropout');
  const attention = selfAttention(fields, {
    causal: false,
    dropout: fields.number('attention_dropout', 0),
    names: bartNames,
  });
  // How many frames there are follows from the samples.
  const source = stable ? 'layer_norm' : 'input';
  const attended =
    fields.type === 'wavlm'
      ? gatedAttentionLines(fields, source)
      : attentionLines(attention, { source, length: '-1' });
  return [
    ...(stable ? [`layer_norm: ${norm}`] : []),
    ...attended,
    ...drop('attention_dropout'),
    `attention_residual: add(input, ${share > 0 ? 'attention_dropout' : 'out_proj'})`,
    `${stable ? 'final_layer_norm' : 'layer_norm'}: ${norm}`,
    `intermediate_dense: Linear(${fields.size('intermediate_size')})`,
    `intermediate_act_fn: ${activationCall(activationOf(fields, 'gelu'))}`,
    ...dropout(fields, 'activation_dropout')('intermediate_dropout'),
    'output_dense: Linear(hidden_size)',
    ...drop('output_dropout'),
    `output_residual: add(${stable ? 'attention_residual' : 'layer_norm'}, ${share > 0 ? 'output_dropout' : 'output_dense'})`,
    ...(stable ? [] : [`final_layer_norm: ${norm}`]),
  ];
}

/** By the end of the class's name. */
function headLines(fields: ConfigFields, normalized: boolean): readonly string[] {
  const { architecture = '' } = fields;
  if (architecture.endsWith('ForCTC'))
    return [
      ...dropout(fields, 'final_dropout')('final_dropout'),
      `lm_head: Linear(${fields.size('vocab_size')})`,
    ];
  if (architecture.endsWith('ForSequenceClassification'))
    return [
      `projector: Linear(${fields.size('classifier_proj_size')})`,
      'pooled: mean(dim=1)',
      `classifier: Linear(${labelsOf(fields)})`,
    ];
  if (architecture === 'Wav2Vec2ForPreTraining' && normalized) return quantizerLines(fields);
  if (architecture !== '' && !architecture.endsWith('Model'))
    fields.problems.push(`the class "${architecture}" is not known`);
  return [];
}

/** Frames as sums of trained vectors that softmax chooses (`Wav2Vec2GumbelVectorQuantizer`), and both projections. */
function quantizerLines(fields: ConfigFields): readonly string[] {
  const groups = fields.size('num_codevector_groups');
  const vectors = fields.size('num_codevectors_per_group');
  const size = fields.size('codevector_dim');
  const each = Math.floor(size / groups);
  const projected = fields.size('proj_codevector_dim');
  return [
    `project_hid: Linear(${projected}) from encoder`,
    `codevectors: Parameter(1, ${groups * vectors}, ${each})`,
    ...dropout(
      fields,
      'feat_quantizer_dropout',
    )('features_dropout').map((line) => `${line} from features_norm`),
    `weight_proj: Linear(${groups * vectors})${fields.number('feat_quantizer_dropout', 0) > 0 ? '' : ' from features_norm'}`,
    `scores: reshape(-1, ${vectors})`,
    'shares: softmax(dim=-1)',
    `shares_of_vectors: reshape(-1, ${groups * vectors}, 1)`,
    'weighed: mul(shares_of_vectors, codevectors)',
    `weighed_groups: reshape(-1, ${groups}, ${vectors}, ${each})`,
    'summed: sum(dim=-2)',
    `quantized: reshape(batch, -1, ${groups * each})`,
    `project_q: Linear(${projected})`,
  ];
}
