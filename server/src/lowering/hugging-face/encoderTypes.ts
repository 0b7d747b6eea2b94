/** Encoders after BERT (transformers 5.18, modeling_bert.py and what inherits from it). */

import { bertHead, electraHead, passageHead, pooledHead, rembertHead, robertaHead } from './bertHeads.ts';
import { bertLike } from './bertLike.ts';
import type { ConfigFields } from './configFields.ts';
import { distilbert } from './distilbert.ts';
import type { SpecParts } from './specText.ts';

export type EncoderType = (fields: ConfigFields, name: string) => SpecParts;

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
