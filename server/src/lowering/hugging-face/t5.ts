/** T5, T5 1.1, mT5 and UMT5 (modeling_t5.py, modeling_umt5.py of transformers 5.18). */

import { activationBlocks, knownActivation } from './activations.ts';
import { type Attention, attentionLines } from './attentionLines.ts';
import type { ConfigFields } from './configFields.ts';
import { needWhole, residualParts } from './encoderDecoder.ts';
import { feedForwardLines } from './feedForwardLines.ts';
import { rmsNorm } from './normalizations.ts';
import type { SpecParts } from './specText.ts';
import { textDims } from './textDims.ts';

/** What blocks of encoder and decoder have in common. */
interface T5 {
  readonly fields: ConfigFields;
  /** In UMT5 every block has a table of positions of its own. */
  readonly ownTables: boolean;
  readonly norm: string;
  readonly heads: number;
  readonly isGated: boolean;
  readonly activation: string;
  readonly drop: number;
  readonly parts: ReturnType<typeof residualParts>;
}

/** The encoder may stand alone. */
export function t5(fields: ConfigFields, name: string): SpecParts {
  needWhole(fields, /(ForConditionalGeneration|EncoderModel)$/);
  const model = readT5(fields);
  const { ownTables } = model;
  const encoder = encoderBlock(model);
  const decoder = decoderBlock(model);
  const read = ownTables ? 'distances' : 'bias';
  const blocks = { [`encoder_block from hidden, ${read}`]: encoder };
  const layers = encoderLayers(model);
  const parts = { name, comments: [], dims: textDims(fields, 512) };
  if (fields.architecture?.endsWith('EncoderModel') === true)
    return {
      ...parts,
      inputs: { tokens: 'int64[batch, seq]', distances: 'int64[seq, seq]' },
      blocks: { ...activationBlocks(encoder), ...blocks },
      layers,
    };
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
    layers: [...layers, ...decoderLayers(model)],
  };
}

function readT5(fields: ConfigFields): T5 {
  const ownTables = fields.type === 'umt5';
  const norm = rmsNorm(fields.number('layer_norm_epsilon', 1e-6), fields)('hidden_size');
  const heads = fields.size('num_attention_heads');
  const [named, isGated] = activationOfT5(fields);
  const activation = knownActivation(fields, named);
  const drop = fields.number('dropout_rate', 0);
  return { fields, ownTables, norm, heads, isGated, activation, drop, parts: residualParts(drop) };
}

/** A table of positions lies with its heads beside each other; zeros lie in order. */
const attentionOf = ({ fields, heads, drop }: T5, bias: string): Attention => ({
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

function feedForwardPart(model: T5, residual: string): readonly string[] {
  const { norm, isGated, activation, drop, parts } = model;
  const products = { hidden: model.fields.size('d_ff'), activation, bias: false, dropout: drop };
  const lines = feedForwardLines(
    isGated ? { kind: 'gated', ...products } : { kind: 'plain', ...products, names: ['wi', 'wo'] },
    'feed_forward_norm',
  );
  return [
    `feed_forward_norm: ${norm}`,
    ...parts.part('feed_forward', lines, isGated ? 'down_proj' : 'wo', residual),
  ];
}

/** Each distance has a score of each head. */
const biasLines = ({ fields, heads }: T5, prefix: string, of: string): readonly string[] => [
  `${prefix}buckets: Embedding(${fields.size('relative_attention_num_buckets')}, ${heads}) from ${of}`,
  `${prefix}bias: permute(2, 0, 1)`,
];

/** Every block of UMT5 computes its buckets anew. */
const ownBias = (model: T5): readonly string[] =>
  model.ownTables ? ['places: add(distances, 0)', ...biasLines(model, '', 'places')] : [];

/** Attention over the encoder is given a bias of zeros. */
const zeros = ({ heads }: T5): readonly string[] => [
  'zero: Buffer()',
  `unplaced: expand(zero, 1, ${heads}, target, seq)`,
  'cross_bias: add(unplaced, 0)',
];

function encoderBlock(model: T5): readonly string[] {
  const { norm, parts } = model;
  const place = { source: 'attention_norm', length: 'seq' };
  return [
    ...ownBias(model),
    `attention_norm: ${norm} from hidden`,
    ...parts.part('attention', attentionLines(attentionOf(model, 'bias'), place), 'o', 'hidden'),
    ...feedForwardPart(model, 'attention_residual'),
  ];
}

function decoderBlock(model: T5): readonly string[] {
  const { norm, ownTables, parts } = model;
  const own = { source: 'attention_norm', length: 'target' };
  const cross = {
    source: 'cross_norm',
    memory: 'memory',
    length: 'target',
    memoryLength: 'seq',
    prefix: 'cross_',
  };
  return [
    ...ownBias(model),
    "causal_mask: AttentionMask(target, dtype='bool')",
    'hidden_tokens: Buffer()',
    'placed: where(causal_mask, bias, hidden_tokens)',
    `attention_norm: ${norm} from hidden`,
    ...parts.part('attention', attentionLines(attentionOf(model, 'placed'), own), 'o', 'hidden'),
    ...(ownTables ? zeros(model) : []),
    `cross_norm: ${norm}${ownTables ? ' from attention_residual' : ''}`,
    ...parts.part(
      'cross',
      attentionLines(attentionOf(model, 'cross_bias'), cross),
      'cross_o',
      'attention_residual',
    ),
    ...feedForwardPart(model, 'cross_residual'),
  ];
}

function encoderLayers(model: T5): readonly string[] {
  const { fields, norm, drop, ownTables, parts } = model;
  const read = `${drop > 0 ? 'encoder_dropout' : 'shared'}, ${ownTables ? 'distances' : 'encoder_bias'}`;
  return [
    'shared: Embedding(vocab_size, hidden_size) from tokens',
    ...parts.dropped('encoder_dropout'),
    ...(ownTables ? [] : biasLines(model, 'encoder_', 'distances')),
    `encoder: encoder_block() * ${fields.size('num_layers')} from ${read}`,
    `encoder_norm: ${norm}`,
    ...parts.dropped('memory_dropout'),
  ];
}

function decoderLayers(model: T5): readonly string[] {
  const { fields, norm, drop, ownTables, parts } = model;
  const count = fields.optionalSize('num_decoder_layers') ?? fields.size('num_layers');
  const read = [
    drop > 0 ? 'decoder_dropout' : 'target_embeddings',
    ownTables ? 'target_distances' : 'decoder_bias',
    drop > 0 ? 'memory_dropout' : 'encoder_norm',
    ...(ownTables ? [] : ['cross_bias']),
  ];
  // transformers ties the weights whatever the field says, which decides only about the scale (configuration_t5.py).
  const isScaled = fields.type === 't5' && fields.flag('tie_word_embeddings', true);
  return [
    'target_embeddings: Embedding(vocab_size, hidden_size, weight=shared) from target_tokens',
    ...parts.dropped('decoder_dropout'),
    ...(ownTables ? [] : [...biasLines(model, 'decoder_', 'target_distances'), ...zeros(model)]),
    `decoder: decoder_block() * ${count} from ${read.join(', ')}`,
    `decoder_norm: ${norm}`,
    ...parts.dropped('logits_dropout'),
    ...(isScaled ? [`scaled: mul(${1 / Math.sqrt(fields.size('hidden_size'))})`] : []),
    'lm_head: Linear(vocab_size, bias=False, weight=shared)',
  ];
}

/** `gated-gelu` is a gated feed-forward with the approximation by tanh (configuration_t5.py). */
function activationOfT5(fields: ConfigFields): readonly [activation: string, gated: boolean] {
  const text = fields.text('feed_forward_proj', 'relu');
  if (text === 'gated-gelu') return ['gelu_new', true];
  return text.startsWith('gated-') ? [text.slice('gated-'.length), true] : [text, false];
}
