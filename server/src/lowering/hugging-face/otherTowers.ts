/**
 * Towers beside CLIP's, SigLIP's and Qwen's, with the layers that make tokens of their results (transformers 5.18,
 * modeling_internvl.py, modeling_pixtral.py, modeling_mistral3.py).
 */

import { activationCall, activationOf } from './activations.ts';
import { attentionLines, evenHeads } from './attentionLines.ts';
import type { ConfigFields } from './configFields.ts';
import type { ImagePart } from './decoder.ts';
import { dropoutLines } from './dropoutLines.ts';
import { allImages, imageEmbeds, projectorLines, shuffleLines } from './imageLines.ts';
import { layerNorm, rmsNorm } from './normalizations.ts';

/** A size for both sides: a number, or the first of two. */
function sideOf(fields: ConfigFields, name: string): number {
  const list = fields.list(name);
  if (list === undefined) return fields.size(name);
  const [first, second] = fields.sizes(name);
  if (first !== second) fields.problems.push(`\`${name}\` has two sizes that differ, which is not known`);
  return first ?? 1;
}

/** InternVL: blocks whose parts are scaled channel by channel, and squares of tokens as one. */
export function internVl(fields: ConfigFields): ImagePart {
  const vision = fields.part('vision_config', 'internvl_vision', {
    hidden_size: 1024,
    num_hidden_layers: 24,
    num_attention_heads: 16,
    intermediate_size: 4096,
    hidden_act: 'gelu',
    image_size: 448,
    patch_size: 14,
    num_channels: 3,
  });
  const eps = vision.number('layer_norm_eps', 1e-6);
  const isRms = vision.text('norm_type', 'layer_norm') === 'rms_norm';
  const norm = (isRms ? rmsNorm(eps) : layerNorm(eps))('vision_size');
  const heads = vision.size('num_attention_heads');
  const bias = vision.flag('attention_bias');
  const [patch, image] = [sideOf(vision, 'patch_size'), sideOf(vision, 'image_size')];
  const side = Math.floor(image / patch);
  const shares = {
    hidden: vision.number('hidden_dropout_prob', 0),
    projection: vision.number('projection_dropout', 0),
  };
  const scale = Math.max(1, Math.floor(1 / fields.number('downsample_ratio', 0.5)));
  const tokens = Math.floor(side / scale) ** 2;
  if (fields.number('vision_feature_layer', -1) !== -1)
    fields.problems.push('`vision_feature_layer` is another layer than the last, which is not known');
  const block = [
    `layernorm_before: ${norm}`,
    ...attentionLines(
      {
        ...evenHeads(heads, vision.size('hidden_size')),
        bias,
        dropout: vision.number('attention_dropout', 0),
        ...(vision.flag('use_qk_norm') ? { queryNorm: { over: 'all', call: rmsNorm(1e-6) } } : {}),
        names: {
          q_proj: 'q_proj',
          k_proj: 'k_proj',
          v_proj: 'v_proj',
          qkv_proj: 'qkv',
          o_proj: 'projection_layer',
        },
      },
      { source: 'layernorm_before', length: 'places', rows: allImages, width: 'vision_size' },
    ),
    ...dropoutLines('projection_dropout', shares.projection),
    'lambda_1: Parameter(vision_size)',
    `attention_scaled: mul(lambda_1, ${shares.projection > 0 ? 'projection_dropout' : 'projection_layer'})`,
    'residual: add(attention_scaled, input)',
    `layernorm_after: ${norm}`,
    `fc1: Linear(${vision.size('intermediate_size')})`,
    `activation_fn: ${activationCall(activationOf(vision, 'gelu'))}`,
    'fc2: Linear(vision_size)',
    ...dropoutLines('mlp_dropout', shares.hidden),
    'lambda_2: Parameter(vision_size)',
    `mlp_scaled: mul(lambda_2, ${shares.hidden > 0 ? 'mlp_dropout' : 'fc2'})`,
    'output: add(mlp_scaled, residual)',
  ];
  return {
    dims: { places: side * side + 1, image_tokens: tokens, vision_size: vision.size('hidden_size') },
    inputs: { image: `float32[${allImages}, ${vision.size('num_channels')}, ${image}, ${image}]` },
    blocks: { vision_layer: block },
    lines: [
      `patch_embeddings: Conv2d(vision_size, kernel_size=${patch}, stride=${patch}) from image`,
      'flat: flatten(2)',
      'patches: transpose(1, 2)',
      'cls_token: Parameter(1, 1, vision_size)',
      `cls_tokens: expand(cls_token, ${allImages}, 1, vision_size)`,
      'with_cls: cat((cls_tokens, patches), dim=1)',
      ...(vision.flag('use_absolute_position_embeddings', true)
        ? [
            'position_embeddings: Parameter(1, places, vision_size)',
            'placed: add(with_cls, position_embeddings)',
          ]
        : []),
      ...dropoutLines('vision_dropout', shares.hidden),
      `vision_encoder: vision_layer() * ${vision.size('num_hidden_layers')}`,
      ...(vision.flag('use_mean_pooling', true) ? [] : [`vision_norm: ${layerNorm(eps)('vision_size')}`]),
      ...(fields.text('vision_feature_select_strategy', 'default') === 'default'
        ? ['features: narrow(1, 1, places - 1)']
        : ['features: Identity()']),
      ...shuffleLines('features', side, scale),
      `layer_norm: ${layerNorm(1e-5)(`vision_size*${scale * scale}`)}`,
      ...projectorLines(fields, true),
      imageEmbeds,
    ],
    tokens,
  };
}

/** Images of 1,024 patches, 32 on a side. */
const pixtralSide = 32;

/**
 * Pixtral. Patches attend to those of their image, as FlashAttention has it; without it transformers computes attention between all
 * images of a batch, and a mask hides the others.
 */
function pixtral(vision: ConfigFields): Pick<ImagePart, 'dims' | 'inputs' | 'blocks' | 'lines'> {
  const norm = rmsNorm(1e-5)('vision_size');
  const heads = vision.size('num_attention_heads');
  const headSize = Math.floor(vision.size('hidden_size') / heads);
  const patch = sideOf(vision, 'patch_size');
  const inner = vision.size('intermediate_size');
  const block = [
    `attention_norm: ${norm}`,
    ...attentionLines(
      {
        heads,
        groups: heads,
        headSize,
        bias: false,
        outputBias: false,
        rotated: headSize,
        causal: false,
        dropout: vision.number('attention_dropout', 0),
      },
      { source: 'attention_norm', length: 'places', rows: allImages, width: 'vision_size' },
    ),
    'residual: add(o_proj, input)',
    `ffn_norm: ${norm}`,
    `gate_proj: Linear(${inner}, bias=False)`,
    `act_fn: ${activationCall(activationOf(vision, 'gelu'))}`,
    `up_proj: Linear(${inner}, bias=False) from ffn_norm`,
    'gated: mul(act_fn, up_proj)',
    'down_proj: Linear(vision_size, bias=False)',
    'output: add(down_proj, residual)',
  ];
  const pixels = patch * pixtralSide;
  return {
    dims: {
      places: pixtralSide * pixtralSide,
      vision_size: vision.size('hidden_size'),
    },
    inputs: { image: `float32[${allImages}, ${vision.size('num_channels')}, ${pixels}, ${pixels}]` },
    blocks: { vision_layer: block },
    lines: [
      `patch_conv: Conv2d(vision_size, kernel_size=${patch}, stride=${patch}, bias=False) from image`,
      'flat: flatten(2)',
      'patches: transpose(1, 2)',
      'patch_rows: repeat(1, 1, 1)',
      `ln_pre: ${norm}`,
      `vision_encoder: vision_layer() * ${vision.size('num_hidden_layers')}`,
    ],
  };
}

const needLast = (fields: ConfigFields): void => {
  if (fields.number('vision_feature_layer', -1) !== -1)
    fields.problems.push('`vision_feature_layer` is another layer than the last, which is not known');
};

/** Each patch is a token (Pixtral as a LLaVA). */
export function pixtralLlava(fields: ConfigFields, vision: ConfigFields): ImagePart {
  needLast(fields);
  const tower = pixtral(vision);
  return {
    ...tower,
    dims: { ...tower.dims, image_tokens: 'places' },
    lines: [...tower.lines, ...projectorLines(fields), imageEmbeds],
    tokens: pixtralSide * pixtralSide,
  };
}

/** Squares of patches are merged by a layer (Mistral Small 3.1 and later). */
export function mistral3(fields: ConfigFields): ImagePart | undefined {
  const vision = fields.partOr('vision_config', {
    model_type: 'pixtral',
    intermediate_size: 4096,
    hidden_size: 1024,
    patch_size: 14,
    num_hidden_layers: 24,
    num_attention_heads: 16,
  });
  if (vision.type !== 'pixtral') return undefined;
  needLast(fields);
  const tower = pixtral(withPixtralDefaults(vision));
  const merge = fields.size('spatial_merge_size');
  const side = Math.floor(pixtralSide / merge);
  return {
    ...tower,
    dims: { ...tower.dims, image_tokens: side * side },
    lines: [
      ...tower.lines,
      `projector_norm: ${rmsNorm(1e-5)('vision_size')}`,
      `in_squares: reshape(${allImages}, ${side}, ${merge}, ${side}, ${merge}, vision_size)`,
      'near: permute(0, 1, 3, 5, 2, 4)',
      `merged_patches: reshape(${allImages}*image_tokens, vision_size*${merge * merge})`,
      'merging_layer: Linear(vision_size, bias=False)',
      ...projectorLines(fields),
      imageEmbeds,
    ],
    tokens: side * side,
  };
}

/** The tower of Pixtral with the defaults of its class, as files leave them out. */
export const withPixtralDefaults = (vision: ConfigFields): ConfigFields =>
  vision.withDefaults({
    hidden_size: 1024,
    intermediate_size: 4096,
    num_hidden_layers: 24,
    num_attention_heads: 16,
    num_channels: 3,
    patch_size: 16,
    hidden_act: 'gelu',
  });
