/**
 * DINOv3 (arXiv 2508.10104; modeling_dinov3_vit.py of transformers 5.18): a ViT whose patches are rotated by their place, whose
 * first and register tokens are not, and whose branches are scaled by a trained vector each.
 */

import { activationBlocks } from './activations.ts';
import { attentionLines } from './attentionLines.ts';
import type { ConfigFields } from './configFields.ts';
import { type FeedForward, feedForwardLines } from './feedForwardLines.ts';
import { gated, plain } from './llamaLike.ts';
import { layerNorm } from './normalizations.ts';
import { patchTokens } from './patchTokens.ts';
import type { SpecParts } from './specText.ts';

export function dinov3(fields: ConfigFields, name: string): SpecParts {
  const norm = layerNorm(fields.number('layer_norm_eps', 1e-5))('hidden_size');
  const image = fields.size('image_size');
  const patch = fields.size('patch_size');
  const registers = Math.max(0, Math.floor(fields.number('num_register_tokens', 0)));
  const places = Math.floor(image / patch) ** 2 + 1 + registers;
  const block = blockLines(fields, norm, 1 + registers);
  return {
    name,
    comments: [],
    dims: { batch: 8, places, hidden_size: fields.size('hidden_size') },
    inputs: { image: `float32[batch, ${fields.size('num_channels')}, ${image}, ${image}]` },
    blocks: { ...activationBlocks(block), layer: block },
    layers: [
      // Stands in for patches that pretraining hides; nothing reads it otherwise.
      'mask_token: Parameter(1, 1, hidden_size)',
      `patch_embeddings: Conv2d(hidden_size, kernel_size=${patch}, stride=${patch}) from image`,
      ...patchTokens(1 + registers),
      `layers: layer() * ${fields.size('num_hidden_layers')}`,
      `norm: ${norm}`,
      'pooled: select(1, 0)',
    ],
    outputs: ['pooled', 'mask_token'],
  };
}

function blockLines(fields: ConfigFields, norm: string, unrotated: number): readonly string[] {
  const heads = fields.size('num_attention_heads');
  const headSize = Math.floor(fields.size('hidden_size') / heads);
  const path = fields.number('drop_path_rate', 0);
  const bias = fields.flag('mlp_bias', true);
  const feedForward: FeedForward = fields.flag('use_gated_mlp')
    ? gated(fields, undefined, bias)
    : plain(fields, bias);
  /** What a branch goes through before it is added. */
  const branch = (prefix: string, last: string): readonly string[] => [
    `${prefix}_lambda: Parameter(hidden_size)`,
    `${prefix}_scaled: mul(${last}, ${prefix}_lambda)`,
    ...(path > 0 ? [`${prefix}_path: StochasticDepth(${path}, 'row', noise='rounded')`] : []),
  ];
  const end = (prefix: string): string => `${prefix}_${path > 0 ? 'path' : 'scaled'}`;
  return [
    `norm1: ${norm}`,
    ...attentionLines(
      {
        heads,
        groups: heads,
        headSize,
        bias: fields.flag('query_bias', true),
        keyBias: fields.flag('key_bias'),
        valueBias: fields.flag('value_bias', true),
        outputBias: fields.flag('proj_bias', true),
        rotated: headSize,
        unrotatedTokens: unrotated,
        causal: false,
        dropout: fields.number('attention_dropout', 0),
      },
      { source: 'norm1', length: 'places' },
    ),
    ...branch('attention', 'o_proj'),
    `residual: add(${end('attention')}, input)`,
    `norm2: ${norm}`,
    ...feedForwardLines(feedForward, 'norm2'),
    ...branch('mlp', 'down_proj'),
    `output: add(${end('mlp')}, residual)`,
  ];
}
