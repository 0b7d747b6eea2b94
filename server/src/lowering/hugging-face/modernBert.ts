/**
 * ModernBERT (arXiv 2412.13663; modeling_modernbert.py of transformers 5.18): pre-norm blocks with rotated positions and
 * gated products. Local attention masks what is far, and computes it.
 */

import { activationBlocks, activationCall } from './activations.ts';
import { attentionLines } from './attentionLines.ts';
import type { ConfigFields } from './configFields.ts';
import { activationOf, knownActivation, labelsOf, layerNorm } from './decoderTypes.ts';
import type { SpecParts } from './specText.ts';

export function modernBert(fields: ConfigFields, name: string): SpecParts {
  const norm = layerNorm(
    fields.number('norm_eps', 1e-5),
    fields.flag('norm_bias') ? '' : ', bias=False',
  )('hidden_size');
  const layers = fields.size('num_hidden_layers');
  // The first block has no normalization before its attention (`ModernBertEncoderLayer`, `attn_norm`).
  const first = blockLines(fields, norm, false);
  const block = blockLines(fields, norm, true);
  const embeddingDropout = fields.number('embedding_dropout', 0);
  return {
    name,
    comments: [],
    dims: {
      batch: 8,
      seq: Math.min(fields.size('max_position_embeddings'), 512),
      hidden_size: fields.size('hidden_size'),
      vocab_size: fields.size('vocab_size'),
    },
    inputs: { tokens: 'int64[batch, seq]' },
    blocks: {
      ...activationBlocks(block),
      first_layer: first,
      ...(layers > 1 ? { encoder_layer: block } : {}),
    },
    layers: [
      'tok_embeddings: Embedding(vocab_size, hidden_size)',
      `embeddings_norm: ${norm}`,
      ...(embeddingDropout > 0 ? [`embeddings_dropout: Dropout(${embeddingDropout})`] : []),
      'first: first_layer()',
      ...(layers > 1 ? [`layers: encoder_layer() * ${layers - 1}`] : []),
      `final_norm: ${norm}`,
      ...headLines(fields, norm),
    ],
  };
}

function blockLines(fields: ConfigFields, norm: string, normalized: boolean): readonly string[] {
  const heads = fields.size('num_attention_heads');
  const headSize = Math.floor(fields.size('hidden_size') / heads);
  const bias = fields.flag('attention_bias');
  const share = fields.number('attention_dropout', 0);
  const productBias = fields.flag('mlp_bias') ? '' : ', bias=False';
  const productDropout = fields.number('mlp_dropout', 0);
  const hidden = fields.size('intermediate_size');
  return [
    ...(normalized ? [`attn_norm: ${norm}`] : []),
    ...attentionLines(
      {
        heads,
        groups: heads,
        headSize,
        bias,
        outputBias: bias,
        packed: true,
        rotated: headSize,
        causal: false,
        dropout: share,
        names: { q_proj: 'q', k_proj: 'k', v_proj: 'v', qkv_proj: 'Wqkv', o_proj: 'Wo' },
      },
      { source: normalized ? 'attn_norm' : 'input', length: 'seq' },
    ),
    ...(share > 0 ? [`out_drop: Dropout(${share})`] : []),
    `attended: add(input, ${share > 0 ? 'out_drop' : 'Wo'})`,
    `mlp_norm: ${norm}`,
    `Wi: Linear(${2 * hidden}${productBias})`,
    'value, gate: chunk(2, dim=-1)',
    `act: ${activationCall(activationOf(fields, 'gelu'))} from value`,
    'gated: mul(act, gate)',
    ...(productDropout > 0 ? [`drop: Dropout(${productDropout})`] : []),
    `mlp_Wo: Linear(hidden_size${productBias})`,
    'output: add(attended, mlp_Wo)',
  ];
}

/** By the end of the class's name; a model alone has no pooler. */
function headLines(fields: ConfigFields, norm: string): readonly string[] {
  const architecture = fields.architecture ?? '';
  const activation = knownActivation(fields, fields.text('classifier_activation', 'gelu'));
  const head = [
    `head_dense: Linear(hidden_size${fields.flag('classifier_bias') ? '' : ', bias=False'})`,
    `head_act: ${activationCall(activation)}`,
    `head_norm: ${norm}`,
  ];
  if (/ForMaskedLM$/.test(architecture)) {
    const tied = fields.flag('tie_word_embeddings', true) ? ', weight=tok_embeddings' : '';
    return [
      ...head,
      `decoder: Linear(vocab_size${fields.flag('decoder_bias', true) ? '' : ', bias=False'}${tied})`,
    ];
  }
  if (/ForSequenceClassification$/.test(architecture)) {
    const pooled =
      fields.text('classifier_pooling', 'cls') === 'mean'
        ? 'pooled: mean(dim=1)'
        : 'pooled: select(final_norm, 1, 0)';
    return [pooled, ...head, `classifier: Linear(${labelsOf(fields)})`];
  }
  if (/ForTokenClassification$/.test(architecture))
    return [...head, `classifier: Linear(${labelsOf(fields)})`];
  if (/ForQuestionAnswering$/.test(architecture)) return [...head, 'classifier: Linear(2)'];
  return [];
}
