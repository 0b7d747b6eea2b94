/**
 * Encoders with decoders after BART, as lines of a layer spec: `modeling_bart.py` of transformers 5.18, and those of
 * mBART, Pegasus, Marian, Blenderbot and M2M100 (NLLB), which differ in where they normalize and in how they know positions.
 */

import { activationBlocks, activationCall, activationOf } from './activations.ts';
import { type Attention, attentionLines, evenHeads } from './attentionLines.ts';
import { type ConfigFields, labelsOf } from './configFields.ts';
import { bartNames } from './encoderAttention.ts';
import { needWhole, residualParts } from './encoderDecoder.ts';
import { layerNorm } from './normalizations.ts';
import type { SpecParts } from './specText.ts';

export interface BartKind {
  /** Whether blocks normalize what they read (`pre`) or the sum they give (`post`). */
  readonly order: 'pre' | 'post';
  /** A normalization behind the embeddings. */
  readonly embeddingNorm: boolean;
  /** Vectors of positions before the first; `frozen` ones are sine curves that nothing trains. */
  readonly positions: { readonly before: number; readonly frozen: boolean };
  /** Whether logits get a bias that nothing trains. */
  readonly logitsBias?: boolean;
  /** Whether scores and weights are tensors of their own, and later tokens are hidden by `causal_mask` (TrOCR). */
  readonly written?: boolean;
}

/** What a block calls the length of its own sequence, and of the one that it attends to. */
interface Lengths {
  readonly own: string;
  readonly memory: string;
}

export const bartTypes: Readonly<Record<string, (fields: ConfigFields, name: string) => SpecParts>> =
  Object.fromEntries(
    Object.entries({
      bart: { order: 'post', embeddingNorm: true, positions: { before: 2, frozen: false } },
      mbart: { order: 'pre', embeddingNorm: true, positions: { before: 2, frozen: false } },
      plbart: { order: 'post', embeddingNorm: true, positions: { before: 2, frozen: false } },
      pegasus: { order: 'pre', embeddingNorm: false, positions: { before: 0, frozen: true } },
      marian: { order: 'post', embeddingNorm: false, positions: { before: 0, frozen: true } },
      m2m_100: {
        order: 'pre',
        embeddingNorm: false,
        positions: { before: 2, frozen: true },
        logitsBias: false,
      },
      'blenderbot-small': {
        order: 'post',
        embeddingNorm: true,
        positions: { before: 0, frozen: false },
      },
      blenderbot: { order: 'pre', embeddingNorm: false, positions: { before: 0, frozen: false } },
    } satisfies Readonly<Record<string, BartKind>>).map(([type, kind]) => [
      type,
      (fields: ConfigFields, name: string) => bartLike(fields, name, kind),
    ]),
  );

function bartLike(fields: ConfigFields, name: string, kind: BartKind): SpecParts {
  needWhole(fields, /(ForConditionalGeneration|MTModel|(?<!MT)Model|ForSequenceClassification)$/);
  const norm = layerNorm(1e-5)('hidden_size');
  const encoder = blockOf(fields, kind, 'encoder');
  const decoder = blockOf(fields, kind, 'decoder');
  const longest = fields.size('max_position_embeddings');
  const tied = fields.flag('tie_word_embeddings', true);
  if (!fields.flag('share_encoder_decoder_embeddings', true))
    fields.problems.push(
      '`share_encoder_decoder_embeddings` is false, and tables of their own are not known here',
    );
  const layers = [
    // Nothing reads the table that others would share.
    ...(tied ? [] : ['unread_shared: Parameter(vocab_size, hidden_size)']),
    'shared: Embedding(vocab_size, hidden_size) from tokens',
    ...startLines(fields, kind, 'encoder', 'shared', 'positions'),
    `encoder: encoder_layer() * ${fields.size('encoder_layers')}`,
    ...(kind.order === 'pre' ? [`encoder_norm: ${norm}`] : []),
    `target_embeddings: Embedding(${tied ? 'vocab_size' : (fields.optionalSize('decoder_vocab_size') ?? 'vocab_size')}, hidden_size${tied ? ', weight=shared' : ''}) from target_tokens`,
    ...startLines(fields, kind, 'decoder', 'target_embeddings', 'target_positions'),
    `decoder: decoder_layer() * ${fields.size('decoder_layers')} from ${lastOfStart(fields, kind, 'decoder')}, ${kind.order === 'pre' ? 'encoder_norm' : 'encoder'}`,
    ...(kind.order === 'pre' ? [`decoder_norm: ${norm}`] : []),
    ...headLines(fields, kind),
  ];
  return {
    name,
    comments: [],
    dims: {
      batch: 8,
      seq: Math.min(longest, 512),
      target: 'seq',
      hidden_size: fields.size('d_model'),
      vocab_size: fields.size('vocab_size'),
    },
    inputs: {
      tokens: 'int64[batch, seq]',
      positions: 'int64[1, seq]',
      target_tokens: 'int64[batch, target]',
      target_positions: 'int64[1, target]',
    },
    blocks: {
      ...activationBlocks([...encoder, ...decoder]),
      encoder_layer: encoder,
      'decoder_layer from hidden, memory': decoder,
    },
    layers,
    ...(tied ? {} : { outputs: [layers.at(-1)?.split(':')[0] ?? 'decoder', 'unread_shared'] }),
  };
}

/** Logits, or scores of classes of the last token (`BartClassificationHead`), or nothing. */
function headLines(fields: ConfigFields, kind: BartKind): readonly string[] {
  const { architecture = '' } = fields;
  if (/(?<!MT)Model$/.test(architecture)) return [];
  if (architecture.endsWith('ForSequenceClassification')) {
    const share = fields.number('classifier_dropout', 0);
    const drop = (line: string): readonly string[] => (share > 0 ? [`${line}: Dropout(${share})`] : []);
    return [
      'last_token: select(1, -1)',
      ...drop('head_dropout'),
      'classification_dense: Linear(hidden_size)',
      'classification_act: Tanh()',
      ...drop('act_dropout'),
      `out_proj: Linear(${labelsOf(fields)})`,
    ];
  }
  return [
    `lm_head: Linear(vocab_size, bias=False${fields.flag('tie_word_embeddings', true) ? ', weight=shared' : ''})`,
    ...(kind.logitsBias === false
      ? []
      : [
          // A buffer, which nothing trains (`final_logits_bias`).
          'final_logits_bias: Parameter(1, vocab_size) frozen',
          'logits: add(lm_head, final_logits_bias)',
        ]),
  ];
}

/** Word and position embeddings up to the first block. */
export function startLines(
  fields: ConfigFields,
  { embeddingNorm, positions }: BartKind,
  part: 'encoder' | 'decoder',
  words: string,
  places: string,
): readonly string[] {
  const scaled = fields.flag('scale_embedding');
  const count = fields.size('max_position_embeddings') + positions.before;
  const drop = fields.number('dropout', 0);
  return [
    ...(scaled ? [`${part}_scaled: mul(${words}, ${Math.sqrt(fields.size('d_model'))})`] : []),
    `${part}_positions: Embedding(${count}, hidden_size)${positions.frozen ? ' frozen' : ''} from ${places}`,
    `${part}_embedded: add(${scaled ? `${part}_scaled` : words}, ${part}_positions)`,
    ...(embeddingNorm ? [`${part}_embedding_norm: ${layerNorm(1e-5)('hidden_size')}`] : []),
    ...(drop > 0 ? [`${part}_dropout: Dropout(${drop})`] : []),
  ];
}

export const lastOfStart = (fields: ConfigFields, { embeddingNorm }: BartKind, part: string): string =>
  fields.number('dropout', 0) > 0
    ? `${part}_dropout`
    : embeddingNorm
      ? `${part}_embedding_norm`
      : `${part}_embedded`;

/** Attention, in a decoder another over what the encoder gave, and two products; each with its sum and normalization. */
export function blockOf(
  fields: ConfigFields,
  { order, written = false }: BartKind,
  part: 'encoder' | 'decoder',
  lengths: Lengths = { own: part === 'encoder' ? 'seq' : 'target', memory: 'seq' },
): readonly string[] {
  const norm = layerNorm(1e-5)('hidden_size');
  const { part: behind } = residualParts(fields.number('dropout', 0));
  const length = lengths.own;
  const heads = fields.size(`${part}_attention_heads`);
  const attention = (causal: boolean): Attention => ({
    ...evenHeads(heads, fields.size('d_model')),
    causal: causal && !written,
    ...(written ? { written, scaledQuery: true, scale: 1, contiguous: true } : {}),
    ...(written && causal ? { mask: 'causal_mask' } : {}),
    dropout: fields.number('attention_dropout', 0),
    names: bartNames,
  });
  const lines: string[] = [];
  let stream = part === 'encoder' ? 'input' : 'hidden';
  /** One part of the block: the normalization before or behind it. */
  const add = (
    prefix: string,
    normName: string,
    last: string,
    of: (source: string) => readonly string[],
  ): void => {
    const sum = `${prefix}_residual`;
    if (order === 'pre') {
      lines.push(`${normName}: ${norm} from ${stream}`, ...behind(prefix, of(normName), last, stream));
      stream = sum;
    } else {
      lines.push(...behind(prefix, of(stream), last, stream), `${normName}: ${norm}`);
      stream = normName;
    }
  };
  add('self', 'self_attn_layer_norm', 'out_proj', (source) =>
    attentionLines(attention(part === 'decoder'), { source, length }),
  );
  if (part === 'decoder') {
    add('cross', 'encoder_attn_layer_norm', 'encoder_attn_out_proj', (source) =>
      attentionLines(attention(false), {
        source,
        memory: 'memory',
        length,
        memoryLength: lengths.memory,
        prefix: 'encoder_attn_',
      }),
    );
  }
  const activationDropout = fields.number('activation_dropout', 0);
  add('feed_forward', 'final_layer_norm', 'fc2', (source) => [
    `fc1: Linear(${fields.size(`${part}_ffn_dim`)}) from ${source}`,
    `act: ${activationCall(activationOf(fields, 'gelu'))}`,
    ...(activationDropout > 0 ? [`act_dropout: Dropout(${activationDropout})`] : []),
    'fc2: Linear(hidden_size)',
  ]);
  return lines;
}
