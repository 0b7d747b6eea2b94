/** The body of BERT and of what inherits from it: embeddings, blocks, and a head that is given. */

import { activationBlocks, activationCall, activationOf } from './activations.ts';
import { type Attention, attentionLines } from './attentionLines.ts';
import type { ConfigFields } from './configFields.ts';
import { dropoutLines } from './dropoutLines.ts';
import { bertNames, selfAttention } from './encoderAttention.ts';
import { outputsOf } from './encoderHeads.ts';
import { layerNorm } from './normalizations.ts';
import type { SpecParts } from './specText.ts';
import { textDims } from './textDims.ts';

/** What a model has that BERT has not. */
export interface BertChanges {
  readonly segments?: boolean;
  readonly positions?: number;
  readonly embedding?: number;
  readonly tasks?: number;
  /** Rows of a table of relative positions, added to scores that are written out (MPNet). */
  readonly distances?: number;
  readonly names?: NonNullable<Attention['names']>;
  /** Rows of tables for the places of a word on its page, added to its position (LayoutLM). */
  readonly boxes?: number;
  /** Blocks that normalize what they read, with one normalization behind the last. */
  readonly pre?: boolean;
  /** Whether embeddings are normalized; they are where it is left out. */
  readonly embeddingNorm?: boolean;
  /** Whether scores are always tensors of their own. */
  readonly written?: boolean;
}

/** Word, position and segment embeddings, post-norm blocks, and the head of the class that was saved. */
export function bertLike(
  fields: ConfigFields,
  name: string,
  head: (fields: ConfigFields) => readonly string[],
  changes: BertChanges = {},
): SpecParts {
  const block = blockLines(fields, changes);
  const read = readBeside(changes);
  const count = fields.size('num_hidden_layers');
  const start = fields.number('hidden_dropout_prob', 0) > 0 ? 'embeddings_dropout' : 'embeddings_norm';
  const from = read === undefined ? '' : ` from ${start}, ${read}`;
  const isPre = changes.pre === true;
  const layers = [
    ...embeddingLines(fields, changes),
    `${isPre ? 'encoder_layers' : 'encoder'}: encoder_layer() * ${count}${from}`,
    ...(isPre ? [`encoder: ${normOf(fields)('hidden_size')}`] : []),
    ...head(fields),
  ];
  return {
    name,
    comments: [],
    dims: textDims(fields, Math.min(fields.size('max_position_embeddings'), 512)),
    inputs: inputsOf(fields, changes),
    blocks: {
      ...activationBlocks(block),
      [read === undefined ? 'encoder_layer' : `encoder_layer from input, ${read}`]: block,
    },
    layers,
    ...outputsOf(layers),
  };
}

const normOf = (fields: ConfigFields) => layerNorm(fields.number('layer_norm_eps', 1e-12));

const hasSegments = (fields: ConfigFields, { segments }: BertChanges): boolean =>
  segments ?? fields.optionalSize('type_vocab_size') !== undefined;

/** What every block reads beside the tokens. */
function readBeside({ distances, boxes }: BertChanges): string | undefined {
  if (distances !== undefined) return 'distance_bias';
  return boxes === undefined ? undefined : 'mask';
}

function blockLines(fields: ConfigFields, changes: BertChanges): readonly string[] {
  const { names = bertNames, distances, boxes, pre = false } = changes;
  const norm = normOf(fields)('hidden_size');
  const share = fields.number('hidden_dropout_prob', 0);
  const attention = selfAttention(fields, {
    names,
    ...(changes.written === true ? { written: true } : {}),
    ...(distances === undefined ? {} : { written: true, scoreBias: 'distance_bias' }),
    // A mask by tokens, whatever it hides.
    ...(boxes === undefined ? {} : { written: true, mask: 'mask' }),
  });
  return [
    ...(pre ? [`attention_norm: ${norm}`] : []),
    ...attentionLines(attention, { source: pre ? 'attention_norm' : 'input', length: 'seq' }),
    ...dropoutLines('attention_dropout', share),
    `attention_residual: add(${share > 0 ? 'attention_dropout' : names.o_proj}, input)`,
    `${pre ? 'intermediate' : 'attention'}_norm: ${norm}`,
    `intermediate_dense: Linear(${fields.size('intermediate_size')})`,
    `intermediate_act: ${activationCall(activationOf(fields, 'gelu'))}`,
    'output_dense: Linear(hidden_size)',
    ...dropoutLines('output_dropout', share),
    `output_residual: add(${share > 0 ? 'output_dropout' : 'output_dense'}, ${pre ? 'attention_residual' : 'attention_norm'})`,
    ...(pre ? [] : [`output_norm: ${norm}`]),
  ];
}

function embeddingLines(fields: ConfigFields, changes: BertChanges): readonly string[] {
  const { tasks = 0, boxes, distances, embeddingNorm = true } = changes;
  const hidden = fields.size('hidden_size');
  const width = changes.embedding ?? hidden;
  const size = width === hidden ? 'hidden_size' : String(width);
  const positions = changes.positions ?? fields.size('max_position_embeddings');
  const segments = hasSegments(fields, changes);
  return [
    `word_embeddings: Embedding(vocab_size, ${size}) from tokens`,
    `position_embeddings: Embedding(${positions}, ${size}) from positions`,
    'placed: add(word_embeddings, position_embeddings)',
    ...(boxes === undefined ? [] : boxLines(boxes)),
    ...(segments
      ? [
          `token_type_embeddings: Embedding(${fields.size('type_vocab_size')}, ${size}) from segments`,
          `embedded: add(token_type_embeddings, ${boxes === undefined ? 'placed' : 'placed_w'})`,
        ]
      : []),
    ...(tasks > 0
      ? [
          `task_type_embeddings: Embedding(${tasks}, ${size}) from tasks`,
          `tasked: add(task_type_embeddings, ${segments ? 'embedded' : 'placed'})`,
        ]
      : []),
    ...(embeddingNorm ? [`embeddings_norm: ${normOf(fields)(size)}`] : []),
    ...dropoutLines('embeddings_dropout', fields.number('hidden_dropout_prob', 0)),
    ...(width === hidden ? [] : ['embeddings_project: Linear(hidden_size)']),
    ...(distances === undefined ? [] : distanceLines(distances, fields.size('num_attention_heads'))),
  ];
}

const inputsOf = (fields: ConfigFields, changes: BertChanges): SpecParts['inputs'] => ({
  tokens: 'int64[batch, seq]',
  positions: 'int64[1, seq]',
  ...(changes.boxes === undefined
    ? {}
    : {
        ...Object.fromEntries(sidesOfBox.map((side) => [`box_${side}`, 'int64[batch, seq]'])),
        mask: 'float32[batch, 1, 1, seq]',
      }),
  ...(hasSegments(fields, changes) ? { segments: 'int64[batch, seq]' } : {}),
  ...((changes.tasks ?? 0) > 0 ? { tasks: 'int64[batch, seq]' } : {}),
  ...(changes.distances === undefined ? {} : { distances: 'int64[seq, seq]' }),
});

/** Left, upper, right and lower side, height and width; opposite sides share a table (modeling_layoutlm.py). */
const sidesOfBox = ['left', 'upper', 'right', 'lower', 'h', 'w'];

function boxLines(rows: number): readonly string[] {
  const shared: Readonly<Record<string, string>> = { right: 'left', lower: 'upper' };
  return sidesOfBox.flatMap((side, index) => {
    const before = sidesOfBox[index - 1];
    const weight = shared[side] === undefined ? '' : `, weight=${shared[side]}_position_embeddings`;
    return [
      `${side}_position_embeddings: Embedding(${rows}, hidden_size${weight}) from box_${side}`,
      `placed_${side}: add(${before === undefined ? 'placed' : `placed_${before}`}, ${side}_position_embeddings)`,
    ];
  });
}

/** A trained bias for each head and distance, which every layer adds (`compute_position_bias`). */
const distanceLines = (rows: number, heads: number): readonly string[] => [
  `relative_attention_bias: Embedding(${rows}, ${heads}) from distances`,
  'bias_of_heads: permute(2, 0, 1)',
  'bias_of_all: unsqueeze(0)',
  `distance_bias: expand(batch, ${heads}, seq, seq)`,
];
