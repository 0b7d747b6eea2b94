/**
 * YOLOS (arXiv 2106.00666; transformers 5.18, modeling_yolos.py): a ViT with trained tokens for what it may detect. Images have the
 * size of the config. Positions are interpolated whatever the size, those between layers too.
 */

import { activationBlocks } from './activations.ts';
import { type ConfigFields, labelsOf } from './configFields.ts';
import { dropoutLines } from './dropoutLines.ts';
import { layerNorm } from './normalizations.ts';
import type { SpecParts } from './specText.ts';
import { preNormBlock } from './vit.ts';

export function yolos(fields: ConfigFields, name: string): SpecParts {
  const norm = layerNorm(fields.number('layer_norm_eps', 1e-12))('hidden_size');
  const sizes = fields.sizes('image_size');
  const [height, width] = [sizes[0] ?? 1, sizes[1] ?? sizes[0] ?? 1];
  const patch = fields.size('patch_size');
  const grid = [Math.floor(height / patch), Math.floor(width / patch)] as const;
  const found = fields.size('num_detection_tokens');
  const layers = fields.size('num_hidden_layers');
  const share = fields.number('hidden_dropout_prob', 0);
  const hasMiddle = fields.flag('use_mid_position_embeddings', true) && layers > 1;
  const isDetector = /ForObjectDetection$/.test(fields.architecture ?? '');
  const block = preNormBlock(fields);
  return {
    name,
    comments: [],
    dims: {
      batch: 8,
      places: grid[0] * grid[1] + found + 1,
      hidden_size: fields.size('hidden_size'),
    },
    inputs: { image: `float32[batch, ${fields.size('num_channels')}, ${height}, ${width}]` },
    blocks: { ...activationBlocks(block), encoder_layer: block },
    layers: [
      'cls_token: Parameter(1, 1, hidden_size)',
      `detection_tokens: Parameter(1, ${found}, hidden_size)`,
      `patch_embeddings: Conv2d(hidden_size, kernel_size=${patch}, stride=${patch}) from image`,
      'flat: flatten(2)',
      'patches: transpose(1, 2)',
      'cls_tokens: expand(cls_token, batch, 1, hidden_size)',
      `found_tokens: expand(detection_tokens, batch, ${found}, hidden_size)`,
      'tokens: cat((cls_tokens, patches, found_tokens), dim=1)',
      'position_embeddings: Parameter(1, places, hidden_size)',
      ...interpolatedLines('positions', 'position_embeddings', 1, grid, found),
      'placed: add(tokens, positions)',
      ...dropoutLines('embeddings_dropout', share),
      ...(hasMiddle ? middleLines(layers, grid, found, share) : [`encoder: encoder_layer() * ${layers}`]),
      `layernorm: ${norm}`,
      ...(isDetector
        ? [
            `found: narrow(1, places - ${found}, ${found})`,
            ...headLines('class_labels', labelsOf(fields) + 1),
            ...headLines('bbox', 4),
            'boxes: sigmoid()',
          ]
        : ['first_token: select(1, 0)', 'pooler: Linear(hidden_size)', 'pooler_act: Tanh()']),
    ],
    ...(isDetector ? { outputs: ['class_labels_3', 'boxes'] } : {}),
  };
}

/** Positions of patches in the size of an image, between those of the first token and of what may be found. */
const interpolatedLines = (
  name: string,
  source: string,
  count: number,
  [rows, columns]: readonly [number, number],
  found: number,
): readonly string[] => [
  `${name}_first, ${name}_patches, ${name}_found: split(${source}, [1, ${rows * columns}, ${found}], dim=1)`,
  `${name}_turned: transpose(${name}_patches, 1, 2)`,
  `${name}_grid: reshape(${count}, hidden_size, ${rows}, ${columns})`,
  `${name}_resized: interpolate(size=(${rows}, ${columns}), mode='bicubic')`,
  `${name}_flat: flatten(2)`,
  `${name}_rows: transpose(1, 2)`,
  `${name}: cat((${name}_first, ${name}_rows, ${name}_found), dim=1)`,
];

/** Layers one by one, with positions added behind all but the last. */
function middleLines(
  layers: number,
  grid: readonly [number, number],
  found: number,
  share: number,
): readonly string[] {
  const before = share > 0 ? 'embeddings_dropout' : 'placed';
  return [
    `mid_position_embeddings: Parameter(${layers - 1}, places, hidden_size)`,
    ...interpolatedLines('middle', 'mid_position_embeddings', layers - 1, grid, found),
    ...Array.from({ length: layers }, (_, layer) => [
      `layer_${layer + 1}: encoder_layer() from ${layer === 0 ? before : `placed_${layer}`}`,
      ...(layer < layers - 1
        ? [
            `middle_${layer + 1}: slice(middle, 0, ${layer}, ${layer + 1})`,
            `placed_${layer + 1}: add(layer_${layer + 1}, middle_${layer + 1})`,
          ]
        : []),
    ]).flat(),
  ];
}

const headLines = (name: string, outputs: number): readonly string[] => [
  `${name}_1: Linear(hidden_size) from found`,
  `${name}_relu_1: ReLU()`,
  `${name}_2: Linear(hidden_size)`,
  `${name}_relu_2: ReLU()`,
  `${name}_3: Linear(${outputs})`,
];
