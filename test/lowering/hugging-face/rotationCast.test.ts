/** What classes of transformers 5.18 cast to fp32 before they rotate heads (`apply_rotary_pos_emb` in `modeling_*.py`). */

import { expect, test } from 'vitest';
import { specOfConfig } from '../../../server/src/lowering/hugging-face/specOfConfig.ts';

test.each([
  ['llama', 'LlamaForCausalLM', undefined],
  ['helium', 'HeliumForCausalLM', undefined],
  ['cohere', 'CohereForCausalLM', 'input'],
  ['cohere2', 'Cohere2ForCausalLM', 'input'],
  ['ernie4_5', 'Ernie4_5ForCausalLM', 'operands'],
  ['modernbert', 'ModernBertForMaskedLM', 'operands'],
  ['modernbert-decoder', 'ModernBertDecoderForCausalLM', 'operands'],
  ['esm', 'EsmForMaskedLM', 'operands'],
])('%s', (type, architecture, cast) => {
  const config = { model_type: type, architectures: [architecture], position_embedding_type: 'rotary' };
  const { text = '' } = specOfConfig(JSON.stringify({ ...config, vocab_size: 1000 }), 'config.json');
  const calls = [...text.matchAll(/RotaryPositionalEmbeddings\((.*)\)/g)].map(([, option]) => option);
  expect(new Set(calls)).toEqual(new Set([cast === undefined ? '' : `cast='${cast}'`]));
});
