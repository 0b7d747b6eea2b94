/**
 * Models that read images and text: a tower whose results a projector makes tokens of, which take the place of tokens of text
 * (transformers 5.18, `get_image_features` of `modeling_*.py`).
 */

import { featuresAt, type InnerTower, visionTower } from './clip.ts';
import type { ConfigFields } from './configFields.ts';
import type { ImagePart } from './decoder.ts';
import { allImages, imageEmbeds, projectorLines, shuffleLines } from './imageLines.ts';
import { layerNorm, rmsNorm } from './normalizations.ts';
import { internVl, mistral3, pixtralLlava, withPixtralDefaults } from './otherTowers.ts';
import { qwenImageTypes } from './qwenVision.ts';

/** `undefined` where the tower is not known. */
type ImagesOf = (fields: ConfigFields) => ImagePart | undefined;

type Standard = Readonly<Record<string, unknown>>;

const clipStandard: Standard = {
  model_type: 'clip_vision_model',
  intermediate_size: 4096,
  hidden_size: 1024,
  patch_size: 14,
  image_size: 336,
  num_hidden_layers: 24,
  num_attention_heads: 16,
};

/** A tower of CLIP or SigLIP, and the names of what is read of it. */
interface Features {
  readonly vision: ConfigFields;
  readonly names: readonly string[];
  /** Tokens of an image, without the first where it is left out. */
  readonly tokens: number;
  readonly side: number;
  readonly part: Pick<ImagePart, 'dims' | 'inputs' | 'blocks' | 'lines' | 'unread'>;
}

/** `layers`: those that are read, from the end where they are negative; `undefined` for the result of the whole tower. */
function featuresOf(
  fields: ConfigFields,
  vision: ConfigFields,
  layers: readonly number[] | undefined,
  images = allImages,
): Features | undefined {
  const family = { clip_vision_model: 'clip', siglip_vision_model: 'siglip' } as const;
  const known = Object.entries(family).find(([type]) => type === vision.type)?.[1];
  if (known === undefined) return undefined;
  const count = vision.size('num_hidden_layers');
  const depths = (layers ?? []).map((layer) => (layer < 0 ? count + 1 + layer : layer));
  if (depths.some((depth) => depth < 1 || depth > count))
    fields.problems.push(`a feature layer is none of the ${count} layers of the vision tower`);
  const inner: InnerTower = { images, depths: [...depths].sort((left, right) => left - right) };
  const tower = visionTower(vision, known, false, vision, inner);
  const side = Math.floor(vision.size('image_size') / vision.size('patch_size'));
  const last = known === 'clip' ? 'vision_encoder' : 'vision_post_norm';
  const isPooled = known === 'clip' || vision.flag('vision_use_head', true);
  const unread = isPooled ? ['vision_pooled'] : layers === undefined ? [] : ['vision_post_norm'];
  return {
    vision,
    names: layers === undefined ? [last] : depths.map((depth) => featuresAt(depth, count)),
    tokens: side * side + (known === 'clip' ? 1 : 0),
    side,
    part: { dims: tower.dims, inputs: tower.inputs, blocks: tower.blocks, lines: tower.layers, unread },
  };
}

/** Layers that a config reads: one, or several whose results stand beside each other. */
function readLayers(fields: ConfigFields, name: string, otherwise: number): readonly number[] {
  const list = fields.list(name);
  if (list === undefined) return [fields.number(name, otherwise)];
  return list.filter((layer) => typeof layer === 'number');
}

/** The results of a tower that a projector reads, side by side, without the first token where a config leaves it out. */
function readLines({ names }: Features, dropsFirst: boolean): readonly string[] {
  const cut = dropsFirst ? names.map((name) => `${name}_patches: narrow(${name}, 1, 1, places - 1)`) : [];
  const read = dropsFirst ? names.map((name) => `${name}_patches`) : names;
  return [
    ...cut,
    read.length === 1
      ? `features: Identity() from ${read[0]}`
      : `features: cat((${read.join(', ')}), dim=-1)`,
  ];
}

/** An image as one (LLaVA), or as four parts of it and a small one beside (`tiles`, LLaVA-NeXT). */
const llava =
  (standard: Standard, layer: number, isTiled = false): ImagesOf =>
  (fields) => {
    const tiles = isTiled ? 5 : 1;
    const vision = fields.partOr('vision_config', standard);
    if (vision.type === 'pixtral' && !isTiled) return pixtralLlava(fields, withPixtralDefaults(vision));
    const features = featuresOf(
      fields,
      vision,
      readLayers(fields, 'vision_feature_layer', layer),
      isTiled ? `${allImages}*${tiles}` : allImages,
    );
    if (features === undefined) return undefined;
    const drops = fields.text('vision_feature_select_strategy', 'default') === 'default';
    const places = features.tokens - (drops ? 1 : 0);
    // A token ends each row of the four parts, which stand side by side.
    const rows = isTiled ? 2 * features.side : 0;
    return {
      ...features.part,
      dims: { ...features.part.dims, image_tokens: places * tiles + rows },
      lines: [
        ...features.part.lines,
        ...readLines(features, drops),
        ...projectorLines(fields),
        ...(isTiled
          ? [
              `of_tiles: reshape(${allImages}, ${places * tiles}, hidden_size)`,
              'image_newline: Parameter(hidden_size)',
              `newlines: expand(image_newline, ${allImages}, ${rows}, hidden_size)`,
              'packed: cat((of_tiles, newlines), dim=1)',
            ]
          : []),
        imageEmbeds,
      ],
      tokens: places * tiles + rows,
    };
  };

const vipLlava: ImagesOf = (fields) => {
  const listed = fields.list('vision_feature_layers')?.filter((layer) => typeof layer === 'number');
  const layers = listed ?? [fields.number('vision_feature_layers', -2)];
  const features = featuresOf(fields, fields.partOr('vision_config', clipStandard), layers);
  if (features === undefined) return undefined;
  const norm = layerNorm(fields.number('projector_layernorm_eps', 1e-5));
  return {
    ...features.part,
    dims: { ...features.part.dims, image_tokens: features.tokens - 1 },
    lines: [
      ...features.part.lines,
      ...readLines(features, true),
      `projector_layernorm: ${norm(String(layers.length * features.vision.size('hidden_size')))}`,
      ...projectorLines(fields),
      imageEmbeds,
    ],
    tokens: features.tokens - 1,
  };
};

/** One layer behind SigLIP. */
const paliGemma: ImagesOf = (fields) => {
  const features = featuresOf(
    fields,
    fields.partOr('vision_config', {
      ...clipStandard,
      model_type: 'siglip_vision_model',
      hidden_size: 1152,
      image_size: 224,
      num_hidden_layers: 27,
      vision_use_head: false,
    }),
    undefined,
  );
  if (features === undefined) return undefined;
  return {
    ...features.part,
    dims: { ...features.part.dims, image_tokens: 'places' },
    lines: [...features.part.lines, `linear: Linear(hidden_size) from ${features.names[0]}`, imageEmbeds],
    tokens: features.tokens,
    joinsScaled: true,
    masked: true,
  };
};

/** Means of neighbours, normalized and projected (`Gemma3MultiModalProjector`). */
const gemma3: ImagesOf = (fields) => {
  const features = featuresOf(fields, fields.part('vision_config', 'siglip_vision_model'), undefined);
  if (features === undefined) return undefined;
  const { vision, side } = features;
  const tokenSide = Math.floor(Math.sqrt(fields.number('mm_tokens_per_image', 256)));
  const kernel = Math.max(1, Math.floor(side / Math.max(1, tokenSide)));
  const tokens = Math.floor((side - kernel) / kernel + 1) ** 2;
  return {
    ...features.part,
    dims: { ...features.part.dims, image_tokens: tokens },
    lines: [
      ...features.part.lines,
      `channels: transpose(${features.names[0]}, 1, 2)`,
      `grid: reshape(${allImages}, vision_size, ${side}, ${side})`,
      `avg_pool: AvgPool2d(${kernel})`,
      'pooled: flatten(2)',
      'soft_tokens: transpose(1, 2)',
      `mm_soft_emb_norm: ${rmsNorm(vision.number('layer_norm_eps', 1e-6))('vision_size')}`,
      'mm_input_projection_weight: Parameter(vision_size, hidden_size)',
      'projected: matmul(mm_soft_emb_norm, mm_input_projection_weight)',
      imageEmbeds,
    ],
    tokens,
    joinsScaled: true,
    masked: true,
  };
};

/** Neighbours side by side in one token (`Idefics3Connector`); images in equal parts of the size of the tower. */
const idefics3: ImagesOf = (fields) => {
  const vision = fields.part('vision_config', 'siglip_vision_model', {
    hidden_size: 1152,
    image_size: 224,
    patch_size: 32,
    num_attention_heads: 16,
    vision_use_head: false,
  });
  const features = featuresOf(fields, vision, undefined);
  if (features === undefined) return undefined;
  const scale = fields.number('scale_factor', 2);
  const { side } = features;
  const small = Math.floor(side / scale);
  const tokens = small * small;
  return {
    ...features.part,
    dims: { ...features.part.dims, image_tokens: tokens },
    lines: [
      ...features.part.lines,
      ...shuffleLines('vision_post_norm', side, scale),
      'modality_projection: Linear(hidden_size, bias=False)',
      imageEmbeds,
    ],
    tokens,
  };
};

/** Cohere's: neighbours side by side in one token, and two layers with a gate between. */
const gatedProjector =
  (standard: Standard, isNormalized: boolean): ImagesOf =>
  (fields) => {
    const vision = fields.partOr('vision_config', { model_type: 'siglip_vision_model', ...standard });
    const layers = isNormalized ? readLayers(fields, 'vision_feature_layer', -1) : undefined;
    const features = featuresOf(fields, vision, layers);
    if (features === undefined) return undefined;
    const scale = fields.size('downsample_factor');
    const small = Math.floor(features.side / scale);
    const given = fields.optionalSize('alignment_intermediate_size');
    const norm = layerNorm(fields.number('adapter_layer_norm_eps', 1e-6));
    return {
      ...features.part,
      dims: { ...features.part.dims, image_tokens: small * small },
      lines: [
        ...features.part.lines,
        ...readLines(features, false),
        ...shuffleLines('features', features.side, scale),
        ...(isNormalized ? [`projector_norm: ${norm(`vision_size*${scale * scale}`)}`] : []),
        `linear_1: Linear(${given ?? 'hidden_size'})`,
        'projected, projector_gate: chunk(2, dim=-1)',
        'projector_act: SiLU() from projector_gate',
        'projector_gated: mul(projector_act, projected)',
        'linear_2: Linear(hidden_size)',
        imageEmbeds,
      ],
      tokens: small * small,
    };
  };

export const imageTypes: Readonly<Record<string, ImagesOf>> = {
  llava: llava(clipStandard, -2),
  llava_next: llava(clipStandard, -2, true),
  llava_onevision: llava(
    {
      ...clipStandard,
      model_type: 'siglip_vision_model',
      hidden_size: 1152,
      intermediate_size: 4304,
      image_size: 384,
      num_hidden_layers: 26,
      vision_use_head: false,
    },
    -1,
    true,
  ),
  vipllava: vipLlava,
  paligemma: paliGemma,
  gemma3,
  idefics3,
  smolvlm: idefics3,
  internvl: internVl,
  mistral3,
  aya_vision: gatedProjector(
    {
      hidden_size: 1152,
      intermediate_size: 4304,
      patch_size: 14,
      image_size: 384,
      num_hidden_layers: 26,
      num_attention_heads: 14,
      vision_use_head: false,
    },
    true,
  ),
  cohere2_vision: gatedProjector(
    {
      hidden_size: 1152,
      intermediate_size: 3072,
      image_size: 512,
      num_hidden_layers: 27,
      num_attention_heads: 12,
    },
    false,
  ),
  ...qwenImageTypes,
};
