/**
 * Encoders of sound waves (transformers 5.18): wav2vec 2.0 (arXiv 2006.11477; modeling_wav2vec2.py), HuBERT
 * (modeling_hubert.py) and UniSpeech, which differ in what may be left out.
 */

import { activationBlocks, activationCall, activationOf, knownActivation } from './activations.ts';
import { attentionLines } from './attentionLines.ts';
import { type ConfigFields, labelsOf } from './configFields.ts';
import { selfAttention } from './encoderTypes.ts';
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
  const features = featureLines(fields);
  const position = positionLines(fields, hidden);
  const isMasked = fields.number('mask_time_prob', 0) > 0 || fields.number('mask_feature_prob', 0) > 0;
  const normalized = fields.flag('feat_proj_layer_norm', true);
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
    `${encoder}: encoder_layer() * ${fields.size('num_hidden_layers')}`,
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
    dims: { batch: 8, samples, hidden_size: hidden },
    inputs: { wave: 'float32[batch, samples]' },
    blocks: { ...activationBlocks([...block, ...layers]), encoder_layer: block },
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
  const all = fields.text('feat_extract_norm', 'group') === 'layer';
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
    names: { q_proj: 'q_proj', k_proj: 'k_proj', v_proj: 'v_proj', o_proj: 'out_proj', qkv_proj: 'qkv' },
  });
  // How many frames there are follows from the samples.
  const attended = attentionLines(attention, { source: stable ? 'layer_norm' : 'input', length: '-1' });
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
