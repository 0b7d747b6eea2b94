/**
 * The first DeBERTa (arXiv 2006.03654; modeling_deberta.py of transformers 5.18): queries, keys and values come from one product, and
 * normalizations are written out.
 */

import { activationBlocks, activationCall, activationOf } from './activations.ts';
import type { ConfigFields } from './configFields.ts';
import { debertaHead } from './deberta.ts';
import { dropoutLines } from './dropoutLines.ts';
import { outputsOf } from './encoderHeads.ts';
import type { SpecParts } from './specText.ts';
import { textDims } from './textDims.ts';

export function deberta(fields: ConfigFields, name: string, length?: number): SpecParts {
  const longest = fields.size('max_position_embeddings');
  const seq = Math.min(longest, 512);
  const hidden = fields.size('hidden_size');
  const drop = fields.number('hidden_dropout_prob', 0);
  const segments = fields.optionalSize('type_vocab_size');
  const placed = fields.flag('position_biased_input', true);
  const relative = relativeOf(fields, longest, length ?? seq);
  const block = blockLines(fields, hidden, relative);
  const given = relative === undefined ? '' : ', rel_embeddings, distances';
  const start = drop > 0 ? 'embeddings_dropout' : 'embeddings_shown';
  const layers = [
    ...(relative === undefined ? [] : [`rel_embeddings: Parameter(${2 * relative.longest}, hidden_size)`]),
    'word_embeddings: Embedding(vocab_size, hidden_size) from tokens',
    ...(placed
      ? [
          `position_embeddings: Embedding(${longest}, hidden_size) from positions`,
          'placed: add(word_embeddings, position_embeddings)',
        ]
      : []),
    ...(segments === undefined
      ? []
      : [
          `token_type_embeddings: Embedding(${segments}, hidden_size) from segments`,
          `embedded: add(${placed ? 'placed' : 'word_embeddings'}, token_type_embeddings)`,
        ]),
    'embeddings_norm: written_norm()',
    'embeddings_shown: mul(embeddings_norm, shown)',
    ...dropoutLines('embeddings_dropout', drop),
    `encoder: encoder_layer() * ${fields.size('num_hidden_layers')} from ${start}, seen${given}`,
    ...debertaHead(fields, 'encoder', hidden, drop),
  ];
  return {
    name,
    comments: [],
    dims: textDims(fields, seq),
    inputs: {
      tokens: 'int64[batch, seq]',
      ...(placed ? { positions: 'int64[1, seq]' } : {}),
      ...(segments === undefined ? {} : { segments: 'int64[batch, seq]' }),
      ...(relative === undefined ? {} : { distances: 'int64[1, 1, seq, seq]' }),
      shown: 'float32[batch, seq, 1]',
      seen: 'bool[batch, 1, seq, seq]',
    },
    blocks: {
      ...activationBlocks(block),
      written_norm: normLines(fields.number('layer_norm_eps', 1e-7)),
      [`encoder_layer from input, seen${given}`]: block,
    },
    layers,
    ...outputsOf(layers),
  };
}

interface Relative {
  /** Distances that have a vector, on each side. */
  readonly longest: number;
  /** Those that a sequence reads: a number or a dim. */
  readonly span: string;
  /** Contents are asked for positions, and positions for contents. */
  readonly c2p: boolean;
  readonly p2c: boolean;
}

const typesOf = (fields: ConfigFields): readonly string[] =>
  (fields.list('pos_att_type') ?? fields.text('pos_att_type', '').toLowerCase().split('|'))
    .map((type) => String(type).trim())
    .filter((type) => type !== '');

function relativeOf(fields: ConfigFields, positions: number, seq: number): Relative | undefined {
  if (!fields.flag('relative_attention')) return undefined;
  const limit = fields.number('max_relative_positions', -1);
  const longest = limit < 1 ? positions : limit;
  const types = typesOf(fields);
  return {
    longest,
    span: seq <= longest ? 'seq' : String(longest),
    c2p: types.includes('c2p'),
    p2c: types.includes('p2c'),
  };
}

/** `DebertaLayerNorm`: in fp32, without a kernel of its own. */
const normLines = (eps: number): readonly string[] => [
  'average: mean(input, dim=-1, keepdim=True)',
  'centred: sub(input, average)',
  'squares: pow(2)',
  'variance: mean(dim=-1, keepdim=True)',
  'apart: sub(input, average)',
  `bounded: add(variance, ${eps})`,
  'deviation: sqrt()',
  'normal: div(apart, deviation)',
  'weight: Parameter(hidden_size)',
  'weighed: mul(weight, normal)',
  'bias: Parameter(hidden_size)',
  'output: add(weighed, bias)',
];

function blockLines(fields: ConfigFields, hidden: number, relative: Relative | undefined): readonly string[] {
  const heads = fields.size('num_attention_heads');
  const head = Math.floor(hidden / heads);
  if (head * heads !== hidden) fields.problems.push('`num_attention_heads` must divide `hidden_size`');
  const drop = fields.number('hidden_dropout_prob', 0);
  const weightDrop = fields.number('attention_probs_dropout_prob', 0);
  const scale = Math.sqrt(head * (1 + typesOf(fields).length));
  const mixed = fields.flag('talking_head');
  /** A product over heads, which stand second. */
  const mixing = (line: string, source: string): readonly string[] =>
    mixed
      ? [
          `${line}_last: permute(${source}, 0, 2, 3, 1)`,
          `${line}_proj: Linear(${heads}, bias=False)`,
          `${line}: permute(0, 3, 1, 2)`,
        ]
      : [];
  const relatives = relative === undefined ? [] : relativeLines(relative, heads, head, scale, drop);
  const summed = relatives.length === 0 ? 'scores' : 'all_scores';
  const kept = weightDrop > 0 ? 'kept_weights' : 'weights';
  return [
    `in_proj: Linear(${3 * hidden}, bias=False) from input`,
    `split_heads: reshape(batch, seq, ${heads}, ${3 * head})`,
    'heads_first: permute(0, 2, 1, 3)',
    'query_part, key, value_part: chunk(3, dim=-1)',
    `q_bias: Parameter(1, ${heads}, 1, ${head})`,
    'query_biased: add(query_part, q_bias)',
    `v_bias: Parameter(1, ${heads}, 1, ${head})`,
    'value: add(value_part, v_bias)',
    `query: div(query_biased, ${scale})`,
    'key_columns: transpose(key, 2, 3)',
    'scores: matmul(query, key_columns)',
    ...relatives,
    ...mixing('head_logits', summed),
    'hidden_tokens: Not(seen)',
    `masked: masked_fill(${mixed ? 'head_logits' : summed}, hidden_tokens, -1e30)`,
    'weights: softmax(dim=-1)',
    ...dropoutLines('kept_weights', weightDrop),
    ...mixing('head_weights', kept),
    `context: matmul(${mixed ? 'head_weights' : kept}, value)`,
    'context_turned: permute(0, 2, 1, 3)',
    'context_joined: reshape(batch, seq, hidden_size)',
    'attention_dense: Linear(hidden_size)',
    ...dropoutLines('attention_dropout', drop),
    `attention_residual: add(${drop > 0 ? 'attention_dropout' : 'attention_dense'}, input)`,
    'attention_norm: written_norm()',
    `intermediate_dense: Linear(${fields.size('intermediate_size')})`,
    `intermediate_act: ${activationCall(activationOf(fields, 'gelu'))}`,
    'output_dense: Linear(hidden_size)',
    ...dropoutLines('output_dropout', drop),
    `output_residual: add(${drop > 0 ? 'output_dropout' : 'output_dense'}, attention_norm)`,
    'output_norm: written_norm()',
  ];
}

/** `disentangled_att_bias`, added to the scores of contents. */
function relativeLines(
  { longest, span, c2p, p2c }: Relative,
  heads: number,
  head: number,
  scale: number,
  drop: number,
): readonly string[] {
  if (!c2p && !p2c) return [];
  const source = drop > 0 ? 'relative_kept' : 'rel_embeddings';
  const asHeads = (name: string): readonly string[] => [
    `${name}_split: reshape(1, 2*${span}, ${heads}, ${head})`,
    `${name}_heads: permute(0, 2, 1, 3)`,
  ];
  return [
    ...dropoutLines('relative_kept', drop).map((line) => `${line} from rel_embeddings`),
    `relative_rows: slice(${source}, 0, ${longest} - ${span}, ${longest} + ${span})`,
    'relative: unsqueeze(0)',
    ...(c2p
      ? [
          'pos_proj: Linear(hidden_size, bias=False) from relative',
          ...asHeads('pos_key'),
          'pos_key_columns: transpose(2, 3)',
          'c2p_all: matmul(query, pos_key_columns)',
          `c2p_near: clamp(distances, 0, 2*${span} - 1)`,
          `c2p_places: expand(batch, ${heads}, seq, seq)`,
          'c2p_scores: gather(c2p_all, c2p_places, -1)',
          'c2p: add(0)',
        ]
      : []),
    ...(p2c
      ? [
          'pos_q_proj: Linear(hidden_size) from relative',
          ...asHeads('pos_query'),
          `pos_query_scaled: div(${scale})`,
          'pos_query_columns: transpose(2, 3)',
          'p2c_all: matmul(key, pos_query_columns)',
          `p2c_near: clamp(distances, 0, 2*${span} - 1)`,
          `p2c_places: expand(batch, ${heads}, seq, seq)`,
          'p2c_scores: gather(p2c_all, p2c_places, -1)',
          'p2c: transpose(2, 3)',
        ]
      : []),
    ...(c2p && p2c ? ['relative_scores: add(c2p, p2c)'] : []),
    `all_scores: add(scores, ${c2p && p2c ? 'relative_scores' : c2p ? 'c2p' : 'p2c'})`,
  ];
}
