/** Parts of heads of encoders, and which head the class of a model has. */

import { type ConfigFields, labelsOf } from './configFields.ts';
import { dropoutLines } from './dropoutLines.ts';
import type { SpecParts } from './specText.ts';

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
