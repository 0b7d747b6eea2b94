/** Encoders with decoders: T5 (modeling_t5.py) and Whisper (modeling_whisper.py of transformers 5.18). */

import { activationBlocks, activationCall, activationOf, knownActivation } from './activations.ts';
import { type Attention, attentionLines } from './attentionLines.ts';
import type { ConfigFields } from './configFields.ts';
import { dropoutLines } from './dropoutLines.ts';
import { feedForwardLines } from './feedForwardLines.ts';
import { layerNorm, rmsNorm } from './normalizations.ts';
import type { SpecParts } from './specText.ts';
import { textDims } from './textDims.ts';

/** T5, T5 1.1 and mT5; UMT5, in which every block has a table of positions of its own. The encoder may stand alone. */
export function t5(fields: ConfigFields, name: string): SpecParts {
  needWhole(fields, /(ForConditionalGeneration|EncoderModel)$/);
  const isEncoder = fields.architecture?.endsWith('EncoderModel') === true;
  const ownTables = fields.type === 'umt5';
  const norm = rmsNorm(fields.number('layer_norm_epsilon', 1e-6), fields)('hidden_size');
  const heads = fields.size('num_attention_heads');
  const [named, gatedBy] = activationOfT5(fields);
  const activation = knownActivation(fields, named);
  const drop = fields.number('dropout_rate', 0);
  const { dropped, part } = residualParts(drop);
  // A table of positions lies with its heads beside each other; zeros lie in order.
  const attention = (bias: string): Attention => ({
    heads,
    groups: heads,
    headSize: fields.size('d_kv'),
    bias: false,
    outputBias: false,
    rotated: 0,
    causal: false,
    scale: 1,
    dropout: drop,
    scoreBias: bias,
    inSteps: bias !== 'cross_bias',
    names: { q_proj: 'q', k_proj: 'k', v_proj: 'v', o_proj: 'o', qkv_proj: 'qkv' },
  });
  const feed = (source: string): readonly string[] =>
    feedForwardLines(
      gatedBy
        ? { kind: 'gated', hidden: fields.size('d_ff'), activation, bias: false, dropout: drop }
        : {
            kind: 'plain',
            hidden: fields.size('d_ff'),
            activation,
            bias: false,
            names: ['wi', 'wo'],
            dropout: drop,
          },
      source,
    );
  const out = gatedBy ? 'down_proj' : 'wo';
  const buckets = fields.size('relative_attention_num_buckets');
  const bias = (prefix: string, of: string): readonly string[] => [
    `${prefix}buckets: Embedding(${buckets}, ${heads}) from ${of}`,
    `${prefix}bias: permute(2, 0, 1)`,
  ];
  // Attention over the encoder is given a bias of zeros.
  const zeros = [
    'zero: Buffer()',
    `unplaced: expand(zero, 1, ${heads}, target, seq)`,
    'cross_bias: add(unplaced, 0)',
  ];
  // Every block computes its buckets anew.
  const ownBias = ownTables ? ['places: add(distances, 0)', ...bias('', 'places')] : [];
  const encoder = [
    ...ownBias,
    `attention_norm: ${norm} from hidden`,
    ...part(
      'attention',
      attentionLines(attention('bias'), { source: 'attention_norm', length: 'seq' }),
      'o',
      'hidden',
    ),
    `feed_forward_norm: ${norm}`,
    ...part('feed_forward', feed('feed_forward_norm'), out, 'attention_residual'),
  ];
  const decoder = [
    ...ownBias,
    "causal_mask: AttentionMask(target, dtype='bool')",
    'hidden_tokens: Buffer()',
    'placed: where(causal_mask, bias, hidden_tokens)',
    `attention_norm: ${norm} from hidden`,
    ...part(
      'attention',
      attentionLines(attention('placed'), { source: 'attention_norm', length: 'target' }),
      'o',
      'hidden',
    ),
    ...(ownTables ? zeros : []),
    `cross_norm: ${norm}${ownTables ? ' from attention_residual' : ''}`,
    ...part(
      'cross',
      attentionLines(attention('cross_bias'), {
        source: 'cross_norm',
        memory: 'memory',
        length: 'target',
        memoryLength: 'seq',
        prefix: 'cross_',
      }),
      'cross_o',
      'attention_residual',
    ),
    `feed_forward_norm: ${norm}`,
    ...part('feed_forward', feed('feed_forward_norm'), out, 'cross_residual'),
  ];
  // transformers ties the weights whatever the field says, which decides only about the scale (configuration_t5.py).
  const scaled = fields.type === 't5' && fields.flag('tie_word_embeddings', true);
  const read = ownTables ? 'distances' : 'bias';
  const encoderLayers = [
    'shared: Embedding(vocab_size, hidden_size) from tokens',
    ...dropped('encoder_dropout'),
    ...(ownTables ? [] : bias('encoder_', 'distances')),
    `encoder: encoder_block() * ${fields.size('num_layers')} from ${drop > 0 ? 'encoder_dropout' : 'shared'}, ${ownTables ? 'distances' : 'encoder_bias'}`,
    `encoder_norm: ${norm}`,
    ...dropped('memory_dropout'),
  ];
  const parts = {
    name,
    comments: [],
    dims: textDims(fields, 512),
    inputs: { tokens: 'int64[batch, seq]', distances: 'int64[seq, seq]' },
  };
  const blocks = { [`encoder_block from hidden, ${read}`]: encoder };
  if (isEncoder)
    return { ...parts, blocks: { ...activationBlocks(encoder), ...blocks }, layers: encoderLayers };
  return {
    ...parts,
    dims: { ...parts.dims, target: 'seq' },
    inputs: {
      tokens: 'int64[batch, seq]',
      target_tokens: 'int64[batch, target]',
      distances: 'int64[seq, seq]',
      target_distances: 'int64[target, target]',
    },
    blocks: {
      ...activationBlocks([...encoder, ...decoder]),
      ...blocks,
      [`decoder_block from hidden, ${read}, memory${ownTables ? '' : ', cross_bias'}`]: decoder,
    },
    layers: [
      ...encoderLayers,
      'target_embeddings: Embedding(vocab_size, hidden_size, weight=shared) from target_tokens',
      ...dropped('decoder_dropout'),
      ...(ownTables ? [] : [...bias('decoder_', 'target_distances'), ...zeros]),
      `decoder: decoder_block() * ${fields.optionalSize('num_decoder_layers') ?? fields.size('num_layers')} from ${drop > 0 ? 'decoder_dropout' : 'target_embeddings'}, ${ownTables ? 'target_distances' : 'decoder_bias'}, ${drop > 0 ? 'memory_dropout' : 'encoder_norm'}${ownTables ? '' : ', cross_bias'}`,
      `decoder_norm: ${norm}`,
      ...dropped('logits_dropout'),
      ...(scaled ? [`scaled: mul(${1 / Math.sqrt(fields.size('hidden_size'))})`] : []),
      'lm_head: Linear(vocab_size, bias=False, weight=shared)',
    ],
  };
}

/** Lines behind dropout of probability `drop`, none where it is 0, and behind a residual connection. */
export function residualParts(drop: number) {
  const dropped = (line: string): readonly string[] => (drop > 0 ? [`${line}: Dropout(${drop})`] : []);
  const part = (
    prefix: string,
    lines: readonly string[],
    last: string,
    source: string,
  ): readonly string[] => [
    ...lines,
    ...dropped(`${prefix}_dropout`),
    `${prefix}_residual: add(${source}, ${drop > 0 ? `${prefix}_dropout` : last})`,
  ];
  return { dropped, part };
}

/** Encoder and decoder with the head of language; other classes have a part of them. */
export function needWhole(
  { architecture, problems }: ConfigFields,
  whole: RegExp = /ForConditionalGeneration$/,
): void {
  if (architecture === undefined || whole.test(architecture)) return;
  problems.push(`the class "${architecture}" is not known`);
}

/** `gated-gelu` is a gated feed-forward with the approximation by tanh (configuration_t5.py). */
function activationOfT5(fields: ConfigFields): readonly [activation: string, gated: boolean] {
  const text = fields.text('feed_forward_proj', 'relu');
  if (text === 'gated-gelu') return ['gelu_new', true];
  return text.startsWith('gated-') ? [text.slice('gated-'.length), true] : [text, false];
}

/** Whisper: an encoder of spectrograms behind two convolutions, and a decoder of text. */
export function whisper(fields: ConfigFields, name: string): SpecParts {
  needWhole(fields);
  const norm = layerNorm(1e-5)('hidden_size');
  const activation = activationOf(fields, 'gelu');
  const drop = fields.number('dropout', 0);
  const { dropped, part } = residualParts(drop);
  const attention = (heads: number, causal: boolean): Attention => ({
    heads,
    groups: heads,
    headSize: Math.floor(fields.size('d_model') / heads),
    bias: true,
    keyBias: false,
    outputBias: true,
    rotated: 0,
    contiguous: true,
    causal,
    dropout: fields.number('attention_dropout', 0),
    names: { q_proj: 'q_proj', k_proj: 'k_proj', v_proj: 'v_proj', o_proj: 'out_proj', qkv_proj: 'qkv' },
  });
  const feed = (hidden: number, source: string): readonly string[] => [
    `final_layer_norm: ${norm} from ${source}`,
    ...part(
      'feed_forward',
      [
        `fc1: Linear(${hidden})`,
        `act: ${activationCall(activation)}`,
        ...dropoutLines('act_dropout', fields.number('activation_dropout', 0)),
        'fc2: Linear(hidden_size)',
      ],
      'fc2',
      source,
    ),
  ];
  const encoderHeads = fields.size('encoder_attention_heads');
  const decoderHeads = fields.size('decoder_attention_heads');
  const encoder = [
    `self_attn_layer_norm: ${norm}`,
    ...part(
      'self',
      attentionLines(attention(encoderHeads, false), { source: 'self_attn_layer_norm', length: 'frames' }),
      'out_proj',
      'input',
    ),
    ...feed(fields.size('encoder_ffn_dim'), 'self_residual'),
  ];
  const decoder = [
    `self_attn_layer_norm: ${norm} from hidden`,
    ...part(
      'self',
      attentionLines(attention(decoderHeads, true), { source: 'self_attn_layer_norm', length: 'seq' }),
      'out_proj',
      'hidden',
    ),
    `encoder_attn_layer_norm: ${norm}`,
    ...part(
      'cross',
      attentionLines(attention(decoderHeads, false), {
        source: 'encoder_attn_layer_norm',
        memory: 'memory',
        length: 'seq',
        memoryLength: 'frames',
        prefix: 'encoder_attn_',
      }),
      'encoder_attn_out_proj',
      'self_residual',
    ),
    ...feed(fields.size('decoder_ffn_dim'), 'cross_residual'),
  ];
  const frames = fields.size('max_source_positions');
  const target = fields.size('max_target_positions');
  const start = (prefix: string, last: string): readonly string[] => [
    `${prefix}_embedded: add(${last}, ${prefix}_positions)`,
    ...dropped(`${prefix}_dropout`),
  ];
  const from = (prefix: string): string => `${prefix}_${drop > 0 ? 'dropout' : 'embedded'}`;
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
    layers: [
      'conv1: Conv1d(hidden_size, kernel_size=3, padding=1) from spectrogram',
      'conv1_act: GELU()',
      'conv2: Conv1d(hidden_size, kernel_size=3, stride=2, padding=1)',
      'conv2_act: GELU()',
      'ordered: transpose(1, 2)',
      `encoder_positions: Parameter(${frames}, hidden_size) frozen`,
      ...start('encoder', 'ordered'),
      `encoder: encoder_layer() * ${fields.size('encoder_layers')} from ${from('encoder')}`,
      `encoder_norm: ${norm}`,
      'embed_tokens: Embedding(vocab_size, hidden_size) from tokens',
      `decoder_positions: Embedding(${target}, hidden_size) from positions`,
      ...start('decoder', 'embed_tokens'),
      `decoder: decoder_layer() * ${fields.size('decoder_layers')} from ${from('decoder')}, encoder_norm`,
      `decoder_norm: ${norm}`,
      'proj_out: Linear(vocab_size, bias=False, weight=embed_tokens)',
    ],
  };
}
