/** Whisper: an encoder of spectrograms behind two convolutions, and a decoder of text (modeling_whisper.py of transformers 5.18). */

import { activationBlocks, activationCall, activationOf } from './activations.ts';
import { type Attention, attentionLines, evenHeads } from './attentionLines.ts';
import type { ConfigFields } from './configFields.ts';
import { dropoutLines } from './dropoutLines.ts';
import { bartNames } from './encoderAttention.ts';
import { needWhole, residualParts } from './encoderDecoder.ts';
import { layerNorm } from './normalizations.ts';
import type { SpecParts } from './specText.ts';

export function whisper(fields: ConfigFields, name: string): SpecParts {
  needWhole(fields);
  const encoder = encoderBlock(fields);
  const decoder = decoderBlock(fields);
  const target = fields.size('max_target_positions');
  const frames = fields.size('max_source_positions');
  return {
    name,
    comments: [],
    dims: {
      batch: 8,
      seq: target,
      frames,
      hidden_size: fields.size('d_model'),
      vocab_size: fields.size('vocab_size'),
    },
    inputs: {
      spectrogram: `float32[batch, ${fields.size('num_mel_bins')}, 2*frames]`,
      tokens: 'int64[batch, seq]',
      positions: 'int64[1, seq]',
    },
    blocks: {
      ...activationBlocks([...encoder, ...decoder]),
      encoder_layer: encoder,
      'decoder_layer from hidden, memory': decoder,
    },
    layers: [...encoderLayers(fields, frames), ...decoderLayers(fields, target)],
  };
}

const norm = layerNorm(1e-5)('hidden_size');

const dropoutOf = (fields: ConfigFields): number => fields.number('dropout', 0);

const attentionOf = (fields: ConfigFields, heads: number, causal: boolean): Attention => ({
  ...evenHeads(heads, fields.size('d_model')),
  keyBias: false,
  contiguous: true,
  causal,
  dropout: fields.number('attention_dropout', 0),
  names: bartNames,
});

function feedForwardPart(fields: ConfigFields, hidden: number, source: string): readonly string[] {
  const lines = [
    `fc1: Linear(${hidden})`,
    `act: ${activationCall(activationOf(fields, 'gelu'))}`,
    ...dropoutLines('act_dropout', fields.number('activation_dropout', 0)),
    'fc2: Linear(hidden_size)',
  ];
  const { part } = residualParts(dropoutOf(fields));
  return [`final_layer_norm: ${norm} from ${source}`, ...part('feed_forward', lines, 'fc2', source)];
}

function encoderBlock(fields: ConfigFields): readonly string[] {
  const attention = attentionOf(fields, fields.size('encoder_attention_heads'), false);
  const { part } = residualParts(dropoutOf(fields));
  const place = { source: 'self_attn_layer_norm', length: 'frames' };
  return [
    `self_attn_layer_norm: ${norm}`,
    ...part('self', attentionLines(attention, place), 'out_proj', 'input'),
    ...feedForwardPart(fields, fields.size('encoder_ffn_dim'), 'self_residual'),
  ];
}

function decoderBlock(fields: ConfigFields): readonly string[] {
  const heads = fields.size('decoder_attention_heads');
  const { part } = residualParts(dropoutOf(fields));
  const own = { source: 'self_attn_layer_norm', length: 'seq' };
  const cross = {
    source: 'encoder_attn_layer_norm',
    memory: 'memory',
    length: 'seq',
    memoryLength: 'frames',
    prefix: 'encoder_attn_',
  };
  return [
    `self_attn_layer_norm: ${norm} from hidden`,
    ...part('self', attentionLines(attentionOf(fields, heads, true), own), 'out_proj', 'hidden'),
    `encoder_attn_layer_norm: ${norm}`,
    ...part(
      'cross',
      attentionLines(attentionOf(fields, heads, false), cross),
      'encoder_attn_out_proj',
      'self_residual',
    ),
    ...feedForwardPart(fields, fields.size('decoder_ffn_dim'), 'cross_residual'),
  ];
}

/** Embeddings with their positions, behind dropout; `from` is what comes out. */
function embedded(
  fields: ConfigFields,
  prefix: string,
  last: string,
): { readonly lines: readonly string[]; readonly from: string } {
  const drop = dropoutOf(fields);
  return {
    lines: [
      `${prefix}_embedded: add(${last}, ${prefix}_positions)`,
      ...residualParts(drop).dropped(`${prefix}_dropout`),
    ],
    from: `${prefix}_${drop > 0 ? 'dropout' : 'embedded'}`,
  };
}

function encoderLayers(fields: ConfigFields, frames: number): readonly string[] {
  const { lines, from } = embedded(fields, 'encoder', 'ordered');
  return [
    'conv1: Conv1d(hidden_size, kernel_size=3, padding=1) from spectrogram',
    'conv1_act: GELU()',
    'conv2: Conv1d(hidden_size, kernel_size=3, stride=2, padding=1)',
    'conv2_act: GELU()',
    'ordered: transpose(1, 2)',
    `encoder_positions: Parameter(${frames}, hidden_size) frozen`,
    ...lines,
    `encoder: encoder_layer() * ${fields.size('encoder_layers')} from ${from}`,
    `encoder_norm: ${norm}`,
  ];
}

function decoderLayers(fields: ConfigFields, target: number): readonly string[] {
  const { lines, from } = embedded(fields, 'decoder', 'embed_tokens');
  return [
    'embed_tokens: Embedding(vocab_size, hidden_size) from tokens',
    `decoder_positions: Embedding(${target}, hidden_size) from positions`,
    ...lines,
    `decoder: decoder_layer() * ${fields.size('decoder_layers')} from ${from}, encoder_norm`,
    `decoder_norm: ${norm}`,
    'proj_out: Linear(vocab_size, bias=False, weight=embed_tokens)',
  ];
}
