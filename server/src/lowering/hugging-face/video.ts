/** Videos as patches of several frames: VideoMAE (arXiv 2203.12602; modeling_videomae.py of transformers 5.18) and ViViT (modeling_vivit.py). */

import { activationBlocks } from './activations.ts';
import { type ConfigFields, labelsOf } from './configFields.ts';
import { dropoutLines } from './dropoutLines.ts';
import { layerNorm } from './normalizations.ts';
import { patchTokens } from './patchTokens.ts';
import type { SpecParts } from './specText.ts';
import { preNormBlock, vitPooler } from './vit.ts';

export function videoMae(fields: ConfigFields, name: string): SpecParts {
  if (fields.architecture?.endsWith('ForPreTraining') === true)
    fields.problems.push('what pretraining hides of a video is not in a config');
  const patch = fields.size('patch_size');
  const tube = [fields.size('tubelet_size'), patch, patch] as const;
  const norm = layerNorm(fields.number('layer_norm_eps', 1e-12))('hidden_size');
  const isClassifier = fields.architecture?.endsWith('ForVideoClassification') === true;
  const isAveraged = fields.flag('use_mean_pooling', true);
  return {
    ...partsOf(
      fields,
      name,
      tube,
      0,
      preNormBlock(fields, { bias: fields.flag('qkv_bias', fields.flag('qv_bias', true)), keyBias: false }),
    ),
    layers: [
      'channels_first: permute(video, 0, 2, 1, 3, 4)',
      tubeLine(tube),
      'flat: flatten(2)',
      'patches: transpose(1, 2)',
      'positions: Buffer(1, places, hidden_size)',
      'embedded: add(patches, positions)',
      `encoder: encoder_layer() * ${fields.size('num_hidden_layers')}`,
      ...(isAveraged ? [] : [`layernorm: ${norm}`]),
      ...(isClassifier
        ? [
            ...(isAveraged
              ? ['averaged: mean(dim=1)', 'fc_norm: LayerNorm(hidden_size)']
              : ['first_token: select(layernorm, 1, 0)']),
            `classifier: Linear(${labelsOf(fields)})`,
          ]
        : []),
    ],
  };
}

export function vivit(fields: ConfigFields, name: string): SpecParts {
  const [time = 1, high = 1, wide = 1] = fields.sizes('tubelet_size');
  const tube = [time, high, wide] as const;
  const share = fields.number('hidden_dropout_prob', 0);
  const norm = layerNorm(fields.number('layer_norm_eps', 1e-6))('hidden_size');
  const isClassifier = fields.architecture?.endsWith('ForVideoClassification') === true;
  return {
    ...partsOf(fields, name, tube, 1, preNormBlock(fields)),
    layers: [
      'channels_first: transpose(video, 1, 2)',
      tubeLine(tube),
      ...patchTokens(1),
      'position_embeddings: Parameter(1, places, hidden_size)',
      'embedded: add(with_cls, position_embeddings)',
      ...dropoutLines('embeddings_dropout', share),
      `encoder: encoder_layer() * ${fields.size('num_hidden_layers')}`,
      `layernorm: ${norm}`,
      'first_token: select(layernorm, 1, 0)',
      ...(isClassifier ? [`classifier: Linear(${labelsOf(fields)})`] : vitPooler(fields)),
    ],
  };
}

/** Frames, rows and columns of a patch. */
type Tube = readonly [time: number, high: number, wide: number];

const tubeLine = (tube: Tube): string =>
  `patch_embeddings: Conv3d(hidden_size, kernel_size=(${tube.join(', ')}), stride=(${tube.join(', ')}))`;

/** `trained`: tokens before those of patches. */
function partsOf(
  fields: ConfigFields,
  name: string,
  tube: Tube,
  trained: number,
  block: readonly string[],
): Omit<SpecParts, 'layers'> {
  const frames = fields.size('num_frames');
  const image = fields.size('image_size');
  const places =
    Math.floor(frames / tube[0]) * Math.floor(image / tube[1]) * Math.floor(image / tube[2]) + trained;
  return {
    name,
    comments: [],
    dims: { batch: 8, places, hidden_size: fields.size('hidden_size') },
    inputs: { video: `float32[batch, ${frames}, ${fields.size('num_channels')}, ${image}, ${image}]` },
    blocks: { ...activationBlocks(block), encoder_layer: block },
  };
}
