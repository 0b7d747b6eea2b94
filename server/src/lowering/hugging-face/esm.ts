/** Protein language models (ESM-1b, ESM-2; modeling_esm.py of transformers 5.18): pre-norm blocks with activations written out. */

import { attentionLines } from './attentionLines.ts';
import type { ConfigFields } from './configFields.ts';
import { dropoutLines } from './dropoutLines.ts';
import { selfAttention } from './encoderAttention.ts';
import { firstToken, headOf, pooler, vocabularyHead } from './encoderHeads.ts';
import { layerNorm } from './normalizations.ts';
import type { SpecParts } from './specText.ts';
import { textDims } from './textDims.ts';

export function esm(fields: ConfigFields, name: string): SpecParts {
  if (fields.flag('is_folding_model'))
    fields.problems.push('`is_folding_model` is true, and what folds proteins is not known here');
  const norm = layerNorm(fields.number('layer_norm_eps', 1e-12))('hidden_size');
  const longest = fields.size('max_position_embeddings');
  const heads = fields.size('num_attention_heads');
  const layers = fields.size('num_hidden_layers');
  const isRotary = fields.text('position_embedding_type', 'absolute') === 'rotary';
  const isDropped = fields.flag('token_dropout');
  const words = isDropped ? 'token_scaled' : 'word_embeddings';
  const head = headLines(fields, norm);
  const lines = [
    'word_embeddings: Embedding(vocab_size, hidden_size) from tokens',
    ...(isDropped
      ? [
          'unmasked: masked_fill(word_embeddings, is_mask, 0)',
          'token_share: mul(0.88)',
          'token_scaled: div(token_share, unmasked_share)',
        ]
      : []),
    ...(isRotary
      ? []
      : [
          `position_embeddings: Embedding(${longest}, hidden_size) from positions`,
          `placed: add(${words}, position_embeddings)`,
        ]),
    ...(fields.flag('emb_layer_norm_before') ? [`embeddings_norm: ${norm}`] : []),
    `layers: encoder_layer() * ${layers}`,
    `encoder: ${norm}`,
    ...head,
    // Predicts contacts of residues only where it is asked to.
    `contact_head: Parameter(1, ${layers * heads})`,
    'contact_bias: Parameter(1)',
  ];
  const last = head.at(-1)?.split(':')[0] ?? 'encoder';
  return {
    name,
    comments: [],
    dims: textDims(fields, Math.min(longest, 512)),
    inputs: {
      tokens: 'int64[batch, seq]',
      ...(isRotary ? {} : { positions: 'int64[batch, seq]' }),
      ...(isDropped ? { is_mask: 'bool[batch, seq, 1]', unmasked_share: 'float32[batch, 1, 1]' } : {}),
    },
    blocks: { gelu_of_quotient: geluLines, encoder_layer: blockLines(fields, norm, isRotary) },
    layers: lines,
    outputs: [last, 'contact_head', 'contact_bias'],
  };
}

/** `gelu` of modeling_esm.py. */
const geluLines = [
  'half: mul(input, 0.5)',
  'quotient: div(input, 1.4142135624)',
  'curve: erf()',
  'shifted: add(1)',
  'output: mul(half, shifted)',
];

function blockLines(fields: ConfigFields, norm: string, isRotary: boolean): readonly string[] {
  const share = fields.number('hidden_dropout_prob', 0);
  const attention = selfAttention(fields);
  return [
    `attention_norm: ${norm}`,
    ...attentionLines(
      {
        ...attention,
        scaledQuery: true,
        scale: 1,
        rotated: isRotary ? attention.headSize : 0,
        rotationCast: 'operands',
      },
      { source: 'attention_norm', length: 'seq' },
    ),
    ...dropoutLines('attention_dropout', share),
    `residual: add(${share > 0 ? 'attention_dropout' : 'attention_dense'}, input)`,
    `intermediate_norm: ${norm}`,
    `intermediate_dense: Linear(${fields.size('intermediate_size')})`,
    'intermediate_act: gelu_of_quotient()',
    'output_dense: Linear(hidden_size)',
    ...dropoutLines('output_dropout', share),
    `output: add(${share > 0 ? 'output_dropout' : 'output_dense'}, residual)`,
  ];
}

function headLines(fields: ConfigFields, norm: string): readonly string[] {
  const share = fields.number('hidden_dropout_prob', 0);
  const masked = [
    'lm_head_dense: Linear(hidden_size) from encoder',
    'lm_head_act: gelu_of_quotient()',
    `lm_head_norm: ${norm}`,
    `decoder: ${vocabularyHead(fields, false)}`,
    'lm_head_bias: Parameter(vocab_size)',
    'logits: add(decoder, lm_head_bias)',
  ];
  const pooled = [
    firstToken,
    ...dropoutLines('first_dropout', share),
    'classifier_dense: Linear(hidden_size)',
    'classifier_act: Tanh()',
  ];
  const isModel = /Model$/.test(fields.architecture ?? '');
  return isModel ? pooler : headOf(fields, masked, pooled, { sequence: share, token: share, answer: share });
}
