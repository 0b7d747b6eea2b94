/**
 * DINOv2 (modeling_dinov2.py of transformers 5.18): a ViT whose branches are scaled by a trained vector each. A later one has
 * register tokens behind the first, without positions (modeling_dinov2_with_registers.py).
 */

import { activationBlocks, activationCall, activationOf } from './activations.ts';
import { attentionLines } from './attentionLines.ts';
import { type ConfigFields, labelsOf } from './configFields.ts';
import { dropoutLines } from './dropoutLines.ts';
import { selfAttention } from './encoderAttention.ts';
import { layerNorm } from './normalizations.ts';
import { patchTokens } from './patchTokens.ts';
import type { SpecParts } from './specText.ts';

/** What stands before and in the layers, of a model or of the backbone of another. */
interface Body extends Pick<SpecParts, 'dims' | 'inputs' | 'blocks'> {
  /** To what the first layer reads. */
  readonly lines: readonly string[];
  readonly patches: number;
  readonly side: number;
  readonly registers: number;
  readonly isMasked: boolean;
}

export function dinov2Body(fields: ConfigFields): Body {
  const norm = layerNorm(fields.number('layer_norm_eps', 1e-6))('hidden_size');
  const hidden = fields.size('hidden_size');
  const image = fields.size('image_size');
  const patch = fields.size('patch_size');
  const side = Math.floor(image / patch);
  const patches = side * side;
  const share = fields.number('hidden_dropout_prob', 0);
  const block = [
    `norm1: ${norm}`,
    ...attentionLines(selfAttention(fields, { bias: fields.flag('qkv_bias', true) }), {
      source: 'norm1',
      length: 'places',
    }),
    ...dropoutLines('attention_dropout', share),
    'lambda1: Parameter(hidden_size)',
    `scaled1: mul(${share > 0 ? 'attention_dropout' : 'attention_dense'}, lambda1)`,
    'residual: add(scaled1, input)',
    `norm2: ${norm}`,
    ...productLines(fields, Math.floor(hidden * fields.number('mlp_ratio', 4))),
    'lambda2: Parameter(hidden_size)',
    'scaled2: mul(fc2, lambda2)',
    'output: add(scaled2, residual)',
  ];
  const registers = fields.optionalSize('num_register_tokens') ?? 0;
  const isMasked = fields.flag('use_mask_token', true);
  return {
    dims: { batch: 8, places: patches + 1 + registers, hidden_size: hidden },
    inputs: { image: `float32[batch, ${fields.size('num_channels')}, ${image}, ${image}]` },
    blocks: { ...activationBlocks(block), encoder_layer: block },
    lines: [
      // Stands in for patches that pretraining hides; nothing reads it otherwise.
      ...(isMasked ? ['mask_token: Parameter(1, hidden_size)'] : []),
      `patch_embeddings: Conv2d(hidden_size, kernel_size=${patch}, stride=${patch})${isMasked ? ' from image' : ''}`,
      ...patchTokens(),
      `position_embeddings: Parameter(1, ${patches + 1}, hidden_size)`,
      'embedded: add(with_cls, position_embeddings)',
      ...(registers === 0
        ? []
        : [
            `placed_cls, placed_patches: split([1, ${patches}], dim=1)`,
            `register_tokens: Parameter(1, ${registers}, hidden_size)`,
            `registers: expand(register_tokens, batch, ${registers}, hidden_size)`,
            'with_registers: cat((placed_cls, registers, placed_patches), dim=1)',
          ]),
      ...dropoutLines('embeddings_dropout', share),
    ],
    patches,
    side,
    registers,
    isMasked,
  };
}

export function dinov2(fields: ConfigFields, name: string): SpecParts {
  const norm = layerNorm(fields.number('layer_norm_eps', 1e-6))('hidden_size');
  const classified = /ForImageClassification$/.test(fields.architecture ?? '');
  const { lines, patches, registers, isMasked, dims, inputs, blocks } = dinov2Body(fields);
  return {
    name,
    comments: [],
    dims,
    inputs,
    blocks,
    ...(isMasked ? { outputs: [classified ? 'classifier' : 'first_token', 'mask_token'] } : {}),
    layers: [
      ...lines,
      `encoder: encoder_layer() * ${fields.size('num_hidden_layers')}`,
      `layernorm: ${norm}`,
      'first_token: select(layernorm, 1, 0)',
      ...(classified
        ? [
            `${registers === 0 ? 'own' : 'own, middle'}, others: split(layernorm, [1, ${registers === 0 ? '' : `${registers}, `}${patches}], dim=1)`,
            'averaged: mean(others, dim=1)',
            'both: cat((first_token, averaged), dim=1)',
            `classifier: Linear(${labelsOf(fields)})`,
          ]
        : []),
    ],
  };
}

/** Two products, or the gated ones of `Dinov2SwiGLUFFN`, whose width is rounded to eight. */
function productLines(fields: ConfigFields, hidden: number): readonly string[] {
  if (!fields.flag('use_swiglu_ffn')) {
    return [
      `fc1: Linear(${hidden})`,
      `act: ${activationCall(activationOf(fields, 'gelu'))}`,
      'fc2: Linear(hidden_size)',
    ];
  }
  const width = Math.floor((Math.floor((hidden * 2) / 3) + 7) / 8) * 8;
  return [
    `gate_proj: Linear(${width}) from norm2`,
    'act: SiLU()',
    `up_proj: Linear(${width}) from norm2`,
    'gated: mul(act, up_proj)',
    'fc2: Linear(hidden_size)',
  ];
}
