/** DistilBERT: half of BERT's layers, without segments and poolers (modeling_distilbert.py). */

import { activationBlocks, activationCall, activationOf } from './activations.ts';
import { attentionLines } from './attentionLines.ts';
import type { ConfigFields } from './configFields.ts';
import { dropoutLines } from './dropoutLines.ts';
import { selfAttention } from './encoderAttention.ts';
import { firstToken, headOf, vocabularyHead } from './encoderHeads.ts';
import { layerNorm } from './normalizations.ts';
import type { SpecParts } from './specText.ts';
import { textDims } from './textDims.ts';

export function distilbert(fields: ConfigFields, name: string): SpecParts {
  const longest = fields.size('max_position_embeddings');
  const block = blockLines(fields);
  return {
    name,
    comments: [],
    dims: textDims(fields, Math.min(longest, 512)),
    inputs: { tokens: 'int64[batch, seq]', positions: 'int64[1, seq]' },
    blocks: { ...activationBlocks(block), encoder_layer: block },
    layers: [
      'word_embeddings: Embedding(vocab_size, hidden_size) from tokens',
      `position_embeddings: Embedding(${longest}, hidden_size) from positions`,
      'embedded: add(word_embeddings, position_embeddings)',
      `embeddings_norm: ${norm}`,
      ...dropoutLines('embeddings_dropout', fields.number('dropout', 0)),
      `encoder: encoder_layer() * ${fields.size('num_hidden_layers')}`,
      ...headLines(fields),
    ],
  };
}

const norm = layerNorm(1e-12)('hidden_size');

function blockLines(fields: ConfigFields): readonly string[] {
  const drop = fields.number('dropout', 0);
  const attention = selfAttention(fields, {
    dropout: fields.number('attention_dropout', 0),
    names: { q_proj: 'q_lin', k_proj: 'k_lin', v_proj: 'v_lin', qkv_proj: 'qkv_lin', o_proj: 'out_lin' },
  });
  return [
    ...attentionLines(attention, { source: 'input', length: 'seq' }),
    'attention_residual: add(out_lin, input)',
    `sa_layer_norm: ${norm}`,
    `lin1: Linear(${fields.size('hidden_dim')})`,
    `act: ${activationCall(activationOf(fields, 'gelu'))}`,
    'lin2: Linear(hidden_size)',
    ...dropoutLines('output_dropout', drop),
    `output_residual: add(${drop > 0 ? 'output_dropout' : 'lin2'}, sa_layer_norm)`,
    `output_layer_norm: ${norm}`,
  ];
}

function headLines(fields: ConfigFields): readonly string[] {
  const masked = [
    'vocab_transform: Linear(hidden_size) from encoder',
    `vocab_act: ${activationCall(activationOf(fields, 'gelu'))}`,
    `vocab_layer_norm: ${norm}`,
    `vocab_projector: ${vocabularyHead(fields)}`,
  ];
  const pooled = [firstToken, 'pre_classifier: Linear(hidden_size)', 'pre_classifier_act: ReLU()'];
  const shares = {
    sequence: fields.number('seq_classif_dropout', 0),
    token: fields.number('dropout', 0),
    answer: fields.number('qa_dropout', 0),
  };
  const architecture = fields.architecture ?? '';
  return /Model$/.test(architecture) || architecture === '' ? [] : headOf(fields, masked, pooled, shares);
}
