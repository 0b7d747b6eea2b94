/**
 * ALBERT (arXiv 1909.11942; modeling_albert.py of transformers 5.18): BERT whose blocks share their weights. The weights stand
 * once, as tensors, and every block reads them: each call has its costs.
 */

import { activationBlocks, activationCall, activationOf } from './activations.ts';
import { kernelLines } from './attentionLines.ts';
import { type ConfigFields, labelsOf } from './configFields.ts';
import { selfAttention } from './encoderAttention.ts';
import { unreadBias } from './encoderHeads.ts';
import { layerNorm } from './normalizations.ts';
import type { SpecParts } from './specText.ts';
import { textDims } from './textDims.ts';

export function albert(fields: ConfigFields, name: string): SpecParts {
  const eps = fields.number('layer_norm_eps', 1e-12);
  const width = fields.size('embedding_size');
  const longest = fields.size('max_position_embeddings');
  const layers = fields.size('num_hidden_layers');
  const groups = fields.size('num_hidden_groups');
  const inner = fields.size('inner_group_num');
  if (layers % groups !== 0 || groups * inner > mostBlocks)
    fields.problems.push('`num_hidden_groups` must divide `num_hidden_layers`');
  const share = fields.number('hidden_dropout_prob', 0);
  const embedded = share > 0 ? [`embeddings_dropout: Dropout(${share})`] : [];
  const block = blockLines(fields, eps, share);
  const weights = weightsOf(fields.size('intermediate_size'));
  const names = weights.map(([weight]) => weight);
  const stack: string[] = [];
  let last = 'embedding_hidden_mapping_in';
  for (let group = 0; group < Math.min(groups, mostBlocks); group += 1) {
    const sets = Array.from(
      { length: Math.min(inner, mostBlocks) },
      (_, index) => `group_${group}_${index}_`,
    );
    const calls = sets.map((set) => names.map((weight) => set + weight).join(', '));
    for (const set of sets)
      stack.push(...weights.map(([weight, shape]) => `${set}${weight}: Parameter(${shape})`));
    // Blocks in a row that read the same weights are one repetition.
    const times = layers / groups;
    for (let index = 0; index < (inner === 1 ? 1 : Math.min(times, mostBlocks)); index += 1) {
      for (const [at, call] of calls.entries()) {
        const line = `layers_${group}_${index}_${at}`;
        stack.push(`${line}: albert_layer()${inner === 1 ? ` * ${times}` : ''} from ${last}, ${call}`);
        last = line;
      }
    }
  }
  const { architecture = '' } = fields;
  const unread = [
    ...(architecture.endsWith('ForPreTraining') ? ['sop_classifier'] : []),
    ...(/For(MaskedLM|PreTraining)$/.test(architecture) && unreadBias(fields).length > 0
      ? ['unread_bias']
      : []),
  ];
  return {
    name,
    comments: [],
    dims: textDims(fields, Math.min(longest, 512)),
    inputs: {
      tokens: 'int64[batch, seq]',
      positions: 'int64[1, seq]',
      segments: 'int64[batch, seq]',
    },
    blocks: {
      ...activationBlocks(block),
      [`albert_layer from input, ${names.join(', ')}`]: block,
    },
    layers: [
      `word_embeddings: Embedding(vocab_size, ${width}) from tokens`,
      `token_type_embeddings: Embedding(${fields.size('type_vocab_size')}, ${width}) from segments`,
      'typed: add(word_embeddings, token_type_embeddings)',
      `position_embeddings: Embedding(${longest}, ${width}) from positions`,
      'embedded: add(typed, position_embeddings)',
      `embeddings_norm: ${layerNorm(eps)(String(width))}`,
      ...embedded,
      'embedding_hidden_mapping_in: Linear(hidden_size)',
      ...stack,
      ...headLines(fields, width, last),
    ],
    ...(unread.length === 0 ? {} : { outputs: [...unread, 'decoder'] }),
  };
}

/** More blocks with weights of their own than any ALBERT has. */
const mostBlocks = 64;

/** What one block owns. */
const weightsOf = (intermediate: number): readonly (readonly [name: string, shape: string])[] => [
  ...['query', 'key', 'value', 'dense'].flatMap((part) => [
    [`${part}_weight`, 'hidden_size, hidden_size'] as const,
    [`${part}_bias`, 'hidden_size'] as const,
  ]),
  ['attention_norm_weight', 'hidden_size'],
  ['attention_norm_bias', 'hidden_size'],
  ['ffn_weight', `${intermediate}, hidden_size`],
  ['ffn_bias', String(intermediate)],
  ['ffn_output_weight', `hidden_size, ${intermediate}`],
  ['ffn_output_bias', 'hidden_size'],
  ['full_norm_weight', 'hidden_size'],
  ['full_norm_bias', 'hidden_size'],
];

/** The affine map of `Linear`, of weights that stand elsewhere. */
const linear = (name: string, source: string): readonly string[] => [
  `${name}_columns: transpose(${name}_weight, 0, 1)`,
  `${name}_product: matmul(${source}, ${name}_columns)`,
  `${name}: add(${name}_product, ${name}_bias)`,
];

const norm = (name: string, source: string, eps: number): string =>
  `${name}: LayerNormalization(axis=-1, epsilon=${eps}) from ${source}, ${name}_weight, ${name}_bias`;

function blockLines(fields: ConfigFields, eps: number, share: number): readonly string[] {
  const attention = selfAttention(fields);
  const heads = (part: string): readonly string[] => [
    `${part[0]}_split: reshape(${part}, batch, seq, ${attention.heads}, ${attention.headSize})`,
    `${part[0]}_heads: transpose(1, 2)`,
  ];
  return [
    ...['query', 'key', 'value'].flatMap((part) => [...linear(part, 'input'), ...heads(part)]),
    ...kernelLines(attention, '', { source: 'input', length: 'seq' }),
    ...linear('dense', 'merged'),
    ...(share > 0 ? [`attention_dropout: Dropout(${share})`] : []),
    `attention_residual: add(input, ${share > 0 ? 'attention_dropout' : 'dense'})`,
    norm('attention_norm', 'attention_residual', eps),
    ...linear('ffn', 'attention_norm'),
    `activation: ${activationCall(activationOf(fields, 'gelu_new'))}`,
    ...linear('ffn_output', 'activation'),
    'output_residual: add(ffn_output, attention_norm)',
    norm('full_norm', 'output_residual', eps),
  ];
}

/** By the end of the class's name. */
function headLines(fields: ConfigFields, width: number, last: string): readonly string[] {
  const { architecture = '' } = fields;
  const classifierShare = fields.number('classifier_dropout_prob', 0.1);
  const pooler = [`first_token: select(${last}, 1, 0)`, 'pooler: Linear(hidden_size)', 'pooler_act: Tanh()'];
  const drop = (source: string): readonly string[] =>
    classifierShare > 0 ? [`head_dropout: Dropout(${classifierShare}) from ${source}`] : [];
  const masked = [
    ...unreadBias(fields),
    `predictions_dense: Linear(${width}) from ${last}`,
    `predictions_act: ${activationCall(activationOf(fields, 'gelu_new'))}`,
    `predictions_norm: ${layerNorm(fields.number('layer_norm_eps', 1e-12))(String(width))}`,
    `decoder: Linear(vocab_size${fields.flag('tie_word_embeddings', true) ? ', weight=word_embeddings' : ''})`,
  ];
  const labels = labelsOf(fields);
  if (/ForMaskedLM$/.test(architecture)) return masked;
  if (/ForPreTraining$/.test(architecture))
    return [...pooler, ...drop('pooler_act'), `sop_classifier: Linear(${labels})`, ...masked];
  if (/ForSequenceClassification$/.test(architecture))
    return [...pooler, ...drop('pooler_act'), `classifier: Linear(${labels})`];
  if (/ForTokenClassification$/.test(architecture))
    return classifierShare > 0
      ? [...drop(last), `classifier: Linear(${labels})`]
      : [`classifier: Linear(${labels}) from ${last}`];
  if (/ForQuestionAnswering$/.test(architecture)) return [`qa_outputs: Linear(${labels}) from ${last}`];
  return pooler;
}
