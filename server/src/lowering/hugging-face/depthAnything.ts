/**
 * Depth Anything (arXiv 2401.10891; transformers 5.18, modeling_depth_anything.py): DINOv2, of which several layers are read as
 * maps of several sizes, joined from the smallest on.
 */

import type { ConfigFields } from './configFields.ts';
import { dinov2Body } from './dinov2.ts';
import type { SpecParts } from './specText.ts';

/** One map: its channels, its side and by how much it is larger than the grid of patches. */
interface Level {
  readonly depth: number;
  readonly channels: number;
  readonly factor: number;
  readonly side: number;
}

export function depthAnything(fields: ConfigFields, name: string): SpecParts {
  const backbone = fields.partOr('backbone_config', {
    model_type: 'dinov2',
    image_size: 518,
    hidden_size: 384,
    num_attention_heads: 6,
    out_indices: [9, 10, 11, 12],
  });
  if (backbone.type !== 'dinov2')
    fields.problems.push('the backbone is another than DINOv2, which is not known here');
  const body = dinov2Body(backbone);
  const layers = backbone.size('num_hidden_layers');
  const levels = levelsOf(fields, backbone, body.side);
  const width = fields.size('fusion_hidden_size');
  if (fields.number('head_in_index', -1) !== -1)
    fields.problems.push('`head_in_index` is another map than the last, which is not known');
  return {
    name,
    comments: [],
    dims: body.dims,
    inputs: body.inputs,
    blocks: body.blocks,
    layers: [
      ...body.lines,
      ...backboneLines(levels, layers),
      'backbone_norm_weight: Parameter(hidden_size)',
      'backbone_norm_bias: Parameter(hidden_size)',
      ...levels.flatMap((level, index) => mapLines(level, index, backbone, body.side, width)),
      ...fusionLines(levels, width),
      ...headLines(fields, body.side, width),
    ],
    outputs: [
      'depth',
      ...(body.isMasked ? ['mask_token'] : []),
      ...(backbone.flag('apply_layernorm', true) ? [] : ['backbone_norm_weight', 'backbone_norm_bias']),
      ...unreadOfFirst,
      ...(levels.at(-1)?.depth === layers ? [] : [layerName(layers)]),
    ],
  };
}

function levelsOf(fields: ConfigFields, backbone: ConfigFields, side: number): readonly Level[] {
  const channels = fields.sizes('neck_hidden_sizes');
  const factors = (fields.list('reassemble_factors') ?? []).filter((each) => typeof each === 'number');
  const layers = backbone.size('num_hidden_layers');
  const named = backbone.list('out_features')?.map((each) => Number(String(each).replace(/^stage/, '')));
  const indices = backbone.list('out_indices')?.filter((each) => typeof each === 'number') ?? named ?? [];
  const depths = indices.map((index) => (index < 0 ? layers + 1 + index : index));
  const isSorted = depths.every((depth, index) => {
    const before = depths[index - 1];
    return (
      Number.isInteger(depth) && depth <= layers && depth >= 1 && (before === undefined || depth > before)
    );
  });
  if (!isSorted || depths.length !== channels.length || factors.length !== channels.length)
    fields.problems.push('`out_indices`, `neck_hidden_sizes` and `reassemble_factors` do not fit together');
  return channels.map((count, index) => {
    const factor = factors[index] ?? 1;
    const stride = Math.max(1, Math.floor(1 / factor));
    return {
      depth: depths[index] ?? 1,
      channels: count,
      factor,
      side: factor >= 1 ? side * factor : Math.floor((side - 1) / stride) + 1,
    };
  });
}

const layerName = (depth: number): string => `encoder_${depth}`;

/** Runs of layers that end where maps are read. */
function backboneLines(levels: readonly Level[], layers: number): readonly string[] {
  const ends = [...new Set([...levels.map(({ depth }) => depth), layers])];
  const starts = [0, ...ends];
  return ends.flatMap((end, index) => {
    const start = starts[index];
    return start === undefined || end <= start ? [] : [`${layerName(end)}: encoder_layer() * ${end - start}`];
  });
}

/** From a layer's result to a map of `width` channels. */
function mapLines(
  { depth, channels, factor }: Level,
  index: number,
  backbone: ConfigFields,
  side: number,
  width: number,
): readonly string[] {
  const level = index + 1;
  const eps = backbone.number('layer_norm_eps', 1e-6);
  const isNormalized = backbone.flag('apply_layernorm', true);
  return [
    ...(isNormalized
      ? [
          `normalized_${level}: LayerNormalization(axis=-1, epsilon=${eps}) from ${layerName(depth)}, backbone_norm_weight, backbone_norm_bias`,
        ]
      : []),
    `patches_${level}: narrow(${isNormalized ? `normalized_${level}` : layerName(depth)}, 1, 1, places - 1)`,
    `grid_${level}: reshape(batch, ${side}, ${side}, hidden_size)`,
    `turned_${level}: permute(0, 3, 1, 2)`,
    `map_${level}: repeat(1, 1, 1, 1)`,
    `projection_${level}: Conv2d(${channels}, kernel_size=1)`,
    ...(factor > 1
      ? [`resize_${level}: ConvTranspose2d(${channels}, kernel_size=${factor}, stride=${factor})`]
      : factor < 1
        ? [`resize_${level}: Conv2d(${channels}, kernel_size=3, stride=${Math.floor(1 / factor)}, padding=1)`]
        : []),
    `feature_${level}: Conv2d(${width}, kernel_size=3, padding=1, bias=False)`,
  ];
}

/** Two convolutions behind activations, and what they read (`DepthAnythingPreActResidualLayer`). */
const residualLines = (name: string, source: string, width: number): readonly string[] => [
  `${name}_relu_1: ReLU() from ${source}`,
  `${name}_conv_1: Conv2d(${width}, kernel_size=3, padding=1)`,
  `${name}_relu_2: ReLU()`,
  `${name}_conv_2: Conv2d(${width}, kernel_size=3, padding=1)`,
  `${name}: add(${name}_conv_2, ${source})`,
];

/** Weights of the first fusion, which has nothing to add. */
const unreadOfFirst = ['unread_1', 'unread_bias_1', 'unread_2', 'unread_bias_2'];

function fusionLines(levels: readonly Level[], width: number): readonly string[] {
  const lines = [1, 2].flatMap((convolution) => [
    `unread_${convolution}: Parameter(${width}, ${width}, 3, 3)`,
    `unread_bias_${convolution}: Parameter(${width})`,
  ]);
  const reversed = [...levels.keys()].reverse();
  for (const [step, index] of reversed.entries()) {
    const feature = `feature_${index + 1}`;
    const joined = step === 0 ? feature : `joined_${step + 1}`;
    if (step > 0) {
      lines.push(
        ...residualLines(`residual_${step + 1}`, feature, width),
        `${joined}: add(fused_${step}, residual_${step + 1})`,
      );
    }
    const next = levels[index - 1];
    const size = next === undefined ? 'scale_factor=2' : `size=(${next.side}, ${next.side})`;
    lines.push(
      ...residualLines(`own_${step + 1}`, joined, width),
      `resized_${step + 1}: interpolate(${size}, mode='bilinear', align_corners=True)`,
      `fused_${step + 1}: Conv2d(${width}, kernel_size=1)`,
    );
  }
  return lines;
}

function headLines(fields: ConfigFields, side: number, width: number): readonly string[] {
  const pixels = side * fields.size('patch_size');
  return [
    `conv1: Conv2d(${Math.floor(width / 2)}, kernel_size=3, padding=1)`,
    `upsampled: interpolate(size=(${pixels}, ${pixels}), mode='bilinear', align_corners=True)`,
    `conv2: Conv2d(${fields.size('head_hidden_size')}, kernel_size=3, padding=1)`,
    'head_relu: ReLU()',
    'conv3: Conv2d(1, kernel_size=1)',
    `head_act: ${fields.text('depth_estimation_type', 'relative') === 'metric' ? 'Sigmoid()' : 'ReLU()'}`,
    `scaled: mul(${fields.optionalSize('max_depth') ?? 1})`,
    'depth: squeeze(1)',
  ];
}
