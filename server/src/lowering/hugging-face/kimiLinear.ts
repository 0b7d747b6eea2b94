/**
 * Kimi Linear (arXiv 2510.26692; transformers 5.18, modeling_kimi_linear.py): the gated delta rule with a decay for each element of
 * a key, and latent attention without positions in every fourth layer.
 */

import { activationOf } from './activations.ts';
import type { ConfigFields } from './configFields.ts';
import type { Decoder } from './decoder.ts';
import { mixture } from './experts.ts';
import type { KimiDelta } from './kimiDeltaLines.ts';
import { latentAttentionOf } from './latentAttentionLines.ts';
import { gated, llamaLike, runsOf } from './llamaLike.ts';

export function kimiLinear(fields: ConfigFields): Decoder {
  const own = fields.inner('linear_attn_config', fields.type);
  const mixer: KimiDelta = {
    mixer: 'kimi-delta',
    heads: own?.optionalSize('num_heads') ?? fields.size('linear_num_heads'),
    headSize: own?.optionalSize('head_dim') ?? fields.size('linear_head_dim'),
    kernel: own?.optionalSize('short_conv_kernel_size') ?? fields.size('linear_conv_kernel_dim'),
    activation: activationOf(fields),
    eps: fields.number('rms_norm_eps', 1e-5),
  };
  const types = fields.list('layer_types');
  const full = own?.list('full_attn_layers');
  const isFull = (layer: number): boolean => {
    if (types !== undefined) return types[layer] === 'full_attention';
    // Counted from one.
    if (full !== undefined && own?.has('kda_layers') === true) return full.includes(layer + 1);
    return layer > 0 && layer % 4 === 0;
  };
  const attention = { ...latentAttentionOf(fields), unplaced: true };
  const hidden = fields.size('moe_intermediate_size');
  const experts = mixture(fields, {
    experts: fields.size('num_local_experts'),
    hidden,
    shared: { hidden: hidden * fields.size('n_shared_experts'), gate: false },
  });
  const dense = gated(fields, undefined, false);
  const mlpTypes = fields.list('mlp_layer_types');
  const first = fields.number('first_k_dense_replace', 1);
  const feedForward = (layer: number) =>
    (mlpTypes === undefined ? layer >= first : mlpTypes[layer] === 'sparse') ? experts : dense;
  const decoder = llamaLike(fields, { feedForward });
  return {
    ...decoder,
    // Its class ties no weights, whatever the config says.
    head: decoder.head === 'tied' ? 'own' : decoder.head,
    runs: runsOf(fields.size('num_hidden_layers'), (layer) => ({
      attention: isFull(layer) ? attention : mixer,
      feedForward: feedForward(layer),
    })),
  };
}
