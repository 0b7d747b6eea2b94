/**
 * SqueezeBERT (arXiv 2006.11316; modeling_squeezebert.py of transformers 5.18): a BERT whose products are convolutions by groups, over
 * channels that stand before the tokens.
 */

import { activationBlocks, activationCall, activationOf } from './activations.ts';
import { pooledHead } from './bertHeads.ts';
import type { ConfigFields } from './configFields.ts';
import { dropoutLines } from './dropoutLines.ts';
import { outputsOf } from './encoderHeads.ts';
import { layerNorm } from './normalizations.ts';
import type { SpecParts } from './specText.ts';
import { textDims } from './textDims.ts';

export function squeezeBert(fields: ConfigFields, name: string): SpecParts {
  const norm = layerNorm(fields.number('layer_norm_eps', 1e-12))('hidden_size');
  const longest = fields.size('max_position_embeddings');
  const share = fields.number('hidden_dropout_prob', 0);
  if (fields.size('embedding_size') !== fields.size('hidden_size'))
    fields.problems.push('`embedding_size` must be `hidden_size`');
  const block = blockLines(fields);
  const layers = [
    'word_embeddings: Embedding(vocab_size, hidden_size) from tokens',
    `position_embeddings: Embedding(${longest}, hidden_size) from positions`,
    'placed: add(word_embeddings, position_embeddings)',
    `token_type_embeddings: Embedding(${fields.size('type_vocab_size')}, hidden_size) from segments`,
    'embedded: add(placed, token_type_embeddings)',
    `embeddings_norm: ${norm}`,
    ...dropoutLines('embeddings_dropout', share),
    'channels_first: transpose(1, 2)',
    `encoder_layers: encoder_layer() * ${fields.size('num_hidden_layers')} from channels_first, mask`,
    'encoder: transpose(1, 2)',
    ...pooledHead(fields),
  ];
  return {
    name,
    comments: [],
    dims: textDims(fields, Math.min(longest, 512)),
    inputs: {
      tokens: 'int64[batch, seq]',
      positions: 'int64[1, seq]',
      segments: 'int64[batch, seq]',
      mask: 'float32[batch, 1, seq, seq]',
    },
    blocks: { ...activationBlocks(block), 'encoder_layer from input, mask': block },
    layers,
    ...outputsOf(layers),
  };
}

function blockLines(fields: ConfigFields): readonly string[] {
  const heads = fields.size('num_attention_heads');
  const hidden = fields.size('hidden_size');
  const head = Math.floor(hidden / heads);
  const norm = layerNorm(fields.number('layer_norm_eps', 1e-12))('hidden_size');
  const share = fields.number('hidden_dropout_prob', 0);
  const weightShare = fields.number('attention_probs_dropout_prob', 0);
  const product = (line: string, size: number, field: string): string => {
    const groups = fields.size(field);
    if (hidden % groups !== 0 || size % groups !== 0)
      fields.problems.push(`\`${field}\` must divide the channels that it parts`);
    return `${line}: Conv1d(${size}, kernel_size=1, groups=${groups})`;
  };
  /** A product, and its sum with `residual`, normalized by token. */
  const summed = (line: string, field: string, source: string, residual: string): readonly string[] => [
    `${product(line, hidden, field)} from ${source}`,
    ...dropoutLines(`${line}_dropout`, share),
    `${line}_sum: add(${share > 0 ? `${line}_dropout` : line}, ${residual})`,
    `${line}_last: permute(0, 2, 1)`,
    `${line}_norm: ${norm}`,
    `${line}_first: permute(0, 2, 1)`,
  ];
  return [
    `${product('query', hidden, 'q_groups')} from input`,
    `query_split: reshape(batch, ${heads}, ${head}, seq)`,
    'query_heads: transpose(2, 3)',
    `${product('key', hidden, 'k_groups')} from input`,
    `key_columns: reshape(batch, ${heads}, ${head}, seq)`,
    `${product('value', hidden, 'v_groups')} from input`,
    `value_split: reshape(batch, ${heads}, ${head}, seq)`,
    'value_heads: transpose(2, 3)',
    'products: matmul(query_heads, key_columns)',
    `scores: div(${Math.sqrt(head)})`,
    'masked: add(scores, mask)',
    'weights: softmax(dim=-1)',
    ...dropoutLines('kept_weights', weightShare),
    `context: matmul(${weightShare > 0 ? 'kept_weights' : 'weights'}, value_heads)`,
    'context_turned: permute(0, 1, 3, 2)',
    'context_joined: reshape(batch, hidden_size, seq)',
    ...summed('post_attention', 'post_attention_groups', 'context_joined', 'input'),
    `${product('intermediate', fields.size('intermediate_size'), 'intermediate_groups')} from post_attention_first`,
    `intermediate_act: ${activationCall(activationOf(fields, 'gelu'))}`,
    ...summed('output', 'output_groups', 'intermediate_act', 'post_attention_first'),
  ];
}
