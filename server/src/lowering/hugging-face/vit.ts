/**
 * Images, or spectra of sound, as patches: ViT (transformers 5.18, modeling_vit.py), and what inherits from it: DeiT, ViT-MSN, I-JEPA
 * and the audio spectrogram transformer.
 */

import { activationBlocks, activationCall, activationOf, knownActivation } from './activations.ts';
import { type Attention, attentionLines } from './attentionLines.ts';
import { type ConfigFields, labelsOf } from './configFields.ts';
import { dropoutLines } from './dropoutLines.ts';
import { selfAttention } from './encoderAttention.ts';
import type { EncoderType } from './encoderTypes.ts';
import { layerNorm } from './normalizations.ts';
import { patchTokens } from './patchTokens.ts';
import type { SpecParts } from './specText.ts';

interface VitKind {
  /** Trained tokens before those of patches. */
  readonly trained: number;
  /** What stands behind the last normalization where nothing is classified. */
  readonly pooled: 'none' | 'dense';
  /** What a classifier reads. */
  readonly classified: 'first' | 'mean';
}

export const vitTypes: Readonly<Record<string, EncoderType>> = {
  vit: (fields, name) => vit(fields, name, { trained: 1, pooled: 'dense', classified: 'first' }),
  deit: (fields, name) => vit(fields, name, { trained: 2, pooled: 'dense', classified: 'first' }),
  vit_msn: (fields, name) => vit(fields, name, { trained: 1, pooled: 'none', classified: 'first' }),
  ijepa: (fields, name) => vit(fields, name, { trained: 0, pooled: 'none', classified: 'mean' }),
  'audio-spectrogram-transformer': spectrogram,
};

function vit(fields: ConfigFields, name: string, { trained, pooled, classified }: VitKind): SpecParts {
  const norm = layerNorm(fields.number('layer_norm_eps', 1e-12))('hidden_size');
  const image = fields.size('image_size');
  const patch = fields.size('patch_size');
  const patches = Math.floor(image / patch) ** 2;
  const architecture = fields.architecture ?? '';
  const distilled = /WithTeacher$/.test(architecture);
  const first = 'first_token: select(layernorm, 1, 0)';
  const head = /ForImageClassification/.test(architecture)
    ? [
        classified === 'mean' ? 'averaged: mean(layernorm, dim=1)' : first,
        `classifier: Linear(${labelsOf(fields)})`,
      ]
    : pooled === 'dense'
      ? [first, ...vitPooler(fields)]
      : [];
  return {
    ...partsOf(fields, name, patches + trained),
    inputs: { image: `float32[batch, ${fields.size('num_channels')}, ${image}, ${image}]` },
    layers: [
      `patch_embeddings: Conv2d(hidden_size, kernel_size=${patch}, stride=${patch})`,
      ...(trained === 0 ? ['flat: flatten(2)', 'patches: transpose(1, 2)'] : patchTokens(trained)),
      ...bodyLines(fields, norm, trained === 0 ? 'patches' : 'with_cls'),
      ...head,
      ...(distilled
        ? [
            'second_token: select(layernorm, 1, 1)',
            `distillation_classifier: Linear(${labelsOf(fields)})`,
            'sum: add(classifier, distillation_classifier)',
          ]
        : []),
    ],
  };
}

/** Patches that overlap, of a spectrum with time along its second axis; the mean of two tokens is classified. */
function spectrogram(fields: ConfigFields, name: string): SpecParts {
  const norm = layerNorm(fields.number('layer_norm_eps', 1e-12))('hidden_size');
  const patch = fields.size('patch_size');
  const [frequencies, times] = [fields.size('num_mel_bins'), fields.size('max_length')];
  const strides = [fields.size('frequency_stride'), fields.size('time_stride')] as const;
  const along = (size: number, stride: number): number => Math.floor((size - patch) / stride) + 1;
  const patches = along(frequencies, strides[0]) * along(times, strides[1]);
  const isClassifier = /ForAudioClassification$/.test(fields.architecture ?? '');
  return {
    ...partsOf(fields, name, patches + 2),
    inputs: { spectrum: `float32[batch, ${times}, ${frequencies}]` },
    layers: [
      'channel: unsqueeze(spectrum, 1)',
      'turned: transpose(2, 3)',
      `patch_embeddings: Conv2d(hidden_size, kernel_size=${patch}, stride=(${strides.join(', ')}))`,
      ...patchTokens(2),
      ...bodyLines(fields, norm, 'with_cls'),
      'first_token: select(layernorm, 1, 0)',
      'second_token: select(layernorm, 1, 1)',
      'sum: add(first_token, second_token)',
      'pooled: div(2)',
      ...(isClassifier ? [`classifier_norm: ${norm}`, `classifier: Linear(${labelsOf(fields)})`] : []),
    ],
  };
}

/** Of `ViTPooler`. */
export const vitPooler = (fields: ConfigFields): readonly string[] => [
  `pooler: Linear(${fields.optionalSize('pooler_output_size') ?? 'hidden_size'})`,
  `pooler_act: ${activationCall(knownActivation(fields, fields.text('pooler_act', 'tanh')))}`,
];

/** A block that normalizes what it reads, over `places`. */
export function preNormBlock(
  fields: ConfigFields,
  changes: Partial<Attention> = { bias: fields.flag('qkv_bias', true) },
): readonly string[] {
  const norm = layerNorm(fields.number('layer_norm_eps', 1e-12))('hidden_size');
  const share = fields.number('hidden_dropout_prob', 0);
  return [
    `layernorm_before: ${norm}`,
    ...attentionLines(selfAttention(fields, changes), {
      source: 'layernorm_before',
      length: 'places',
    }),
    ...dropoutLines('attention_dropout', share),
    `attention_residual: add(${share > 0 ? 'attention_dropout' : 'attention_dense'}, input)`,
    `layernorm_after: ${norm}`,
    `intermediate_dense: Linear(${fields.size('intermediate_size')})`,
    `intermediate_act: ${activationCall(activationOf(fields, 'gelu'))}`,
    'output_dense: Linear(hidden_size)',
    ...dropoutLines('output_dropout', share),
    `output: add(${share > 0 ? 'output_dropout' : 'output_dense'}, attention_residual)`,
  ];
}

/** The name, the sizes and the block, which normalizes what it reads. */
function partsOf(fields: ConfigFields, name: string, places: number): Omit<SpecParts, 'inputs' | 'layers'> {
  const block = preNormBlock(fields);
  return {
    name,
    comments: [],
    dims: { batch: 8, places, hidden_size: fields.size('hidden_size') },
    blocks: { ...activationBlocks(block), encoder_layer: block },
  };
}

/** From tokens to the last normalization. */
function bodyLines(fields: ConfigFields, norm: string, tokens: string): readonly string[] {
  const share = fields.number('hidden_dropout_prob', 0);
  return [
    'position_embeddings: Parameter(1, places, hidden_size)',
    `embedded: add(${tokens}, position_embeddings)`,
    ...dropoutLines('embeddings_dropout', share),
    `encoder: encoder_layer() * ${fields.size('num_hidden_layers')}`,
    `layernorm: ${norm}`,
  ];
}
