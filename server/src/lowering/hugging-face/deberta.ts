/**
 * DeBERTa-v2 and v3 (arXiv 2006.03654; modeling_deberta_v2.py of transformers 5.18): scores of contents and of relative positions
 * are added. The code stacks heads as matrices, so that its products have three axes, and stores all scores.
 */

import { activationBlocks, activationCall, activationOf, knownActivation } from './activations.ts';
import { type ConfigFields, labelsOf } from './configFields.ts';
import { outputsOf, unreadBias } from './encoderHeads.ts';
import { layerNorm } from './normalizations.ts';
import type { SpecParts } from './specText.ts';
import { textDims } from './textDims.ts';

export function debertaV2(fields: ConfigFields, name: string): SpecParts {
  const norm = layerNorm(fields.number('layer_norm_eps', 1e-7))('hidden_size');
  const hidden = fields.size('hidden_size');
  const width = fields.optionalSize('embedding_size') ?? hidden;
  const longest = fields.size('max_position_embeddings');
  const drop = fields.number('hidden_dropout_prob', 0);
  const segments = fields.optionalSize('type_vocab_size');
  const relative = relativeOf(fields, longest);
  const block = blockLines(fields, norm, relative);
  const size = width === hidden ? 'hidden_size' : String(width);
  const placed = fields.flag('position_biased_input', true);
  const kernel = fields.optionalSize('conv_kernel_size');
  const count = fields.size('num_hidden_layers');
  const given = relative === undefined ? '' : ', relative, distances';
  const call = (line: string, from: string, layers: number): readonly string[] =>
    layers > 0 ? [`${line}: encoder_layer() * ${layers} from ${from}, seen${given}`] : [];
  const start = drop > 0 ? 'embeddings_dropout' : 'embeddings_norm';
  const encoder =
    kernel === undefined
      ? call('encoder', start, count)
      : [
          ...call('first', start, 1),
          ...convolutionLines(fields, kernel, start, norm, drop),
          ...call('encoder', 'conv_norm', count - 1),
        ];
  const last = kernel !== undefined && count === 1 ? 'conv_norm' : 'encoder';
  const layers = [
    ...(relative === undefined ? [] : relativeLines(relative, norm)),
    `word_embeddings: Embedding(vocab_size, ${size}) from tokens`,
    ...(placed
      ? [
          `position_embeddings: Embedding(${longest}, ${size}) from positions`,
          'placed: add(word_embeddings, position_embeddings)',
        ]
      : []),
    ...(segments === undefined
      ? []
      : [
          `token_type_embeddings: Embedding(${segments}, ${size}) from segments`,
          `embedded: add(${placed ? 'placed' : 'word_embeddings'}, token_type_embeddings)`,
        ]),
    ...(width === hidden
      ? []
      : [
          `embed_proj: Linear(hidden_size, bias=False) from ${segments === undefined ? (placed ? 'placed' : 'word_embeddings') : 'embedded'}`,
        ]),
    `embeddings_norm: ${norm}`,
    ...(drop > 0 ? [`embeddings_dropout: Dropout(${drop})`] : []),
    ...encoder,
    ...debertaHead(fields, last, width, drop),
  ];
  return {
    name,
    comments: [],
    dims: textDims(fields, Math.min(longest, 512)),
    inputs: {
      tokens: 'int64[batch, seq]',
      ...(placed ? { positions: 'int64[1, seq]' } : {}),
      ...(segments === undefined ? {} : { segments: 'int64[batch, seq]' }),
      ...(relative === undefined ? {} : { distances: 'int64[seq, seq]' }),
      seen: 'bool[batch, 1, seq, seq]',
    },
    blocks: {
      ...activationBlocks(block),
      [`encoder_layer from input, seen${given}`]: block,
    },
    layers,
    ...outputsOf(layers),
  };
}

interface Relative {
  /** Vectors of relative positions. */
  readonly rows: number;
  readonly isNormalized: boolean;
  /** Contents are asked for positions, and positions for contents. */
  readonly c2p: boolean;
  readonly p2c: boolean;
  /** Whether positions are projected by the weights of contents. */
  readonly isShared: boolean;
}

function relativeOf(fields: ConfigFields, longest: number): Relative | undefined {
  const isNormalized = fields.text('norm_rel_ebd', 'none').toLowerCase().includes('layer_norm');
  if (!fields.flag('relative_attention')) {
    if (isNormalized) fields.problems.push('`norm_rel_ebd` is set without `relative_attention`');
    return undefined;
  }
  const limit = fields.number('max_relative_positions', -1);
  const buckets = fields.number('position_buckets', -1);
  const listed = fields.list('pos_att_type') ?? fields.text('pos_att_type', '').toLowerCase().split('|');
  const types = listed.map((type) => String(type).trim());
  if (!types.includes('c2p') && !types.includes('p2c'))
    fields.problems.push('`relative_attention` needs `pos_att_type` with "c2p" or "p2c"');
  return {
    rows: 2 * (buckets > 0 ? buckets : limit > 0 ? limit : longest),
    isNormalized,
    c2p: types.includes('c2p'),
    p2c: types.includes('p2c'),
    isShared: fields.flag('share_att_key'),
  };
}

const relativeLines = ({ rows, isNormalized }: Relative, norm: string): readonly string[] => [
  `rel_embeddings: Parameter(1, ${rows}, hidden_size)`,
  `relative: ${isNormalized ? `${norm} from rel_embeddings` : 'view(rel_embeddings, 1, -1, hidden_size)'}`,
];

/** A projection whose weight and bias another line may use as well, so that the bias stands by itself. */
const projection = (name: string, source: string): readonly string[] => [
  `${name}_bias: Parameter(hidden_size)`,
  `${name}_product: Linear(hidden_size, bias=False) from ${source}`,
  `${name}: add(${name}_product, ${name}_bias)`,
];

function blockLines(fields: ConfigFields, norm: string, relative: Relative | undefined): readonly string[] {
  const heads = fields.size('num_attention_heads');
  const head = fields.optionalSize('attention_head_size') ?? Math.floor(fields.size('hidden_size') / heads);
  if (head * heads !== fields.size('hidden_size'))
    fields.problems.push('`attention_head_size` times `num_attention_heads` must be `hidden_size`');
  const drop = fields.number('hidden_dropout_prob', 0);
  const weightDrop = fields.number('attention_probs_dropout_prob', 0);
  const scale = Math.sqrt(head * (1 + Number(relative?.c2p ?? false) + Number(relative?.p2c ?? false)));
  /** [1 or batch, length, hidden] as a matrix for each head. */
  const stacked = (name: string, batch: string, length: string): readonly string[] => [
    `${name}_split: reshape(${name}, ${batch}, ${length}, ${heads}, ${head})`,
    `${name}_turned: transpose(1, 2)`,
    `${name}_heads: reshape(${batch}*${heads}, ${length}, ${head})`,
  ];
  const drops = (line: string): readonly string[] => (drop > 0 ? [`${line}: Dropout(${drop})`] : []);
  const relatives = relative === undefined ? [] : relativeScores(relative, { scale, heads, drop, stacked });
  const summed = relatives.length === 0 ? 'scores' : 'all_scores';
  return [
    ...(['query_proj', 'key_proj', 'value_proj'] as const).flatMap((name) => [
      ...projection(name, 'input'),
      ...stacked(name, 'batch', 'seq'),
    ]),
    'keys_turned: transpose(key_proj_heads, 1, 2)',
    `keys_scaled: div(${scale})`,
    'scores: bmm(query_proj_heads, keys_scaled)',
    ...relatives,
    `scores_of_heads: reshape(${summed}, batch, ${heads}, seq, seq)`,
    'hidden_tokens: Not(seen)',
    'masked: masked_fill(scores_of_heads, hidden_tokens, -1e30)',
    'weights: softmax(dim=-1)',
    ...(weightDrop > 0 ? [`kept_weights: Dropout(${weightDrop})`] : []),
    `weight_matrices: reshape(batch*${heads}, seq, seq)`,
    'context: bmm(weight_matrices, value_proj_heads)',
    `context_heads: reshape(batch, ${heads}, seq, ${head})`,
    'context_turned: transpose(1, 2)',
    'context_joined: reshape(batch, seq, hidden_size)',
    'attention_dense: Linear(hidden_size)',
    ...drops('attention_dropout'),
    `attention_residual: add(${drop > 0 ? 'attention_dropout' : 'attention_dense'}, input)`,
    `attention_norm: ${norm}`,
    `intermediate_dense: Linear(${fields.size('intermediate_size')})`,
    `intermediate_act: ${activationCall(activationOf(fields, 'gelu'))}`,
    'output_dense: Linear(hidden_size)',
    ...drops('output_dropout'),
    `output_residual: add(${drop > 0 ? 'output_dropout' : 'output_dense'}, attention_norm)`,
    `output_norm: ${norm}`,
  ];
}

/** `disentangled_attention_bias`, added to the scores of contents. */
function relativeScores(
  { rows, c2p, p2c, isShared }: Relative,
  of: {
    readonly scale: number;
    readonly heads: number;
    readonly drop: number;
    readonly stacked: (name: string, batch: string, length: string) => readonly string[];
  },
): readonly string[] {
  if (!c2p && !p2c) return [];
  const source = of.drop > 0 ? 'relative_kept' : 'relative';
  const projected = (name: string, content: string): readonly string[] => [
    ...(isShared
      ? [
          `${name}_product: Linear(hidden_size, bias=False, weight=${content}_product) from ${source}`,
          `${name}: add(${name}_product, ${content}_bias)`,
        ]
      : projection(name, source)),
    ...of.stacked(name, '1', String(rows)),
    `${name}_repeated: repeat(${name}_heads, batch, 1, 1)`,
    `${name}_columns: transpose(1, 2)`,
  ];
  const places = `batch*${of.heads}, seq, seq`;
  return [
    ...(of.drop > 0 ? [`relative_kept: Dropout(${of.drop}) from relative`] : []),
    ...(c2p
      ? [
          ...projected('pos_key_proj', 'key_proj'),
          'c2p_all: bmm(query_proj_heads, pos_key_proj_columns)',
          `c2p_near: clamp(distances, 0, ${rows - 1})`,
          `c2p_places: expand(c2p_near, ${places})`,
          'c2p_scores: gather(c2p_all, c2p_places, -1)',
          `c2p: div(${of.scale})`,
        ]
      : []),
    ...(p2c
      ? [
          ...projected('pos_query_proj', 'query_proj'),
          'p2c_all: bmm(key_proj_heads, pos_query_proj_columns)',
          `p2c_near: clamp(distances, 0, ${rows - 1})`,
          `p2c_places: expand(p2c_near, ${places})`,
          'p2c_scores: gather(p2c_all, p2c_places, -1)',
          'p2c_turned: transpose(1, 2)',
          `p2c: div(${of.scale})`,
        ]
      : []),
    ...(c2p && p2c ? ['relative_scores: add(c2p, p2c)'] : []),
    `all_scores: add(scores, ${c2p && p2c ? 'relative_scores' : c2p ? 'c2p' : 'p2c'})`,
  ];
}

/** A convolution over the embeddings, whose result is added to that of the first block (`ConvLayer`). */
function convolutionLines(
  fields: ConfigFields,
  kernel: number,
  source: string,
  norm: string,
  drop: number,
): readonly string[] {
  const groups = fields.number('conv_groups', 1);
  const activation = knownActivation(fields, fields.text('conv_act', 'tanh'));
  return [
    `conv_turned: transpose(${source}, 1, 2)`,
    `conv: Conv1d(hidden_size, kernel_size=${kernel}, padding=${Math.floor((kernel - 1) / 2)}, groups=${groups})`,
    'conv_back: transpose(1, 2)',
    ...(drop > 0 ? [`conv_dropout: Dropout(${drop})`] : []),
    `conv_act: ${activationCall(activation)}`,
    'conv_sum: add(first, conv_act)',
    `conv_norm: ${norm}`,
  ];
}

/** By the end of the class's name. */
export function debertaHead(
  fields: ConfigFields,
  encoder: string,
  width: number,
  drop: number,
): readonly string[] {
  const architecture = fields.architecture ?? '';
  const dropped = (share: number, line: string): readonly string[] =>
    share > 0 ? [`${line}: Dropout(${share})`] : [];
  if (/ForMaskedLM$/.test(architecture)) {
    if (!fields.flag('legacy', true))
      fields.problems.push('`legacy` is false, whose head of language is not known');
    const tied = fields.flag('tie_word_embeddings', true) ? ', weight=word_embeddings' : '';
    return [
      ...unreadBias(fields),
      `transform: Linear(${width}) from ${encoder}`,
      `transform_act: ${activationCall(activationOf(fields, 'gelu'))}`,
      `transform_norm: ${layerNorm(fields.number('layer_norm_eps', 1e-7))(String(width))}`,
      `decoder: Linear(vocab_size${tied})`,
    ];
  }
  if (/ForSequenceClassification$/.test(architecture)) {
    const pooled = fields.optionalSize('pooler_hidden_size') ?? fields.size('hidden_size');
    const share = fields.has('cls_dropout') ? fields.number('cls_dropout', 0) : drop;
    return [
      `first_token: select(${encoder}, 1, 0)`,
      ...dropped(fields.number('pooler_dropout', 0), 'pooler_dropout'),
      `pooler: Linear(${pooled})`,
      `pooler_act: ${activationCall(knownActivation(fields, fields.text('pooler_hidden_act', 'gelu')))}`,
      ...dropped(share, 'head_dropout'),
      `classifier: Linear(${labelsOf(fields)})`,
    ];
  }
  if (/ForTokenClassification$/.test(architecture)) {
    return drop > 0
      ? [`head_dropout: Dropout(${drop}) from ${encoder}`, `classifier: Linear(${labelsOf(fields)})`]
      : [`classifier: Linear(${labelsOf(fields)}) from ${encoder}`];
  }
  if (/ForQuestionAnswering$/.test(architecture))
    return [`qa_outputs: Linear(${labelsOf(fields)}) from ${encoder}`];
  return [];
}
