/**
 * A tower of text and one of images whose embeddings are compared: CLIP (arXiv 2103.00020; modeling_clip.py of transformers
 * 5.18), MetaCLIP 2, whose modeling_metaclip_2.py computes the same, and SigLIP (arXiv 2303.15343; modeling_siglip.py), whole or one tower alone.
 */

import { itemAt } from '../../model/at.ts';
import { activationBlocks, activationCall, activationOf } from './activations.ts';
import { type Attention, attentionLines, evenHeads } from './attentionLines.ts';
import type { ConfigFields } from './configFields.ts';
import { bartNames } from './encoderAttention.ts';
import { needWhole } from './encoderDecoder.ts';
import { layerNorm } from './normalizations.ts';
import type { SpecParts } from './specText.ts';

type Family = 'clip' | 'siglip';
type Writer = (fields: ConfigFields, name: string) => SpecParts;

export const clipTypes: Readonly<Record<string, Writer>> = {
  clip: (fields, name) => both(fields, name, 'clip'),
  clip_text_model: (fields, name) => joined(name, [textTower(fields, 'clip', isProjected(fields))]),
  clip_vision_model: (fields, name) => joined(name, [visionTower(fields, 'clip', isProjected(fields))]),
  metaclip_2: (fields, name) => both(fields, name, 'clip'),
  metaclip_2_text_model: (fields, name) => joined(name, [textTower(fields, 'clip', isProjected(fields))]),
  metaclip_2_vision_model: (fields, name) => joined(name, [visionTower(fields, 'clip', isProjected(fields))]),
  siglip: (fields, name) => both(fields, name, 'siglip'),
  siglip_text_model: (fields, name) => joined(name, [textTower(fields, 'siglip')]),
  siglip_vision_model: (fields, name) => joined(name, [visionTower(fields, 'siglip')]),
};

const isProjected = ({ architecture = '' }: ConfigFields): boolean => architecture.endsWith('WithProjection');

export interface Tower {
  readonly dims: Readonly<Record<string, number>>;
  readonly inputs: Readonly<Record<string, string>>;
  readonly blocks: Readonly<Record<string, readonly string[]>>;
  readonly layers: readonly string[];
}

function both(fields: ConfigFields, name: string, family: Family): SpecParts {
  needWhole(fields, /^(CLIP|MetaClip2|Siglip)Model$/);
  const vision = fields.part('vision_config', `${fields.type}_vision_model`);
  const text = textTower(fields.part('text_config', `${fields.type}_text_model`), family, true, fields);
  const image = visionTower(vision, family, true, fields);
  return joined(
    name,
    [image, text],
    [
      ...normalized('image', family === 'clip' ? 'visual_projection' : 'vision_pooled'),
      ...normalized('text', family === 'clip' ? 'text_projection' : 'text_head'),
      'image_columns: transpose(image_embeds, 0, 1)',
      'similarity: matmul(text_embeds, image_columns)',
      'logit_scale: Parameter()',
      'scale: exp(logit_scale)',
      'logits: mul(similarity, scale)',
      ...(family === 'clip' ? [] : ['logit_bias: Parameter()', 'biased: add(logits, logit_bias)']),
    ],
  );
}

/** Divided by their length. */
const normalized = (prefix: string, source: string): readonly string[] => [
  `${prefix}_squares: pow(${source}, 2)`,
  `${prefix}_sum: sum(dim=-1, keepdim=True)`,
  `${prefix}_length: sqrt()`,
  `${prefix}_embeds: div(${source}, ${prefix}_length)`,
];

function joined(name: string, towers: readonly Tower[], tail: readonly string[] = []): SpecParts {
  const merge = <Key extends 'dims' | 'inputs' | 'blocks'>(key: Key): Tower[Key] =>
    Object.assign({}, ...towers.map((tower) => tower[key]));
  const blocks = merge('blocks');
  return {
    name,
    comments: [],
    dims: { batch: 8, ...merge('dims') },
    inputs: merge('inputs'),
    blocks: {
      ...activationBlocks([...Object.values(blocks).flat(), ...towers.flatMap(({ layers }) => layers)]),
      ...blocks,
    },
    layers: [...towers.flatMap(({ layers }) => layers), ...tail],
  };
}

/** `isWhole`: whether what it gives is projected, to the size that `whole` names. */
function textTower(fields: ConfigFields, family: Family, isWhole = true, whole = fields): Tower {
  const norm = layerNorm(fields.number('layer_norm_eps', 1e-5))('text_size');
  const hidden = fields.size('hidden_size');
  const longest = fields.size('max_position_embeddings');
  return {
    dims: { seq: longest, text_size: hidden },
    inputs: {
      tokens: 'int64[batch, seq]',
      positions: 'int64[1, seq]',
      ...(family === 'clip' ? { ends: 'int64[batch]' } : {}),
    },
    blocks: { text_layer: blockLines(fields, 'text_size', 'seq', family === 'clip') },
    layers: [
      `token_embedding: Embedding(${fields.size('vocab_size')}, text_size) from tokens`,
      `text_positions: Embedding(${longest}, text_size) from positions`,
      'text_embedded: add(token_embedding, text_positions)',
      `text_encoder: text_layer() * ${fields.size('num_hidden_layers')}`,
      `text_norm: ${norm}`,
      ...(family === 'clip'
        ? [
            // The row of each text's end, in all rows of the batch.
            'text_rows: reshape(batch*seq, text_size)',
            'text_pooled: index_select(text_rows, ends, 0)',
            ...(isWhole ? [`text_projection: Linear(${projectionOf(whole)}, bias=False)`] : []),
          ]
        : [
            'text_pooled: select(text_norm, 1, -1)',
            `text_head: Linear(${fields.optionalSize('projection_size') ?? hidden})`,
          ]),
    ],
  };
}

const projectionOf = (fields: ConfigFields): number => fields.size('projection_dim');

/** A tower inside a model that reads other layers of it than the last. */
export interface InnerTower {
  /** How many images there are: arithmetic over dims. */
  readonly images: string;
  /** After how many layers its results are read, each greater than the one before. */
  readonly depths: readonly number[];
}

/** The name of what a tower gives after so many layers. */
export const featuresAt = (depth: number, layers: number): string =>
  depth >= layers ? 'vision_encoder' : `vision_encoder_${depth}`;

/** Layers as one run, or as several that end where results are read. */
function runLines(layers: number, depths: readonly number[]): readonly string[] {
  const ends = [...new Set([...depths.filter((depth) => depth > 0 && depth < layers), layers])];
  const starts = [0, ...ends];
  return ends.map(
    (end, index) => `${featuresAt(end, layers)}: vision_layer() * ${end - itemAt(starts, index)}`,
  );
}

export function visionTower(
  fields: ConfigFields,
  family: Family,
  isWhole = true,
  whole = fields,
  { images, depths }: InnerTower = { images: 'batch', depths: [] },
): Tower {
  const norm = layerNorm(fields.number('layer_norm_eps', family === 'clip' ? 1e-5 : 1e-6))('vision_size');
  const image = fields.size('image_size');
  const patch = fields.size('patch_size');
  const patches = Math.floor(image / patch) ** 2;
  const isClip = family === 'clip';
  const pooled = isClip
    ? ['vision_first: select(vision_encoder, 1, 0)', `vision_pooled: ${norm}`]
    : [...(fields.flag('vision_use_head', true) ? poolingLines(fields, norm, images) : [])];
  const layers = fields.size('num_hidden_layers');
  return {
    dims: { places: isClip ? patches + 1 : patches, vision_size: fields.size('hidden_size') },
    inputs: {
      image: `float32[${images}, ${fields.size('num_channels')}, ${image}, ${image}]`,
      places_of_image: 'int64[1, places]',
    },
    blocks: { vision_layer: blockLines(fields, 'vision_size', 'places', false, images) },
    layers: [
      `patch_embedding: Conv2d(vision_size, kernel_size=${patch}, stride=${patch}${isClip ? ', bias=False' : ''}) from image`,
      'flat: flatten(2)',
      'patch_embeds: transpose(1, 2)',
      ...(isClip
        ? [
            'class_embedding: Parameter(1, 1, vision_size)',
            `class_embeds: expand(class_embedding, ${images}, 1, vision_size)`,
            'with_class: cat((class_embeds, patch_embeds), dim=1)',
          ]
        : []),
      'vision_positions: Embedding(places, vision_size) from places_of_image',
      `vision_embedded: add(${isClip ? 'with_class' : 'patch_embeds'}, vision_positions)`,
      ...(isClip ? [`vision_pre_norm: ${norm}`] : []),
      ...runLines(layers, depths),
      ...(isClip ? [] : [`vision_post_norm: ${norm}`]),
      ...pooled,
      ...(isWhole && isClip ? [`visual_projection: Linear(${projectionOf(whole)}, bias=False)`] : []),
    ],
  };
}

/** Attention of one trained vector over all patches (`SiglipMultiheadAttentionPoolingHead`). */
function poolingLines(fields: ConfigFields, norm: string, images: string): readonly string[] {
  return [
    'probe: Parameter(1, 1, vision_size)',
    `probes: expand(probe, ${images}, 1, vision_size)`,
    ...attentionLines(
      { ...attentionOf(fields, false), written: true, dropout: 0 },
      {
        source: 'probes',
        memory: 'vision_post_norm',
        length: '1',
        memoryLength: 'places',
        prefix: 'pool_',
        width: 'vision_size',
        rows: images,
      },
    ),
    `pool_norm: ${norm}`,
    `pool_fc1: Linear(${fields.size('intermediate_size')})`,
    `pool_act: ${activationCall(activationOf(fields, 'gelu_pytorch_tanh'))}`,
    'pool_fc2: Linear(vision_size)',
    'pool_sum: add(pool_out_proj, pool_fc2)',
    'vision_pooled: select(pool_sum, 1, 0)',
  ];
}

function attentionOf(fields: ConfigFields, causal: boolean): Attention {
  return {
    ...evenHeads(fields.size('num_attention_heads'), fields.size('hidden_size')),
    causal,
    dropout: fields.number('attention_dropout', 0),
    names: bartNames,
  };
}

function blockLines(
  fields: ConfigFields,
  width: string,
  length: string,
  causal: boolean,
  rows = 'batch',
): readonly string[] {
  const norm = layerNorm(fields.number('layer_norm_eps', 1e-5))(width);
  return [
    `layer_norm1: ${norm}`,
    ...attentionLines(attentionOf(fields, causal), { source: 'layer_norm1', length, width, rows }),
    'residual: add(out_proj, input)',
    `layer_norm2: ${norm}`,
    `fc1: Linear(${fields.size('intermediate_size')})`,
    `activation_fn: ${activationCall(activationOf(fields, 'quick_gelu'))}`,
    `fc2: Linear(${width})`,
    'output: add(fc2, residual)',
  ];
}
