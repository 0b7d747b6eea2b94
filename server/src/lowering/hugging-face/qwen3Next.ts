/**
 * Decoders whose layers are Gated DeltaNet with attention between them: Qwen3-Next, Qwen3.5 and OLMo Hybrid (transformers 5.18,
 * modeling_qwen3_next.py, modeling_qwen3_5.py, modeling_qwen3_5_moe.py, modeling_olmo_hybrid.py).
 */

import { activationOf } from './activations.ts';
import type { ConfigFields } from './configFields.ts';
import type { Decoder } from './decoder.ts';
import { mixture, sparseBySteps } from './experts.ts';
import type { FeedForward } from './feedForwardLines.ts';
import { type GatedDelta, gatedDeltaOf } from './gatedDeltaLines.ts';
import { kimiLinear } from './kimiLinear.ts';
import { type DecoderType, gated, groupedAttention, llamaLike, runsOf } from './llamaLike.ts';
import { headNorm, wholeNorm } from './normalizations.ts';

/** Which layers attend: those that `layer_types` names, else every so many. */
function attends(fields: ConfigFields, period: number): (layer: number) => boolean {
  const types = fields.list('layer_types');
  const unknown = types?.find((type) => type !== 'linear_attention' && type !== 'full_attention');
  if (unknown !== undefined)
    fields.problems.push(`\`layer_types\` has ${JSON.stringify(unknown)?.slice(0, 40)}, which is not known`);
  return (layer) => (types === undefined ? (layer + 1) % period === 0 : types[layer] === 'full_attention');
}

function qwen3Next(
  fields: ConfigFields,
  projections: GatedDelta['projections'],
  feedForward: (layer: number) => FeedForward,
): Decoder {
  const isFull = attends(fields, fields.number('full_attention_interval', 4));
  const mixer = gatedDeltaOf(fields, activationOf(fields), { projections });
  const attention = groupedAttention(fields, { gate: 'of-query', queryNorm: headNorm(fields) });
  const decoder = llamaLike(fields, { feedForward });
  return {
    ...decoder,
    runs: runsOf(fields.size('num_hidden_layers'), (layer) => ({
      attention: isFull(layer) ? attention : mixer,
      feedForward: feedForward(layer),
    })),
  };
}

const sharedExperts = (fields: ConfigFields) =>
  mixture(fields, {
    experts: fields.size('num_experts'),
    hidden: fields.size('moe_intermediate_size'),
    shared: { hidden: fields.size('shared_expert_intermediate_size'), gate: true },
  });

export const linearAttentionTypes: Readonly<Record<string, DecoderType>> = {
  kimi_linear: kimiLinear,
  qwen3_next: (fields) => qwen3Next(fields, 'by-head', sparseBySteps(fields, sharedExperts(fields))),
  qwen3_5_text: (fields) => {
    const plainLayer = gated(fields);
    return qwen3Next(fields, 'joined', () => plainLayer);
  },
  qwen3_5_moe_text: (fields) => {
    const experts = sharedExperts(fields);
    return qwen3Next(fields, 'joined', () => experts);
  },
  olmo_hybrid: (fields) => {
    const isFull = attends(fields, 4);
    const heads = fields.size('num_attention_heads');
    const keyHeads = fields.optionalSize('linear_num_key_heads') ?? heads;
    const keySize =
      fields.optionalSize('linear_key_head_dim') ??
      Math.floor((0.75 * fields.size('hidden_size')) / keyHeads);
    const mixer = gatedDeltaOf(fields, activationOf(fields), {
      projections: 'apart',
      keyHeads,
      valueHeads: fields.optionalSize('linear_num_value_heads') ?? heads,
      keySize,
      valueSize: fields.optionalSize('linear_value_head_dim') ?? 2 * keySize,
      doubled: fields.flag('linear_allow_neg_eigval', true),
      eps: 1e-5,
    });
    const attention = groupedAttention(fields, {
      queryNorm: wholeNorm(fields),
      // Positions are not rotated where a config says so by no base.
      ...(fields.inner('rope_parameters', fields.type)?.has('rope_theta') === false ? { rotated: 0 } : {}),
    });
    const feedForward = gated(fields, undefined, false);
    const layers = fields.size('num_hidden_layers');
    return {
      ...llamaLike(fields),
      runs: runsOf(layers, (layer) =>
        isFull(layer)
          ? { attention, feedForward, order: 'post' }
          : { attention: mixer, feedForward, order: 'pre' },
      ),
    };
  },
};
