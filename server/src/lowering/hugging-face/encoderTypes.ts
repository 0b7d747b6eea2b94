/** Encoders after BERT (transformers 5.18, modeling_bert.py and what inherits from it), as lines of a layer spec. */

import { activationBlocks, activationCall, activationOf } from './activations.ts';
import { type Attention, attentionLines } from './attentionLines.ts';
import { type ConfigFields, labelsOf } from './configFields.ts';
import { dropoutLines } from './dropoutLines.ts';
import { layerNorm } from './normalizations.ts';
import type { SpecParts } from './specText.ts';
import { textDims } from './textDims.ts';

export type EncoderType = (fields: ConfigFields, name: string) => SpecParts;

const bertNames = {
  q_proj: 'query',
  k_proj: 'key',
  v_proj: 'value',
  qkv_proj: 'query_key_value',
  o_proj: 'attention_dense',
};

export const selfAttention = (fields: ConfigFields, changes: Partial<Attention> = {}): Attention => {
  const heads = fields.size('num_attention_heads');
  return {
    heads,
    groups: heads,
    headSize: Math.floor(fields.size('hidden_size') / heads),
    bias: true,
    outputBias: true,
    rotated: 0,
    causal: fields.flag('is_decoder'),
    dropout: fields.number('attention_probs_dropout_prob', 0),
    names: bertNames,
    ...changes,
  };
};

/** Word, position and segment embeddings, post-norm blocks, and the head of the class that was saved. */
function bertLike(
  fields: ConfigFields,
  name: string,
  head: (fields: ConfigFields) => readonly string[],
  changes: {
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
  } = {},
): SpecParts {
  const norm = layerNorm(fields.number('layer_norm_eps', 1e-12));
  const hidden = fields.size('hidden_size');
  const width = changes.embedding ?? hidden;
  const share = fields.number('hidden_dropout_prob', 0);
  const longest = fields.size('max_position_embeddings');
  const segments = changes.segments ?? fields.optionalSize('type_vocab_size') !== undefined;
  const { tasks = 0, distances, boxes, names = bertNames } = changes;
  /** What every block reads beside the tokens. */
  const beside = distances === undefined ? (boxes === undefined ? undefined : 'mask') : 'distance_bias';
  const attended = share > 0 ? 'attention_dropout' : names.o_proj;
  const fed = share > 0 ? 'output_dropout' : 'output_dense';
  const attention = selfAttention(fields, {
    names,
    ...(changes.written === true ? { written: true } : {}),
    ...(distances === undefined ? {} : { written: true, scoreBias: 'distance_bias' }),
    // A mask by tokens, whatever it hides.
    ...(boxes === undefined ? {} : { written: true, mask: 'mask' }),
  });
  const { pre = false, embeddingNorm = true } = changes;
  const block = [
    ...(pre ? [`attention_norm: ${norm('hidden_size')}`] : []),
    ...attentionLines(attention, { source: pre ? 'attention_norm' : 'input', length: 'seq' }),
    ...dropoutLines('attention_dropout', share),
    `attention_residual: add(${attended}, input)`,
    `${pre ? 'intermediate' : 'attention'}_norm: ${norm('hidden_size')}`,
    `intermediate_dense: Linear(${fields.size('intermediate_size')})`,
    `intermediate_act: ${activationCall(activationOf(fields, 'gelu'))}`,
    'output_dense: Linear(hidden_size)',
    ...dropoutLines('output_dropout', share),
    `output_residual: add(${fed}, ${pre ? 'attention_residual' : 'attention_norm'})`,
    ...(pre ? [] : [`output_norm: ${norm('hidden_size')}`]),
  ];
  const size = width === hidden ? 'hidden_size' : String(width);
  const start = share > 0 ? 'embeddings_dropout' : 'embeddings_norm';
  const layers = [
    `word_embeddings: Embedding(vocab_size, ${size}) from tokens`,
    `position_embeddings: Embedding(${changes.positions ?? longest}, ${size}) from positions`,
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
    ...(embeddingNorm ? [`embeddings_norm: ${norm(size)}`] : []),
    ...dropoutLines('embeddings_dropout', share),
    ...(width === hidden ? [] : ['embeddings_project: Linear(hidden_size)']),
    ...(distances === undefined ? [] : distanceLines(distances, fields.size('num_attention_heads'))),
    `${pre ? 'encoder_layers' : 'encoder'}: encoder_layer() * ${fields.size('num_hidden_layers')}${beside === undefined ? '' : ` from ${start}, ${beside}`}`,
    ...(pre ? [`encoder: ${norm('hidden_size')}`] : []),
    ...head(fields),
  ];
  return {
    name,
    comments: [],
    dims: textDims(fields, Math.min(longest, 512)),
    inputs: {
      tokens: 'int64[batch, seq]',
      positions: 'int64[1, seq]',
      ...(boxes === undefined
        ? {}
        : {
            ...Object.fromEntries(sidesOfBox.map((side) => [`box_${side}`, 'int64[batch, seq]'])),
            mask: 'float32[batch, 1, 1, seq]',
          }),
      ...(segments ? { segments: 'int64[batch, seq]' } : {}),
      ...(tasks > 0 ? { tasks: 'int64[batch, seq]' } : {}),
      ...(distances === undefined ? {} : { distances: 'int64[seq, seq]' }),
    },
    blocks: {
      ...activationBlocks(block),
      [beside === undefined ? 'encoder_layer' : `encoder_layer from input, ${beside}`]: block,
    },
    layers,
    ...outputsOf(layers),
  };
}

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

/** What a pooler gives beside the last layer, where the line behind it reads something else. */
export function outputsOf(layers: readonly string[]): Pick<SpecParts, 'outputs'> {
  const nameOf = (line = ''): string => line.split(':')[0] ?? '';
  const unread = layers.filter(
    (line, index) =>
      /^(seq_relationship|pooler_act|qa_outputs|unread_bias):/.test(line) &&
      / from |\(encoder, |^unread_bias:/.test(layers[index + 1] ?? ''),
  );
  return unread.length === 0 ? {} : { outputs: [...unread.map(nameOf), nameOf(layers.at(-1))] };
}

/** A trained bias for each head and distance, which every layer adds (`compute_position_bias`). */
const distanceLines = (rows: number, heads: number): readonly string[] => [
  `relative_attention_bias: Embedding(${rows}, ${heads}) from distances`,
  'bias_of_heads: permute(2, 0, 1)',
  'bias_of_all: unsqueeze(0)',
  `distance_bias: expand(batch, ${heads}, seq, seq)`,
];

export const vocabularyHead = (fields: ConfigFields, bias = true): string =>
  `Linear(vocab_size${bias ? '' : ', bias=False'}${fields.flag('tie_word_embeddings', true) ? ', weight=word_embeddings' : ''})`;

/** A second bias of a head of words, which nothing reads where its weights are not those of the embeddings. */
export const unreadBias = (fields: ConfigFields): readonly string[] =>
  fields.flag('tie_word_embeddings', true) ? [] : ['unread_bias: Parameter(vocab_size)'];

export const firstToken = 'first_token: select(encoder, 1, 0)';

export const pooler = [firstToken, 'pooler: Linear(hidden_size)', 'pooler_act: Tanh()'];

/** Dropout of the heads that classify: `classifier_dropout`, else that of the blocks. */
export const headDropout = (fields: ConfigFields): number =>
  fields.has('classifier_dropout')
    ? fields.number('classifier_dropout', 0)
    : fields.number('hidden_dropout_prob', 0);

/** Heads by the end of a class's name; `shares` are those of dropout before the last layer of each that classifies. */
export function headOf(
  fields: ConfigFields,
  masked: readonly string[],
  pooled: readonly string[],
  shares = { sequence: headDropout(fields), token: headDropout(fields), answer: 0 },
): readonly string[] {
  const architecture = fields.architecture ?? '';
  /** A layer for every token, behind dropout. */
  const byToken = (share: number, call: string): readonly string[] =>
    share > 0 ? [`head_dropout: Dropout(${share}) from encoder`, call] : [`${call} from encoder`];
  if (/For(MaskedLM|CausalLM)$|LMHeadModel$/.test(architecture)) return masked;
  if (/ForPreTraining$/.test(architecture)) {
    return [...pooler, 'seq_relationship: Linear(2)', ...masked];
  }
  if (/ForSequenceClassification$/.test(architecture))
    return [
      ...pooled,
      ...dropoutLines('head_dropout', shares.sequence),
      `classifier: Linear(${labelsOf(fields)})`,
    ];
  if (/ForTokenClassification$/.test(architecture))
    return byToken(shares.token, `classifier: Linear(${labelsOf(fields)})`);
  if (/ForQuestionAnswering$/.test(architecture))
    return byToken(shares.answer, `qa_outputs: Linear(${labelsOf(fields)})`);
  return pooler;
}

/** Which model of a class has a pooler: `add_pooling_layer` of its constructor. */
export const bertHead = (fields: ConfigFields): readonly string[] => {
  const norm = layerNorm(fields.number('layer_norm_eps', 1e-12));
  const masked = [
    ...unreadBias(fields),
    'transform: Linear(hidden_size) from encoder',
    `transform_act: ${activationCall(activationOf(fields, 'gelu'))}`,
    `transform_norm: ${norm('hidden_size')}`,
    `decoder: ${vocabularyHead(fields)}`,
  ];
  return headOf(fields, masked, pooler);
};

/** A head beside a pooler that runs whether it is read or not (modeling_layoutlm.py, `LayoutLMModel`). */
export const pooledHead = (fields: ConfigFields): readonly string[] => {
  const head = bertHead(fields);
  return head.includes(firstToken) ? head : [...pooler, ...head];
};

/** The vector of a question or a passage, or where in it the answer stands (modeling_dpr.py). */
const passageHead = (fields: ConfigFields): readonly string[] => {
  const size = fields.optionalSize('projection_dim');
  if (fields.architecture?.endsWith('Reader') !== true)
    return [firstToken, ...(size === undefined ? [] : [`encode_proj: Linear(${size})`])];
  if (size !== undefined)
    fields.problems.push(
      '`projection_dim` is above 0, which the class of transformers cannot read answers with',
    );
  return ['qa_outputs: Linear(2) from encoder', firstToken, 'qa_classifier: Linear(1)'];
};

/** A head of words that is wider than the layers and has weights of its own (modeling_rembert.py). */
const rembertHead = (fields: ConfigFields): readonly string[] => {
  const width = fields.size('output_embedding_size');
  const masked = [
    `transform: Linear(${width}) from encoder`,
    `transform_act: ${activationCall(activationOf(fields, 'gelu'))}`,
    `transform_norm: ${layerNorm(fields.number('layer_norm_eps', 1e-12))(String(width))}`,
    'decoder: Linear(vocab_size)',
  ];
  const share = fields.number('classifier_dropout_prob', 0.1);
  return headOf(fields, masked, pooler, { sequence: share, token: share, answer: 0 });
};

const robertaHead = (fields: ConfigFields): readonly string[] => {
  const norm = layerNorm(fields.number('layer_norm_eps', 1e-5));
  const masked = [
    ...unreadBias(fields),
    'lm_head_dense: Linear(hidden_size) from encoder',
    'lm_head_act: GELU()',
    `lm_head_norm: ${norm('hidden_size')}`,
    `lm_head: ${vocabularyHead(fields)}`,
  ];
  return headOf(fields, masked, [
    firstToken,
    ...dropoutLines('first_dropout', headDropout(fields)),
    'classifier_dense: Linear(hidden_size)',
    'classifier_act: Tanh()',
  ]);
};

/** A generator of words, a discriminator of each, or the heads of classification (modeling_electra.py). */
const electraHead = (fields: ConfigFields): readonly string[] => {
  const width = fields.size('embedding_size');
  const architecture = fields.architecture ?? '';
  if (/For(MaskedLM|CausalLM)$/.test(architecture)) {
    return [
      `generator_dense: Linear(${width}) from encoder`,
      'generator_act: GELU()',
      `generator_norm: ${layerNorm(fields.number('layer_norm_eps', 1e-12))(String(width))}`,
      `generator_lm_head: ${vocabularyHead(fields)}`,
    ];
  }
  if (/ForPreTraining$/.test(architecture)) {
    return [
      'discriminator_dense: Linear(hidden_size) from encoder',
      `discriminator_act: ${activationCall(activationOf(fields, 'gelu'))}`,
      'discriminator: Linear(1)',
    ];
  }
  const pooled = [
    firstToken,
    ...dropoutLines('first_dropout', headDropout(fields)),
    'classifier_dense: Linear(hidden_size)',
    'classifier_act: GELU()',
  ];
  return /Model$/.test(architecture) || architecture === '' ? [] : headOf(fields, [], pooled);
};

/** Half of BERT's layers, without segments and poolers (modeling_distilbert.py). */
function distilbert(fields: ConfigFields, name: string): SpecParts {
  const norm = layerNorm(1e-12)('hidden_size');
  const longest = fields.size('max_position_embeddings');
  const drop = fields.number('dropout', 0);
  const block = [
    ...attentionLines(
      selfAttention(fields, {
        dropout: fields.number('attention_dropout', 0),
        names: { q_proj: 'q_lin', k_proj: 'k_lin', v_proj: 'v_lin', qkv_proj: 'qkv_lin', o_proj: 'out_lin' },
      }),
      { source: 'input', length: 'seq' },
    ),
    'attention_residual: add(out_lin, input)',
    `sa_layer_norm: ${norm}`,
    `lin1: Linear(${fields.size('hidden_dim')})`,
    `act: ${activationCall(activationOf(fields, 'gelu'))}`,
    'lin2: Linear(hidden_size)',
    ...dropoutLines('output_dropout', drop),
    `output_residual: add(${drop > 0 ? 'output_dropout' : 'lin2'}, sa_layer_norm)`,
    `output_layer_norm: ${norm}`,
  ];
  const act = activationCall(activationOf(fields, 'gelu'));
  const masked = [
    'vocab_transform: Linear(hidden_size) from encoder',
    `vocab_act: ${act}`,
    `vocab_layer_norm: ${norm}`,
    `vocab_projector: ${vocabularyHead(fields)}`,
  ];
  const architecture = fields.architecture ?? '';
  const pooled = [firstToken, 'pre_classifier: Linear(hidden_size)', 'pre_classifier_act: ReLU()'];
  const shares = {
    sequence: fields.number('seq_classif_dropout', 0),
    token: drop,
    answer: fields.number('qa_dropout', 0),
  };
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
      ...dropoutLines('embeddings_dropout', drop),
      `encoder: encoder_layer() * ${fields.size('num_hidden_layers')}`,
      ...(/Model$/.test(architecture) || architecture === '' ? [] : headOf(fields, masked, pooled, shares)),
    ],
  };
}

const roberta: EncoderType = (fields, name) => bertLike(fields, name, robertaHead);

export const encoderTypes: Readonly<Record<string, EncoderType>> = {
  bert: (fields, name) => bertLike(fields, name, bertHead),
  ernie: (fields, name) =>
    bertLike(fields, name, bertHead, {
      tasks: fields.flag('use_task_id') ? fields.size('task_type_vocab_size') : 0,
    }),
  electra: (fields, name) =>
    bertLike(fields, name, electraHead, { embedding: fields.size('embedding_size') }),
  mpnet: (fields, name) =>
    bertLike(fields, name, robertaHead, {
      segments: false,
      distances: fields.size('relative_attention_num_buckets'),
      names: { q_proj: 'q', k_proj: 'k', v_proj: 'v', qkv_proj: 'qkv', o_proj: 'o' },
    }),
  distilbert,
  rembert: (fields, name) =>
    bertLike(fields, name, rembertHead, { embedding: fields.size('input_embedding_size'), written: true }),
  'megatron-bert': (fields, name) =>
    bertLike(fields, name, bertHead, { pre: true, embeddingNorm: false, written: true }),
  'roberta-prelayernorm': (fields, name) => bertLike(fields, name, robertaHead, { pre: true }),
  'xlm-roberta-xl': (fields, name) =>
    bertLike(fields, name, robertaHead, { pre: true, embeddingNorm: false }),
  dpr: (fields, name) => bertLike(fields, name, passageHead),
  'data2vec-text': roberta,
  roberta,
  'xlm-roberta': roberta,
  camembert: roberta,
  layoutlm: (fields, name) =>
    bertLike(fields, name, pooledHead, { boxes: fields.size('max_2d_position_embeddings') }),
};
