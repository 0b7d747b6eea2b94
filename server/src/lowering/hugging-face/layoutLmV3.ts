/**
 * LayoutLMv3 (arXiv 2204.08387; modeling_layoutlmv3.py of transformers 5.18): the words of a page, with their places on it, and patches of
 * its image in one encoder.
 */

import { activationBlocks, activationCall, activationOf } from './activations.ts';
import { type ConfigFields, labelsOf } from './configFields.ts';
import { dropoutLines } from './dropoutLines.ts';
import { headDropout } from './encoderHeads.ts';
import { layerNorm } from './normalizations.ts';
import { patchTokens } from './patchTokens.ts';
import type { SpecParts } from './specText.ts';
import { textDims } from './textDims.ts';

export function layoutLmV3(fields: ConfigFields, name: string): SpecParts {
  const norm = layerNorm(fields.number('layer_norm_eps', 1e-5))('hidden_size');
  const share = fields.number('hidden_dropout_prob', 0);
  const longest = fields.size('max_position_embeddings');
  const heads = fields.size('num_attention_heads');
  const seen = fields.flag('visual_embed', true);
  if (!fields.flag('text_embed', true))
    fields.problems.push('`text_embed` is false, and pages without words are not known here');
  const patch = fields.size('patch_size');
  const side = Math.floor(fields.size('input_size') / patch);
  const relative = fields.flag('has_relative_attention_bias', true);
  const spatial = fields.flag('has_spatial_attention_bias', true);
  const [bins, spaceBins] = [fields.size('rel_pos_bins'), fields.size('rel_2d_pos_bins')];
  // Trained numbers that the code reads without history, so that they have no gradient.
  const table = (axis: string, rows: number): readonly string[] => [
    `rel_pos_${axis}_bias: Parameter(${rows}, ${heads})`,
    `rel_pos_${axis}_table: Buffer(${rows}, ${heads})`,
    `rel_pos_${axis}_rows: index_select(rel_pos_${axis}_table, apart_${axis}, 0)`,
    `rel_pos_${axis}_split: reshape(batch, places, places, ${heads})`,
    `rel_pos_${axis}_heads: permute(0, 3, 1, 2)`,
    `rel_pos_${axis}: cat((rel_pos_${axis}_heads), dim=1)`,
  ];
  const tables = [...(relative ? ['1d'] : []), ...(spatial ? ['x', 'y'] : [])];
  const head = headLines(fields, share);
  const given = [...(relative ? ['rel_pos_1d'] : []), ...(spatial ? ['rel_2d_pos'] : [])];
  const block = blockLines(fields, norm, relative, spatial);
  const call = `encoder_layer from ${['input', 'mask', ...given].join(', ')}`;
  const words = share > 0 ? 'words_dropout' : 'words_norm';
  const start = share > 0 ? (seen ? 'embeddings_dropout' : words) : seen ? 'embeddings_norm' : words;
  const coordinates = Object.entries({
    left: 'x',
    upper: 'y',
    right: 'x',
    lower: 'y',
    height: 'h',
    width: 'w',
  });
  const first: Record<string, string> = {};
  const placeLines = coordinates.map(([place, axis]) => {
    const size = fields.size(axis === 'x' || axis === 'y' ? 'coordinate_size' : 'shape_size');
    const shared = first[axis];
    first[axis] ??= `${place}_embeddings`;
    return `${place}_embeddings: Embedding(${fields.size('max_2d_position_embeddings')}, ${size}${shared === undefined ? '' : `, weight=${shared}`}) from ${place}`;
  });
  return {
    name,
    comments: [],
    dims: {
      ...textDims(fields, Math.min(longest, 512)),
      places: seen ? `seq+${side ** 2 + 1}` : 'seq',
    },
    inputs: {
      tokens: 'int64[batch, seq]',
      segments: 'int64[batch, seq]',
      positions: 'int64[batch, seq]',
      ...Object.fromEntries(coordinates.map(([place]) => [place, 'int64[batch, seq]'])),
      ...(seen
        ? { image: `float32[batch, ${fields.size('num_channels')}, ${side * patch}, ${side * patch}]` }
        : {}),
      ...(relative ? { apart_1d: 'int64[batch*places*places]' } : {}),
      ...(spatial ? { apart_x: 'int64[batch*places*places]', apart_y: 'int64[batch*places*places]' } : {}),
      mask: 'float32[batch, 1, places, places]',
    },
    blocks: { ...activationBlocks(block), [call]: block },
    layers: [
      'word_embeddings: Embedding(vocab_size, hidden_size) from tokens',
      `token_type_embeddings: Embedding(${fields.size('type_vocab_size')}, hidden_size) from segments`,
      'typed: add(word_embeddings, token_type_embeddings)',
      `position_embeddings: Embedding(${longest}, hidden_size) from positions`,
      'placed: add(typed, position_embeddings)',
      ...placeLines,
      `on_page: cat((${coordinates.map(([place]) => `${place}_embeddings`).join(', ')}), dim=-1)`,
      'embedded: add(placed, on_page)',
      `words_norm: ${norm}`,
      ...dropoutLines('words_dropout', share),
      ...(seen
        ? [
            `patch_embeddings: Conv2d(hidden_size, kernel_size=${patch}, stride=${patch}) from image`,
            ...patchTokens(1),
            `pos_embed: Parameter(1, ${side ** 2 + 1}, hidden_size)`,
            'image_placed: add(with_cls, pos_embed)',
            `image_norm: ${layerNorm(1e-6)('hidden_size')}`,
            `both: cat((${words}, image_norm), dim=1)`,
            `embeddings_norm: ${norm}`,
            ...dropoutLines('embeddings_dropout', share),
          ]
        : []),
      ...(relative ? table('1d', bins) : []),
      ...(spatial
        ? [...table('x', spaceBins), ...table('y', spaceBins), 'rel_2d_pos: add(rel_pos_x, rel_pos_y)']
        : []),
      `encoder: encoder_layer() * ${fields.size('num_hidden_layers')} from ${[start, 'mask', ...given].join(', ')}`,
      ...head,
    ],
    ...(tables.length === 0
      ? {}
      : {
          outputs: [head.at(-1)?.split(':')[0] ?? 'encoder', ...tables.map((axis) => `rel_pos_${axis}_bias`)],
        }),
  };
}

/** CogView's softmax, which takes the greatest score from all others first (arXiv 2105.13290, section 2.4). */
const cogview = (source: string): readonly string[] => [
  `small: div(${source}, 32)`,
  'greatest: amax(dim=-1, keepdim=True)',
  'below: sub(small, greatest)',
  'spread: mul(32)',
  'weights: softmax(dim=-1)',
];

function blockLines(
  fields: ConfigFields,
  norm: string,
  relative: boolean,
  spatial: boolean,
): readonly string[] {
  const heads = fields.size('num_attention_heads');
  const head = Math.floor(fields.size('hidden_size') / heads);
  const root = Math.sqrt(head);
  const share = fields.number('hidden_dropout_prob', 0);
  const weightShare = fields.number('attention_probs_dropout_prob', 0);
  // The code adds one only where it adds the other.
  const biases = relative
    ? spatial
      ? ['both_biases: add(rel_pos_1d, rel_2d_pos)', `bias: div(${root})`]
      : [`bias: div(rel_pos_1d, ${root})`]
    : [];
  if (!relative && spatial)
    fields.problems.push(
      '`has_spatial_attention_bias` is true without `has_relative_attention_bias`, whose tables nothing reads',
    );
  const projected = (part: string): readonly string[] => [
    `${part}: Linear(hidden_size) from input`,
    `${part}_split: reshape(batch, places, ${heads}, ${head})`,
    `${part}_heads: transpose(1, 2)`,
  ];
  return [
    ...projected('query'),
    ...projected('key'),
    ...projected('value'),
    `query_scaled: div(query_heads, ${root})`,
    'key_columns: transpose(key_heads, 2, 3)',
    'scores: matmul(query_scaled, key_columns)',
    ...biases,
    ...(biases.length > 0 ? ['biased: add(scores, bias)'] : []),
    `masked: add(${biases.length > 0 ? 'biased' : 'scores'}, mask)`,
    ...cogview('masked'),
    ...dropoutLines('kept_weights', weightShare),
    `context: matmul(${weightShare > 0 ? 'kept_weights' : 'weights'}, value_heads)`,
    'context_turned: permute(0, 2, 1, 3)',
    'context_joined: reshape(batch, places, hidden_size)',
    'attention_dense: Linear(hidden_size)',
    ...dropoutLines('attention_dropout', share),
    `attention_residual: add(${share > 0 ? 'attention_dropout' : 'attention_dense'}, input)`,
    `attention_norm: ${norm}`,
    `intermediate_dense: Linear(${fields.size('intermediate_size')})`,
    `intermediate_act: ${activationCall(activationOf(fields, 'gelu'))}`,
    'output_dense: Linear(hidden_size)',
    ...dropoutLines('output_dropout', share),
    `output_residual: add(${share > 0 ? 'output_dropout' : 'output_dense'}, attention_norm)`,
    `output_norm: ${norm}`,
  ];
}

/** By the end of the class's name. */
function headLines(fields: ConfigFields, share: number): readonly string[] {
  const { architecture = '' } = fields;
  const dropped = headDropout(fields);
  const labels = labelsOf(fields);
  const deep = (name: string): readonly string[] => [
    ...dropoutLines('head_dropout', dropped),
    'head_dense: Linear(hidden_size)',
    'head_act: tanh()',
    ...dropoutLines('head_last_dropout', dropped),
    `${name}: Linear(${labels})`,
  ];
  if (architecture.endsWith('ForSequenceClassification'))
    return ['first_token: select(encoder, 1, 0)', ...deep('classifier')];
  if (architecture.endsWith('ForQuestionAnswering')) return deep('qa_outputs');
  if (architecture.endsWith('ForTokenClassification'))
    return [
      'words: slice(encoder, 1, 0, seq)',
      ...dropoutLines('token_dropout', share),
      ...(labels < 10 ? [`classifier: Linear(${labels})`] : deep('classifier')),
    ];
  return [];
}
