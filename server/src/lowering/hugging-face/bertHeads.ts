/** Heads of BERT and of the encoders that inherit from it. */

import { activationCall, activationOf } from './activations.ts';
import type { ConfigFields } from './configFields.ts';
import { dropoutLines } from './dropoutLines.ts';
import { firstToken, headDropout, headOf, pooler, unreadBias, vocabularyHead } from './encoderHeads.ts';
import { layerNorm } from './normalizations.ts';

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
export const passageHead = (fields: ConfigFields): readonly string[] => {
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
export const rembertHead = (fields: ConfigFields): readonly string[] => {
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

export const robertaHead = (fields: ConfigFields): readonly string[] => {
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
export const electraHead = (fields: ConfigFields): readonly string[] => {
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
