/**
 * A reader of images before a writer of text (modeling_vision_encoder_decoder.py of transformers 5.18): TrOCR (arXiv 2109.10282;
 * modeling_trocr.py) and Donut (arXiv 2111.15664), whose decoder is mBART's.
 */

import { activationBlocks } from './activations.ts';
import { type BartKind, blockOf, lastOfStart, startLines } from './bartTypes.ts';
import type { ConfigFields } from './configFields.ts';
import { layerNorm } from './normalizations.ts';
import type { SpecParts } from './specText.ts';
import { swin } from './swin.ts';
import { vitTypes } from './vit.ts';

export function visionEncoderDecoder(fields: ConfigFields, name: string): SpecParts {
  const reader = readerOf(fields);
  const writer = fields.partOr('decoder', {}).withDefaults(standard);
  const kind = kindOf(writer);
  if (kind === undefined)
    fields.problems.push(
      `the decoder "${writer.type.slice(0, 40)}" is not known here, only "trocr" and "mbart"`,
    );
  if (reader === undefined) {
    fields.problems.push(
      'the encoder is not known here: it may be of type "vit", "deit", "swin" or "donut-swin"',
    );
  }
  const { parts, memory, places, size, unread } = reader ?? nothing;
  const own = writer.size('d_model');
  const crossed = writer.optionalSize('cross_attention_hidden_size');
  const isProjected = crossed === undefined && size !== own;
  const given = isProjected ? 'enc_to_dec_proj' : memory;
  const order = kind ?? trocr;
  const beside = order.written === true ? ', causal_mask' : '';
  const block = blockOf(writer, order, 'decoder', { own: 'seq', memory: String(places) });
  const norm = layerNorm(1e-5)('hidden_size');
  const tied = writer.flag('tie_word_embeddings', true) ? ', weight=embed_tokens' : '';
  return {
    name,
    comments: [],
    dims: {
      ...parts.dims,
      seq: Math.min(writer.size('max_position_embeddings'), 512),
      hidden_size: own,
      vocab_size: writer.size('vocab_size'),
    },
    inputs: { ...parts.inputs, tokens: 'int64[batch, seq]', decoder_places: 'int64[1, seq]' },
    blocks: {
      ...activationBlocks([...Object.values(parts.blocks).flat(), ...block]),
      ...parts.blocks,
      [`decoder_layer from hidden, memory${beside}`]: block,
    },
    layers: [
      ...parts.layers,
      ...(isProjected ? [`enc_to_dec_proj: Linear(hidden_size) from ${memory}`] : []),
      'embed_tokens: Embedding(vocab_size, hidden_size) from tokens',
      ...startLines(writer, order, 'decoder', 'embed_tokens', 'decoder_places'),
      ...(order.written === true ? ['causal_mask: AttentionMask(seq)'] : []),
      `decoder: decoder_layer() * ${writer.size('decoder_layers')} from ${lastOfStart(writer, order, 'decoder')}, ${given}${beside}`,
      ...(order.order === 'pre' ? [`decoder_norm: ${norm}`] : []),
      `lm_head: Linear(vocab_size, bias=False${tied})`,
    ],
    ...(unread === undefined ? {} : { outputs: ['lm_head', unread] }),
  };
}

/** Defaults of TrOCR and mBART where both have the same, or the file would say so. */
const standard = {
  d_model: 1024,
  decoder_layers: 12,
  decoder_attention_heads: 16,
  decoder_ffn_dim: 4096,
  vocab_size: 50265,
  activation_function: 'gelu',
  dropout: 0.1,
};

const trocr: BartKind = {
  order: 'post',
  embeddingNorm: true,
  positions: { before: 2, frozen: false },
  written: true,
};

function kindOf(writer: ConfigFields): BartKind | undefined {
  if (writer.type === 'mbart')
    return { order: 'pre', embeddingNorm: true, positions: { before: 2, frozen: false } };
  if (writer.type !== 'trocr') return undefined;
  const isLearned = writer.flag('use_learned_position_embeddings', true);
  return {
    ...trocr,
    embeddingNorm: writer.flag('layernorm_embedding', true),
    // Sine curves begin behind the one that stands for padding.
    positions: { before: isLearned ? 2 : writer.number('pad_token_id', 1) + 1, frozen: !isLearned },
  };
}

interface Reader {
  readonly parts: Pick<SpecParts, 'dims' | 'inputs' | 'blocks' | 'layers'>;
  /** The line whose result the decoder attends to, how long that is, and how wide. */
  readonly memory: string;
  readonly places: number;
  readonly size: number;
  /** What is computed for nobody. */
  readonly unread: string | undefined;
}

const nothing: Reader = {
  parts: { dims: { batch: 8 }, inputs: {}, blocks: {}, layers: [] },
  memory: 'encoder',
  places: 1,
  size: 1,
  unread: undefined,
};

function readerOf(fields: ConfigFields): Reader | undefined {
  const config = fields.partOr('encoder', {});
  const isSwin = config.type === 'swin' || config.type === 'donut-swin';
  const write = isSwin ? swin : Object.hasOwn(vitTypes, config.type) ? vitTypes[config.type] : undefined;
  if (write === undefined || !(isSwin || config.type === 'vit' || config.type === 'deit')) return undefined;
  const { dims, inputs, blocks, layers } = write(config, '');
  // A hidden size of its own, beside that of the decoder.
  const renamed = (text: string): string => text.replaceAll('hidden_size', 'encoder_size');
  const lines = layers.map(renamed);
  const end = isSwin ? lines.findIndex((line) => line.startsWith('channels_first:')) : lines.length;
  const kept = isSwin ? lines.slice(0, end) : lines;
  const memory = isSwin ? (kept.at(-1)?.split(':')[0] ?? '') : 'layernorm';
  const depth = config.type.endsWith('swin') ? config.sizes('depths').length - 1 : 0;
  const side = Math.floor(config.size('image_size') / config.size('patch_size') / 2 ** depth);
  return {
    parts: {
      dims: Object.fromEntries(Object.entries(dims).map(([dim, size]) => [renamed(dim), size])),
      inputs,
      blocks: Object.fromEntries(Object.entries(blocks).map(([call, block]) => [call, block.map(renamed)])),
      layers: kept,
    },
    memory,
    places: isSwin ? side ** 2 : Number(dims.places),
    size: isSwin ? config.size('embed_dim') * 2 ** depth : config.size('hidden_size'),
    unread: isSwin ? undefined : 'pooler_act',
  };
}
