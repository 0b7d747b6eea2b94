/**
 * Decoders with a state per channel or head: Mamba and Falcon Mamba, Mamba-2, and those that have attention in some layers (Jamba,
 * Bamba, Granite 4, Nemotron-H) or beside it (Falcon-H1), as transformers 5.18 computes them.
 */

import { activationOf, knownActivation } from './activations.ts';
import type { Attention } from './attentionLines.ts';
import type { ConfigFields } from './configFields.ts';
import type { Decoder, Run } from './decoder.ts';
import { mixture } from './experts.ts';
import type { FeedForward } from './feedForwardLines.ts';
import {
  type DecoderType,
  gated,
  granitesScales,
  groupedAttention,
  headOf,
  llamaLike,
  longestOf,
  mostLayers,
  runsOf,
} from './llamaLike.ts';
import { bareRmsNorm, type Normalization, rmsNorm } from './normalizations.ts';
import type { SelectiveScan } from './selectiveScanLines.ts';
import type { StateSpace } from './stateSpaceLines.ts';

/** A model of blocks that have one part each. */
const ofSingleBlocks = (fields: ConfigFields, runs: readonly Run[]): Decoder => ({
  hidden: fields.size('hidden_size'),
  vocabulary: fields.size('vocab_size'),
  longest: longestOf(fields),
  norm: rmsNorm(fields.number('layer_norm_epsilon', 1e-5)),
  runs,
  order: 'single',
  finalNorm: true,
  head: headOf(fields),
});

const nothing: FeedForward = { kind: 'none' };

const mamba =
  (normOf: (fields: ConfigFields) => Normalization | undefined): DecoderType =>
  (fields) => {
    const hidden = fields.size('hidden_size');
    const norm = normOf(fields);
    const attention: SelectiveScan = {
      mixer: 'selective-scan',
      // A width that the file has of its own replaces the one of `expand` (`PreTrainedConfig.from_dict`).
      channels: fields.optionalSize('intermediate_size') ?? Math.floor(fields.number('expand', 2) * hidden),
      state: fields.size('state_size'),
      rank: rankOf(fields, 'time_step_rank', hidden),
      kernel: fields.size('conv_kernel'),
      bias: fields.flag('use_bias'),
      convolutionBias: fields.flag('use_conv_bias', true),
      activation: activationOf(fields),
      ...(norm === undefined ? {} : { norm }),
    };
    return ofSingleBlocks(fields, [
      { count: fields.size('num_hidden_layers'), attention, feedForward: nothing },
    ]);
  };

/** A size, or `auto`: a sixteenth of the width of tokens. */
const rankOf = (fields: ConfigFields, name: string, hidden: number): number =>
  fields.text(name, '') === 'auto' ? Math.ceil(hidden / 16) : fields.size(name);

const mamba2: DecoderType = (fields) => {
  const hidden = fields.size('hidden_size');
  const attention: StateSpace = {
    mixer: 'state-space',
    channels: Math.floor(fields.number('expand', 2) * hidden),
    heads: fields.size('num_heads'),
    headSize: fields.size('head_dim'),
    groups: fields.size('n_groups'),
    state: fields.size('state_size'),
    kernel: fields.size('conv_kernel'),
    chunk: fields.size('chunk_size'),
    bias: fields.flag('use_bias'),
    outputBias: fields.flag('use_bias'),
    convolutionBias: fields.flag('use_conv_bias', true),
    activation: activationOf(fields),
    eps: fields.number('layer_norm_epsilon', 1e-5),
    norm: 'all',
  };
  return ofSingleBlocks(fields, [
    { count: fields.size('num_hidden_layers'), attention, feedForward: nothing },
  ]);
};

/** By the names of Bamba, which those after it have. */
function stateSpaceOf(fields: ConfigFields, changes: Partial<StateSpace> = {}): StateSpace {
  const channels =
    changes.channels ?? Math.floor(fields.number('mamba_expand', 2) * fields.size('hidden_size'));
  const heads = fields.size('mamba_n_heads');
  const bias = fields.flag('mamba_proj_bias');
  return {
    mixer: 'state-space',
    channels,
    heads,
    headSize:
      fields.text('mamba_d_head', '') === 'auto' ? Math.floor(channels / heads) : fields.size('mamba_d_head'),
    groups: fields.size('mamba_n_groups'),
    state: fields.size('mamba_d_state'),
    kernel: fields.size('mamba_d_conv'),
    chunk: fields.size('mamba_chunk_size'),
    bias,
    outputBias: bias,
    convolutionBias: fields.flag('mamba_conv_bias', true),
    activation: activationOf(fields),
    eps: fields.number('rms_norm_eps', 1e-5),
    norm: 'all',
    ...changes,
  };
}

/** What a layer is called today, and what files from before call it (configuration_utils.py, `remap_legacy_layer_types`). */
const layerKinds: Readonly<Record<string, string>> = {
  mamba: 'linear_attention',
  linear_attention: 'linear_attention',
  attention: 'full_attention',
  full_attention: 'full_attention',
  moe: 'moe',
  mlp: 'mlp',
};

function kindOf(fields: ConfigFields, name: string, value: unknown): string {
  const kind = typeof value === 'string' && Object.hasOwn(layerKinds, value) ? layerKinds[value] : undefined;
  if (kind === undefined)
    fields.problems.push(`\`${name}\` has ${JSON.stringify(value)?.slice(0, 40)}, which is not known`);
  return kind ?? 'linear_attention';
}

/** Attention in the layers that `isFull` says, a state in the others. */
function hybrid(
  fields: ConfigFields,
  isFull: (layer: number) => boolean,
  attention: Attention,
  mixer: SelectiveScan | StateSpace,
  feedForward: (layer: number) => FeedForward,
): Decoder {
  return {
    ...llamaLike(fields, { feedForward }),
    runs: runsOf(fields.size('num_hidden_layers'), (layer) => ({
      attention: isFull(layer) ? attention : mixer,
      feedForward: feedForward(layer),
    })),
  };
}

const jamba: DecoderType = (fields) => {
  const hidden = fields.size('hidden_size');
  const bias = fields.flag('mamba_proj_bias');
  const mixer: SelectiveScan = {
    mixer: 'selective-scan',
    channels: fields.size('mamba_expand') * hidden,
    state: fields.size('mamba_d_state'),
    rank: rankOf(fields, 'mamba_dt_rank', hidden),
    kernel: fields.size('mamba_d_conv'),
    bias,
    convolutionBias: fields.flag('mamba_conv_bias', true),
    activation: activationOf(fields),
    norm: rmsNorm(fields.number('rms_norm_eps', 1e-6), fields),
  };
  const every =
    (period: number, offset: number) =>
    (layer: number): boolean =>
      layer % period === offset;
  const isFull = every(fields.size('attn_layer_period'), fields.number('attn_layer_offset', 0));
  const isSparse = every(fields.size('expert_layer_period'), fields.number('expert_layer_offset', 0));
  const dense = gated(fields, undefined, false);
  const experts =
    fields.size('num_experts') > 1 ? mixture(fields, { experts: fields.size('num_experts') }) : dense;
  const attention = groupedAttention(fields, { bias: false, outputBias: false, rotated: 0 });
  return hybrid(fields, isFull, attention, mixer, (layer) => (isSparse(layer) ? experts : dense));
};

const bamba: DecoderType = (fields) => {
  const attending = new Set(fields.list('attn_layer_indices') ?? []);
  const feedForward = gated(fields);
  return hybrid(
    fields,
    (layer) => attending.has(layer),
    groupedAttention(fields),
    stateSpaceOf(fields),
    () => feedForward,
  );
};

/** Granite 4: experts beside one for all tokens, or that one alone. */
const graniteHybrid: DecoderType = (fields) => {
  const name = fields.has('layer_types') ? 'layer_types' : 'layers_block_type';
  const kinds = fields.list(name)?.map((value) => kindOf(fields, name, value));
  const shared = fields.size('shared_intermediate_size');
  const alone: FeedForward = {
    kind: 'gated',
    hidden: shared,
    activation: activationOf(fields),
    bias: false,
    packed: true,
  };
  const feedForward =
    fields.optionalSize('num_local_experts') === undefined
      ? alone
      : mixture(fields, { shared: { hidden: shared, gate: false, packed: true } });
  const rotates = fields.text('position_embedding_type', '') === 'rope';
  const decoder = hybrid(
    fields,
    (layer) => kinds?.[layer] === 'full_attention',
    groupedAttention(fields, rotates ? {} : { rotated: 0 }),
    stateSpaceOf(fields),
    () => feedForward,
  );
  return { ...decoder, ...granitesScales(fields) };
};

/** Blocks of one part each: a state, attention, experts or a plain part. */
const nemotronH: DecoderType = (fields) => {
  const mixer: StateSpace = {
    mixer: 'state-space',
    channels: fields.size('mamba_num_heads') * fields.size('mamba_head_dim'),
    heads: fields.size('mamba_num_heads'),
    headSize: fields.size('mamba_head_dim'),
    groups: fields.size('n_groups'),
    state: fields.size('ssm_state_size'),
    kernel: fields.size('conv_kernel'),
    chunk: fields.size('chunk_size'),
    bias: fields.flag('use_bias'),
    outputBias: fields.flag('use_bias'),
    convolutionBias: fields.flag('use_conv_bias', true),
    activation: knownActivation(fields, fields.text('mamba_hidden_act', 'silu')),
    eps: fields.number('layer_norm_epsilon', 1e-5),
    norm: 'group',
  };
  const attention = groupedAttention(fields, { rotated: 0 });
  const activation = knownActivation(fields, fields.text('mlp_hidden_act', 'relu2'));
  const bias = fields.flag('mlp_bias');
  const plain = (hidden: number): FeedForward => ({ kind: 'plain', hidden, activation, bias });
  const latent = fields.optionalSize('moe_latent_size');
  const experts = (): FeedForward =>
    mixture(fields, {
      experts: fields.size('n_routed_experts'),
      hidden: fields.size('moe_intermediate_size'),
      activation,
      gated: false,
      ...(latent === undefined ? {} : { latent: { size: latent, bias } }),
      shared: { hidden: fields.size('moe_shared_expert_intermediate_size'), gate: false, bias },
    });
  const kinds = kindsOfNemotronH(fields);
  return ofSingleBlocks(
    fields,
    runsOf(Math.min(kinds.length, mostLayers), (layer) => {
      switch (kinds[layer]) {
        case 'full_attention':
          return { attention, feedForward: nothing };
        case 'moe':
          return { attention: { mixer: 'none' }, feedForward: experts() };
        case 'mlp':
          return { attention: { mixer: 'none' }, feedForward: plain(fields.size('intermediate_size')) };
        default:
          return { attention: mixer, feedForward: nothing };
      }
    }),
  );
};

const patternKinds: Readonly<Record<string, string>> = {
  M: 'linear_attention',
  E: 'moe',
  '*': 'full_attention',
  '-': 'mlp',
};

/** What each block has: a list, else a letter each, else one of each kind. */
function kindsOfNemotronH(fields: ConfigFields): readonly string[] {
  for (const name of ['layers_block_type', 'layer_types']) {
    const list = fields.list(name);
    if (list !== undefined) return list.slice(0, mostLayers).map((value) => kindOf(fields, name, value));
  }
  const pattern = fields.text('hybrid_override_pattern', '');
  if (pattern === '') return ['linear_attention', 'moe', 'full_attention', 'mlp'];
  return [...pattern.slice(0, mostLayers)].map((letter) =>
    kindOf(
      fields,
      'hybrid_override_pattern',
      Object.hasOwn(patternKinds, letter) ? patternKinds[letter] : letter,
    ),
  );
}

const falconH1: DecoderType = (fields) => {
  const channels =
    fields.optionalSize('mamba_d_ssm') ??
    Math.floor(fields.number('mamba_expand', 2) * fields.size('hidden_size'));
  const stateSpace = stateSpaceOf(fields, {
    channels,
    outputBias: fields.flag('projectors_bias'),
    norm: !fields.flag('mamba_rms_norm')
      ? 'none'
      : fields.flag('mamba_norm_before_gate', true)
        ? 'group-before-gate'
        : 'group',
    scaled: { input: fields.number('ssm_in_multiplier', 1), parts: true },
  });
  const scale = (name: string): number => fields.number(name, 1);
  const [gate = 1, down = 1] = (fields.list('mlp_multipliers') ?? []).filter(
    (each) => typeof each === 'number',
  );
  const feedForward: FeedForward = {
    kind: 'gated',
    hidden: fields.size('intermediate_size'),
    activation: activationOf(fields),
    bias: fields.flag('mlp_bias'),
    scales: [gate, down],
  };
  return {
    ...llamaLike(fields, { feedForward: () => feedForward }),
    embeddingScale: true,
    logitScale: scale('lm_head_multiplier'),
    runs: [
      {
        count: fields.size('num_hidden_layers'),
        attention: {
          mixer: 'beside-attention',
          stateSpace,
          attention: groupedAttention(fields, { keyScale: scale('key_multiplier') }),
          scales: [
            scale('attention_in_multiplier'),
            scale('attention_out_multiplier'),
            scale('ssm_out_multiplier'),
          ],
        },
        feedForward,
      },
    ],
  };
};

export const mambaTypes: Readonly<Record<string, DecoderType>> = {
  mamba: mamba(() => undefined),
  falcon_mamba: mamba((fields) => bareRmsNorm(fields.number('mixer_rms_eps', 1e-6))),
  mamba2,
  jamba,
  bamba,
  granitemoehybrid: graniteHybrid,
  nemotron_h: nemotronH,
  falcon_h1: falconH1,
};
