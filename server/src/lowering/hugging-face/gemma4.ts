/**
 * Gemma 4 (modeling_gemma4.py of transformers 5.18): layers with a window and layers that see all, whose heads are wider; vectors of
 * every token for each layer; and last layers that read keys and values of earlier ones.
 */

import { activationBlocks, activationCall, activationOf } from './activations.ts';
import { type Attention, kernelLines } from './attentionLines.ts';
import type { ConfigFields } from './configFields.ts';
import { headLines, masksOf, softcapLines } from './decoder.ts';
import { feedForwardLines } from './feedForwardLines.ts';
import { gated, headOf, softcapOf } from './llamaLike.ts';
import { bareRmsNorm, type Normalization, rmsNorm } from './normalizations.ts';
import type { SpecParts } from './specText.ts';
import { textDims } from './textDims.ts';

/** How one layer differs from others. */
interface Layer {
  readonly attention: Attention;
  /** Whether values are the keys before their normalization. */
  readonly valuesAreKeys: boolean;
  /** Where keys and values come from: the layer itself, which later ones may read, or an earlier one. */
  readonly keys: 'own' | 'stored' | 'shared';
  readonly hidden: number;
}

export function gemma4(fields: ConfigFields, name: string, length?: number): SpecParts {
  refuseUnknown(fields);
  const seq = length ?? Math.min(fields.size('max_position_embeddings'), 2048);
  const norm = rmsNorm(fields.number('rms_norm_eps', 1e-6), fields);
  const layers = layersOf(fields);
  const width = fields.optionalSize('hidden_size_per_layer_input');
  const blocks: Record<string, readonly string[]> = {};
  const masks = new Map<string, readonly string[]>();
  const stack: string[] = [];
  let before = 'scaled';
  for (const [index, layer] of layers.entries()) {
    const [mask] = masksOf(layer.attention, seq);
    if (mask !== undefined) masks.set(mask.name, mask.lines);
    const attention = mask === undefined ? layer.attention : { ...layer.attention, mask: mask.name };
    const kind = layer.attention.window === undefined ? 'full' : 'sliding';
    const own = `layers_${index + 1}`;
    const stored = layer.keys === 'stored';
    if (stored) {
      blocks[`${kind}_keys`] ??= keyLines(layer, norm, 'input');
      blocks[`${kind}_values`] ??= valueLines(fields, layer, 'input');
      stack.push(
        `${own}_normalized: ${norm('hidden_size')} from ${before}`,
        `${kind}_k: ${kind}_keys() from ${own}_normalized`,
        `${kind}_v: ${kind}_values() from ${own}_normalized`,
      );
    }
    const inputs = [
      ...(stored ? [['normalized', `${own}_normalized`]] : []),
      ...(layer.keys === 'own'
        ? []
        : [
            ['k_heads', `${kind}_k`],
            ['v_heads', `${kind}_v`],
          ]),
      ...(width === undefined ? [] : [['per_layer', `per_layer_${index + 1}`]]),
      ...(mask === undefined ? [] : [[mask.name, mask.name]]),
    ];
    const block = `${kind}_layer${layer.keys === 'own' ? '' : `_${layer.keys}`}`;
    const given = inputs.map(([inner]) => `, ${inner}`).join('');
    blocks[given === '' ? block : `${block} from input${given}`] ??= blockLines(
      fields,
      { ...layer, attention },
      norm,
      width,
    );
    stack.push(`${own}: ${block}() from ${before}${inputs.map(([, outer]) => `, ${outer}`).join('')}`);
    before = own;
  }
  const body = [...masks.values()].flat();
  const lines = [
    ...body,
    `embed_tokens: Embedding(vocab_size, hidden_size)${body.length > 0 ? ' from tokens' : ''}`,
    `scaled: mul(${Math.sqrt(fields.size('hidden_size'))})`,
    ...(width === undefined ? [] : perLayerLines(fields, norm, width)),
    ...stack,
    `norm: ${norm('hidden_size')} from ${before}`,
    ...logitLines(fields),
  ];
  return {
    name,
    comments: [],
    dims: textDims(fields, seq),
    inputs: { tokens: 'int64[batch, seq]' },
    blocks: { ...activationBlocks(Object.values(blocks).flat()), ...blocks },
    layers: lines,
  };
}

function refuseUnknown(fields: ConfigFields): void {
  if (fields.text('use_bidirectional_attention', '') === 'all')
    fields.problems.push(
      '`use_bidirectional_attention` is "all", and attention to later tokens is not known here',
    );
  if (fields.flag('attention_k_eq_v') && fields.optionalSize('num_kv_shared_layers') !== undefined)
    fields.problems.push('`attention_k_eq_v` and `num_kv_shared_layers` at once are not known here');
}

function layersOf(fields: ConfigFields): readonly Layer[] {
  const count = Math.min(fields.size('num_hidden_layers'), mostLayers);
  const types = fields.list('layer_types');
  const isFull = (layer: number): boolean =>
    layer === count - 1 || (types === undefined ? (layer + 1) % 6 === 0 : types[layer] === 'full_attention');
  const shared = fields.optionalSize('num_kv_shared_layers');
  const firstShared = shared === undefined ? count : Math.max(0, count - shared);
  const before = Array.from({ length: firstShared }, (_, layer) => layer);
  const stored = new Set(
    firstShared < count
      ? [before.filter(isFull).at(-1), before.filter((layer) => !isFull(layer)).at(-1)]
      : [],
  );
  const attentionOf = attentionByLayer(fields);
  return Array.from({ length: count }, (_, layer): Layer => {
    const keys = layer >= firstShared ? 'shared' : stored.has(layer) ? 'stored' : 'own';
    const isWide = keys === 'shared' && fields.flag('use_double_wide_mlp');
    return {
      attention: attentionOf(layer, isFull(layer)),
      valuesAreKeys: isFull(layer) && fields.flag('attention_k_eq_v'),
      keys,
      hidden: fields.size('intermediate_size') * (isWide ? 2 : 1),
    };
  });
}

/** More layers than any model has. */
const mostLayers = 1000;

/** Sizes of a layer's heads: of its own (`per_layer_config`), or those of all layers that see everything. */
function attentionByLayer(fields: ConfigFields): (layer: number, isFull: boolean) => Attention {
  const ofLayers = fields.inner('per_layer_config', '');
  const wide = fields.optionalSize('global_head_dim') ?? 512;
  const few = fields.flag('attention_k_eq_v') ? fields.optionalSize('num_global_key_value_heads') : undefined;
  const bias = fields.flag('attention_bias');
  const window = fields.size('sliding_window');
  return (layer, isFull) => {
    const own = ofLayers?.inner(String(layer), '') ?? ofLayers?.inner(String(layer).padStart(2, '0'), '');
    const isByType = isFull && ofLayers === undefined;
    const headSize = own?.optionalSize('head_dim') ?? (isByType ? wide : fields.size('head_dim'));
    const groups =
      own?.optionalSize('num_key_value_heads') ??
      (isByType ? few : undefined) ??
      fields.size('num_key_value_heads');
    return {
      heads: fields.size('num_attention_heads'),
      groups,
      headSize,
      bias,
      outputBias: bias,
      rotated: headSize,
      causal: true,
      scale: 1,
      dropout: fields.number('attention_dropout', 0),
      ...(isFull ? {} : { window }),
    };
  };
}

const biasOf = ({ attention }: Layer): string => (attention.bias ? '' : ', bias=False');

function keyLines(layer: Layer, norm: Normalization, source: string): readonly string[] {
  const { groups, headSize } = layer.attention;
  return [
    `k_proj: Linear(${groups * headSize}${biasOf(layer)}) from ${source}`,
    `k_split: reshape(batch, seq, ${groups}, ${headSize})`,
    `k_norm: ${norm(String(headSize))}`,
    'k_rotary: RotaryPositionalEmbeddings()',
    'k_heads: transpose(1, 2)',
  ];
}

function valueLines(fields: ConfigFields, layer: Layer, source: string): readonly string[] {
  const { groups, headSize } = layer.attention;
  const bare = bareRmsNorm(fields.number('rms_norm_eps', 1e-6));
  return [
    ...(layer.valuesAreKeys
      ? []
      : [
          `v_proj: Linear(${groups * headSize}${biasOf(layer)}) from ${source}`,
          `v_split: reshape(batch, seq, ${groups}, ${headSize})`,
        ]),
    `v_norm: ${bare(String(headSize))}${layer.valuesAreKeys ? ' from k_split' : ''}`,
    'v_heads: transpose(1, 2)',
  ];
}

function blockLines(
  fields: ConfigFields,
  layer: Layer,
  norm: Normalization,
  width: number | undefined,
): readonly string[] {
  const { attention } = layer;
  const own = norm('hidden_size');
  const source = layer.keys === 'stored' ? 'normalized' : 'input_layernorm';
  const fed = feedForwardLines(gated(fields, layer.hidden, false), 'pre_feedforward_layernorm');
  return [
    ...(layer.keys === 'stored' ? [] : [`input_layernorm: ${own} from input`]),
    ...(layer.keys === 'own' ? [...keyLines(layer, norm, source), ...valueLines(fields, layer, source)] : []),
    `q_proj: Linear(${attention.heads * attention.headSize}${biasOf(layer)}) from ${source}`,
    `q_split: reshape(batch, seq, ${attention.heads}, ${attention.headSize})`,
    `q_norm: ${norm(String(attention.headSize))}`,
    'q_rotary: RotaryPositionalEmbeddings()',
    'q_heads: transpose(1, 2)',
    ...kernelLines(attention, '', { source, length: 'seq' }),
    `o_proj: Linear(hidden_size${biasOf(layer)})`,
    `post_attention_layernorm: ${own}`,
    'residual: add(post_attention_layernorm, input)',
    `pre_feedforward_layernorm: ${own}`,
    ...fed,
    ...(fields.flag('enable_moe_block') ? expertLines(fields, norm) : []),
    `post_feedforward_layernorm: ${own}`,
    'fed: add(post_feedforward_layernorm, residual)',
    ...(width === undefined
      ? []
      : [
          `per_layer_input_gate: Linear(${width}, bias=False)`,
          `per_layer_act: ${activationCall(activationOf(fields, 'gelu_pytorch_tanh'))}`,
          'per_layer_gated: mul(per_layer_act, per_layer)',
          'per_layer_projection: Linear(hidden_size, bias=False)',
          `post_per_layer_input_norm: ${own}`,
          'with_own: add(post_per_layer_input_norm, fed)',
        ]),
    'layer_scalar: Buffer(1)',
    `output: mul(${width === undefined ? 'fed' : 'with_own'}, layer_scalar)`,
  ];
}

/**
 * Experts beside the dense products, each behind normalizations of their own. The router reads what attention gave, scaled channel
 * by channel (`Gemma4TextRouter`).
 */
function expertLines(fields: ConfigFields, norm: Normalization): readonly string[] {
  const own = norm('hidden_size');
  const width = fields.size('hidden_size');
  const options = [
    `num_experts=${fields.size('num_experts')}`,
    `top_k=${fields.size('top_k_experts')}`,
    "activation='gelu'",
    'gated=True',
    'expert_scale=True',
  ];
  return [
    `post_feedforward_layernorm_1: ${own}`,
    `router_norm: ${bareRmsNorm(fields.number('rms_norm_eps', 1e-6))('hidden_size')} from residual`,
    'router_scale: Parameter(hidden_size)',
    'router_scaled: mul(router_norm, router_scale)',
    `routed_by: mul(${1 / Math.sqrt(width)})`,
    `pre_feedforward_layernorm_2: ${own} from residual`,
    `experts: MixtureOfExperts(hidden_size, ${fields.size('moe_intermediate_size')}, ${options.join(', ')}) from pre_feedforward_layernorm_2, routed_by`,
    `post_feedforward_layernorm_2: ${own}`,
    'both: add(post_feedforward_layernorm_1, post_feedforward_layernorm_2)',
  ];
}

/** A vector of every token for each layer, from a table of its own and from the embeddings (`project_per_layer_inputs`). */
function perLayerLines(fields: ConfigFields, norm: Normalization, width: number): readonly string[] {
  const layers = fields.size('num_hidden_layers');
  const all = layers * width;
  return [
    `embed_tokens_per_layer: Embedding(${fields.size('vocab_size_per_layer_input')}, ${all}) from tokens`,
    `per_layer_scaled: mul(${Math.sqrt(width)})`,
    `per_layer_tokens: reshape(batch, seq, ${layers}, ${width})`,
    `per_layer_model_projection: Linear(${all}, bias=False) from scaled`,
    `projection_scaled: mul(${1 / Math.sqrt(fields.size('hidden_size'))})`,
    `projection_split: reshape(batch, seq, ${layers}, ${width})`,
    `per_layer_projection_norm: ${norm(String(width))}`,
    'per_layer_both: add(per_layer_projection_norm, per_layer_tokens)',
    `per_layer_inputs: mul(${Math.sqrt(0.5)})`,
    ...Array.from(
      { length: Math.min(layers, mostLayers) },
      (_, layer) => `per_layer_${layer + 1}: select(per_layer_inputs, 2, ${layer})`,
    ),
  ];
}

function logitLines(fields: ConfigFields): readonly string[] {
  const head = headOf(fields);
  if (head === 'none') return [];
  if (typeof head === 'object') {
    fields.problems.push('the head of this class of Gemma 4 is not known');
    return [];
  }
  return [...headLines({ head }), ...softcapLines(softcapOf(fields))];
}
