/** LFM2 (transformers 5.18, modeling_lfm2.py, modeling_lfm2_moe.py): attention in the layers that a list names, a short convolution in the others. */

import type { ConfigFields } from './configFields.ts';
import type { Decoder } from './decoder.ts';
import { sparseByTypes } from './experts.ts';
import type { FeedForward } from './feedForwardLines.ts';
import { gated, groupedAttention, llamaLike, runsOf } from './llamaLike.ts';
import { rmsNorm } from './normalizations.ts';

export const lfm2 = (fields: ConfigFields): Decoder => {
  const given = fields.size('intermediate_size');
  const multiple = fields.size('block_multiple_of');
  const scaled = Math.floor(fields.number('block_ffn_dim_multiplier', 1) * Math.floor((2 * given) / 3));
  const adjusted = fields.has('block_ffn_dim_multiplier')
    ? multiple * Math.ceil(scaled / multiple)
    : Math.floor((2 * given) / 3);
  const hidden = fields.flag('block_auto_adjust_ff_dim', true) ? adjusted : given;
  const feedForward = gated(fields, hidden, false);
  return withConvolutions(fields, () => feedForward);
};

/** Experts behind the first layers. */
export const lfm2Moe = (fields: ConfigFields): Decoder =>
  withConvolutions(fields, sparseByTypes(fields, fields.number('num_dense_layers', 0), undefined));

function withConvolutions(fields: ConfigFields, feedForward: (layer: number) => FeedForward): Decoder {
  const types = fields.list('layer_types');
  const attending = fields.list('full_attn_idxs');
  const isFull = (layer: number): boolean =>
    types === undefined
      ? attending === undefined || attending.includes(layer)
      : types[layer] === 'full_attention';
  const norm = rmsNorm(fields.number('norm_eps', 1e-5));
  const attention = groupedAttention(fields, { dropout: 0, queryNorm: { over: 'head', call: norm } });
  const mixer = {
    mixer: 'short-convolution',
    kernel: fields.size('conv_L_cache'),
    bias: fields.flag('conv_bias'),
  } as const;
  return {
    ...llamaLike(fields),
    norm,
    runs: runsOf(fields.size('num_hidden_layers'), (layer) => ({
      attention: isFull(layer) ? attention : mixer,
      feedForward: feedForward(layer),
    })),
  };
}
