/**
 * The tower of Qwen's models of images, which reads patches of images of any size, and the layers that join four of them to a
 * token (transformers 5.18, modeling_qwen2_vl.py, modeling_qwen2_5_vl.py, modeling_qwen3_vl.py, modeling_qwen3_5.py). An image has
 * 1,024 patches: 448 × 448 pixels, or 512 × 512 where a patch has 16.
 */

import { activationCall, activationOf } from './activations.ts';
import { attentionLines } from './attentionLines.ts';
import type { ConfigFields } from './configFields.ts';
import type { ImagePart } from './decoder.ts';
import { feedForwardLines } from './feedForwardLines.ts';
import { layerNorm, type Normalization, rmsNorm } from './normalizations.ts';

const patches = 1024;

const images = 'batch*images';

interface Tower {
  readonly vision: ConfigFields;
  readonly layers: number;
  readonly width: number;
  readonly heads: number;
  readonly hidden: number;
  readonly norm: Normalization;
  readonly isGated?: boolean;
  readonly patchBias?: boolean;
  /** Patches of a window, and layers whose patches see the whole image. */
  readonly window?: { readonly patches: number; readonly isFull: (layer: number) => boolean };
  /** Rows of a square table of positions, between which those of patches are interpolated. */
  readonly positions?: number;
  /** Layers whose results are made tokens too, which are added behind the first layers of the decoder. */
  readonly deep?: readonly number[];
}

type ImagesOf = (fields: ConfigFields) => ImagePart;

/** The tower's fields, with the defaults of its class (`configuration_*.py`). */
const visionOf = (fields: ConfigFields, standard: Readonly<Record<string, unknown>>): ConfigFields =>
  fields.part('vision_config', `${fields.type}_vision`, {
    num_heads: 16,
    in_channels: 3,
    spatial_merge_size: 2,
    temporal_patch_size: 2,
    ...standard,
  });

function towerPart(of: Tower): ImagePart {
  const { vision, deep = [] } = of;
  const patch = vision.size('patch_size');
  const frames = vision.size('temporal_patch_size');
  const channels = vision.size('in_channels');
  const merge = vision.size('spatial_merge_size');
  const block = blockLines(of, images, 'places');
  const { window } = of;
  const joined = 'vision_size*merge*merge';
  return {
    dims: {
      places: patches,
      merge,
      image_tokens: 'places/(merge*merge)',
      ...(window === undefined ? {} : { windows: `places/${window.patches}` }),
      vision_size: of.width,
    },
    inputs: {
      patches: `float32[${images}*places, ${channels * frames * patch * patch}]`,
      ...(of.positions === undefined
        ? {}
        : {
            grid_places: `int64[${images}*places, 4]`,
            grid_weights: `float32[${images}*places, 4, 1]`,
          }),
    },
    blocks: {
      vision_layer: block,
      ...(window === undefined
        ? {}
        : {
            vision_window_layer: blockLines(of, `${images}*windows`, String(window.patches)),
          }),
    },
    lines: [
      `volumes: reshape(patches, ${images}*places, ${channels}, ${frames}, ${patch}, ${patch})`,
      `patch_embed: Conv3d(vision_size, kernel_size=(${frames}, ${patch}, ${patch}), stride=(${frames}, ${patch}, ${patch})${of.patchBias === true ? '' : ', bias=False'})`,
      ...(of.positions === undefined
        ? [`patch_embeds: reshape(${images}, places, vision_size)`]
        : [
            `patch_rows: reshape(${images}*places, vision_size)`,
            `pos_embed: Embedding(${of.positions}, vision_size) from grid_places`,
            'weighted: mul(pos_embed, grid_weights)',
            'pos_embeds: sum(dim=1)',
            'placed: add(patch_rows, pos_embeds)',
            `patch_embeds: reshape(${images}, places, vision_size)`,
          ]),
      ...layerLines(of),
      `ln_q: ${of.norm('vision_size')} from ${layerName(of.layers)}`,
      `merged_patches: reshape(${images}, image_tokens, ${joined})`,
      ...mergerLines('merger', joined),
      ...deep.flatMap((layer, index) => [
        `deep_patches_${index + 1}: reshape(${layerName(layer + 1)}, ${images}, image_tokens, ${joined})`,
        `deep_norm_${index + 1}: ${of.norm(joined)}`,
        ...mergerLines(`deep_merger_${index + 1}`, joined),
        `deep_embeds_${index + 1}: reshape(batch, images*image_tokens, hidden_size)`,
      ]),
      'image_embeds: reshape(merger, batch, images*image_tokens, hidden_size)',
    ],
    tokens: patches / (merge * merge),
    added: deep.map((_, index) => `deep_embeds_${index + 1}`),
  };
}

const mergerLines = (name: string, joined: string): readonly string[] => [
  `${name}_fc1: Linear(${joined})`,
  `${name}_act: GELU()`,
  `${name}: Linear(hidden_size)`,
];

const layerName = (depth: number): string => `vision_${depth}`;

/** Runs of equal layers, which end where results are read. */
function layerLines({ layers, window, deep = [] }: Tower): readonly string[] {
  const lines: string[] = [];
  const isFull = (layer: number): boolean => window?.isFull(layer) ?? true;
  for (let start = 0; start < layers; ) {
    let end = start + 1;
    while (end < layers && isFull(end) === isFull(start) && !deep.includes(end - 1)) end += 1;
    const from = start === 0 ? ' from patch_embeds' : '';
    lines.push(
      `${layerName(end)}: ${isFull(start) ? 'vision_layer' : 'vision_window_layer'}() * ${end - start}${from}`,
    );
    start = end;
  }
  return lines;
}

/** `rows` pieces of `length` patches attend, each by itself. */
function blockLines(of: Tower, rows: string, length: string): readonly string[] {
  const norm = of.norm('vision_size');
  const activation = activationOf(of.vision, 'quick_gelu');
  const headSize = Math.floor(of.width / of.heads);
  const attention = {
    heads: of.heads,
    groups: of.heads,
    headSize,
    packed: true,
    bias: true,
    outputBias: true,
    rotated: headSize,
    causal: false,
    copied: true,
    names: { q_proj: 'q', k_proj: 'k', v_proj: 'v', qkv_proj: 'qkv', o_proj: 'proj' },
  };
  const place = { source: 'norm1', length, rows, width: 'vision_size' };
  const isWhole = length === 'places';
  const feedForward = of.isGated
    ? feedForwardLines({ kind: 'gated', hidden: of.hidden, activation, bias: true }, 'norm2').map((line) =>
        line.replace('Linear(hidden_size', 'Linear(vision_size'),
      )
    : [
        `fc1: Linear(${of.hidden}) from norm2`,
        `act_fn: ${activationCall(activation)}`,
        'fc2: Linear(vision_size)',
      ];
  return [
    `norm1: ${norm}`,
    ...attentionLines(attention, place),
    ...(isWhole ? [] : [`attended: reshape(${images}, places, vision_size)`]),
    `residual: add(${isWhole ? 'proj' : 'attended'}, input)`,
    `norm2: ${norm}`,
    ...feedForward,
    `output: add(${of.isGated ? 'down_proj' : 'fc2'}, residual)`,
  ];
}

const qwen2: ImagesOf = (fields) => {
  const vision = visionOf(fields, {
    depth: 32,
    embed_dim: 1280,
    hidden_act: 'quick_gelu',
    mlp_ratio: 4,
    patch_size: 14,
  });
  const width = vision.size('embed_dim');
  return towerPart({
    vision,
    layers: vision.size('depth'),
    width,
    heads: vision.size('num_heads'),
    hidden: Math.floor(width * vision.number('mlp_ratio', 4)),
    norm: layerNorm(1e-6),
  });
};

const qwen2Windows: ImagesOf = (fields) => {
  const vision = visionOf(fields, {
    depth: 32,
    hidden_size: 3584,
    hidden_act: 'silu',
    intermediate_size: 3420,
    patch_size: 14,
    window_size: 112,
    fullatt_block_indexes: [7, 15, 23, 31],
  });
  const full = new Set(vision.list('fullatt_block_indexes') ?? []);
  const merge = vision.size('spatial_merge_size');
  const side =
    merge * Math.max(1, Math.floor(vision.size('window_size') / vision.size('patch_size') / merge));
  if (patches % (side * side) !== 0)
    fields.problems.push(`windows of ${side} × ${side} patches do not fill an image of ${patches}`);
  return towerPart({
    vision,
    layers: vision.size('depth'),
    width: vision.size('hidden_size'),
    heads: vision.size('num_heads'),
    hidden: vision.size('intermediate_size'),
    norm: rmsNorm(1e-6),
    isGated: true,
    window: { patches: side * side, isFull: (layer) => full.has(layer) },
  });
};

const qwen3 = (fields: ConfigFields, layersRead: readonly number[] = []): ImagePart => {
  const vision = visionOf(fields, {
    depth: 27,
    hidden_size: 1152,
    hidden_act: 'gelu_pytorch_tanh',
    intermediate_size: 4304,
    patch_size: 16,
    num_position_embeddings: 2304,
    deepstack_visual_indexes: layersRead,
  });
  const deep = (vision.list('deepstack_visual_indexes') ?? []).filter((layer) => typeof layer === 'number');
  return towerPart({
    vision,
    layers: vision.size('depth'),
    width: vision.size('hidden_size'),
    heads: vision.size('num_heads'),
    hidden: vision.size('intermediate_size'),
    norm: layerNorm(1e-6),
    patchBias: true,
    positions: vision.size('num_position_embeddings'),
    deep: [...deep].sort((left, right) => left - right),
  });
};

export const qwenImageTypes: Readonly<Record<string, ImagesOf>> = {
  qwen2_vl: qwen2,
  qwen2_5_vl: qwen2Windows,
  qwen3_vl: (fields) => qwen3(fields, [8, 16, 24]),
  qwen3_vl_moe: (fields) => qwen3(fields, [8, 16, 24]),
  qwen3_5: (fields) => qwen3(fields),
  qwen3_5_moe: (fields) => qwen3(fields),
};
