/** ModernBERT as a decoder (transformers 5.18, modeling_modernbert_decoder.py): gated products, windows in most layers. */

import { activationCall, knownActivation } from './activations.ts';
import type { ConfigFields } from './configFields.ts';
import type { Decoder, Run } from './decoder.ts';
import { gated, groupedAttention, llamaLike, runsOf } from './llamaLike.ts';
import { layerNorm } from './normalizations.ts';

export function modernBertDecoder(fields: ConfigFields): Decoder {
  const norm = layerNorm(fields.number('norm_eps', 1e-5), fields.flag('norm_bias') ? '' : ', bias=False');
  if (fields.architecture?.endsWith('ForSequenceClassification'))
    fields.problems.push('the head of `ModernBertDecoderForSequenceClassification` is not known');
  const dropout = fields.number('attention_dropout', 0);
  const attention = groupedAttention(fields, { outputDropout: dropout });
  const local = fields.optionalSize('local_attention');
  const window = local === undefined ? undefined : Math.floor(local / 2);
  const types = fields.list('layer_types');
  const period = fields.number('global_attn_every_n_layers', 3);
  const isNear = (layer: number): boolean =>
    types === undefined ? layer % period !== 0 : types[layer] === 'sliding_attention';
  const feedForward = {
    ...gated(fields),
    packed: true,
    dropout: fields.number('mlp_dropout', 0),
  } as Run['feedForward'];
  const decoder = llamaLike(fields, { feedForward: () => feedForward });
  const act = knownActivation(fields, fields.text('classifier_activation', 'gelu'));
  return {
    ...decoder,
    norm,
    embeddingNorm: true,
    dropout: 0,
    headBias: fields.flag('decoder_bias', true),
    beforeHead: [
      `head_dense: Linear(hidden_size${fields.flag('classifier_bias') ? '' : ', bias=False'})`,
      `head_act: ${activationCall(act)}`,
      `head_norm: ${norm('hidden_size')}`,
    ],
    runs: runsOf(fields.size('num_hidden_layers'), (layer) => ({
      attention: isNear(layer) && window !== undefined ? { ...attention, window } : attention,
      feedForward,
      // Embeddings are normalized already.
      ...(layer === 0 ? { readsInput: true } : {}),
    })),
  };
}
