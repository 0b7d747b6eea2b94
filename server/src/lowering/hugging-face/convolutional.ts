/** Networks of convolutions (transformers 5.18): ResNet (modeling_resnet.py) and ConvNeXt (modeling_convnext.py, modeling_convnextv2.py). */

import { activationBlocks, activationCall, activationOf } from './activations.ts';
import { type ConfigFields, labelsOf } from './configFields.ts';
import { layerNorm } from './normalizations.ts';
import type { SpecParts } from './specText.ts';

export const convolutionalTypes: Readonly<Record<string, (fields: ConfigFields, name: string) => SpecParts>> =
  {
    resnet,
    convnext: (fields, name) => convnext(fields, name, false),
    convnextv2: (fields, name) => convnext(fields, name, true),
  };

/** Channels and blocks of each stage. */
export function stagesOf(
  fields: ConfigFields,
): readonly { readonly channels: number; readonly depth: number }[] {
  const depths = fields.sizes('depths');
  const channels = fields.sizes('hidden_sizes');
  if (depths.length !== channels.length)
    fields.problems.push('`depths` and `hidden_sizes` must be equally long');
  return depths.map((depth, stage) => ({ depth, channels: channels[stage] ?? 1 }));
}

function parts(
  fields: ConfigFields,
  name: string,
  blocks: Readonly<Record<string, readonly string[]>>,
  layers: readonly string[],
): SpecParts {
  // ResNet takes images of any size; 224 is that of ImageNet.
  const size = fields.optionalSize('image_size') ?? 224;
  return {
    name,
    comments: [],
    dims: { batch: 8 },
    inputs: { image: `float32[batch, ${fields.size('num_channels')}, ${size}, ${size}]` },
    blocks: { ...activationBlocks([...Object.values(blocks).flat(), ...layers]), ...blocks },
    layers,
  };
}

const isClassifier = ({ architecture = '' }: ConfigFields): boolean =>
  architecture.endsWith('ForImageClassification');

function resnet(fields: ConfigFields, name: string): SpecParts {
  const act = activationCall(activationOf(fields, 'relu'));
  const embedding = fields.size('embedding_size');
  const blocks: Record<string, readonly string[]> = {};
  const stack: string[] = [];
  let before = embedding;
  for (const [index, { channels, depth }] of stagesOf(fields).entries()) {
    const stage = index + 1;
    const stride = index > 0 || fields.flag('downsample_in_first_stage') ? 2 : 1;
    const hasShortcut = before !== channels || stride !== 1;
    const apart = hasShortcut ? 1 : 0;
    if (hasShortcut) {
      blocks[`stage_${stage}_start`] = resnetBlock(fields, channels, { stride, hasShortcut, act });
      stack.push(`stage_${stage}_first: stage_${stage}_start()`);
    }
    if (depth > apart) {
      blocks[`stage_${stage}_block`] = resnetBlock(fields, channels, { stride: 1, hasShortcut: false, act });
      stack.push(`stage_${stage}: stage_${stage}_block() * ${depth - apart}`);
    }
    before = channels;
  }
  return parts(fields, name, blocks, [
    `embedder: Conv2d(${embedding}, kernel_size=7, stride=2, padding=3, bias=False)`,
    `embedder_norm: BatchNorm2d(${embedding})`,
    `embedder_act: ${act}`,
    'embedder_pool: MaxPool2d(3, stride=2, padding=1)',
    ...stack,
    'pooler: AdaptiveAvgPool2d(1)',
    ...(isClassifier(fields) ? ['flat: flatten(1)', `classifier: Linear(${labelsOf(fields)})`] : []),
  ]);
}

/** Two convolutions of 3×3, or one between two that make channels fewer and more again. */
function resnetBlock(
  fields: ConfigFields,
  channels: number,
  of: { readonly stride: number; readonly hasShortcut: boolean; readonly act: string },
): readonly string[] {
  const inner = Math.floor(channels / 4);
  const convolution = (
    place: number,
    to: number,
    kernel: number,
    stride: number,
    from: string,
  ): readonly string[] => [
    `conv${place}: Conv2d(${to}, kernel_size=${kernel}${stride === 1 ? '' : `, stride=${stride}`}${kernel === 1 ? '' : `, padding=${Math.floor(kernel / 2)}`}, bias=False)${from}`,
    `norm${place}: BatchNorm2d(${to})`,
  ];
  const isBasic = fields.text('layer_type', 'bottleneck') === 'basic';
  const early = fields.flag('downsample_in_bottleneck');
  const source = of.hasShortcut ? ' from input' : '';
  const path = isBasic
    ? [
        ...convolution(1, channels, 3, of.stride, source),
        'act1: ReLU()',
        ...convolution(2, channels, 3, 1, ''),
      ]
    : [
        ...convolution(1, inner, 1, early ? of.stride : 1, source),
        'act1: ReLU()',
        ...convolution(2, inner, 3, early ? 1 : of.stride, ''),
        'act2: ReLU()',
        ...convolution(3, channels, 1, 1, ''),
      ];
  return [
    ...(of.hasShortcut
      ? [
          `shortcut: Conv2d(${channels}, kernel_size=1${of.stride === 1 ? '' : `, stride=${of.stride}`}, bias=False)`,
          `shortcut_norm: BatchNorm2d(${channels})`,
        ]
      : []),
    ...path,
    `sum: add(${isBasic ? 'norm2' : 'norm3'}, ${of.hasShortcut ? 'shortcut_norm' : 'input'})`,
    `output: ${of.act}`,
  ];
}

/** The second version normalizes responses of channels by those of all, and scales no branch. */
function convnext(fields: ConfigFields, name: string, isSecond: boolean): SpecParts {
  if (fields.number('drop_path_rate', 0) > 0)
    fields.problems.push('`drop_path_rate` is above 0, and blocks that training skips are not known here');
  const act = activationCall(activationOf(fields, 'gelu'));
  const scaled = !isSecond && fields.number('layer_scale_init_value', 1e-6) > 0;
  const patch = fields.size('patch_size');
  const norm = (size: number): string => layerNorm(1e-6)(String(size));
  /** Normalizes the channels of each pixel, which stand before the pixels. */
  const overChannels = (prefix: string, channels: number): readonly string[] => [
    `${prefix}_last: permute(0, 2, 3, 1)`,
    `${prefix}_norm: ${norm(channels)}`,
    `${prefix}_first: permute(0, 3, 1, 2)`,
  ];
  const stages = stagesOf(fields);
  const blocks: Record<string, readonly string[]> = {};
  const stack: string[] = [];
  for (const [index, { channels, depth }] of stages.entries()) {
    const stage = index + 1;
    const before = stages[index - 1]?.channels;
    if (before !== undefined) {
      stack.push(
        ...overChannels(`stage_${stage}`, before),
        `stage_${stage}_downsampling: Conv2d(${channels}, kernel_size=2, stride=2)`,
      );
    }
    blocks[`stage_${stage}_layer`] = [
      `dwconv: Conv2d(${channels}, kernel_size=7, padding=3, groups=${channels})`,
      'pixels: permute(0, 2, 3, 1)',
      `layernorm: ${norm(channels)}`,
      `pwconv1: Linear(${4 * channels})`,
      `act: ${act}`,
      ...(isSecond ? responseLines(4 * channels) : []),
      `pwconv2: Linear(${channels})`,
      ...(scaled
        ? [`layer_scale_parameter: Parameter(${channels})`, 'scaled: mul(layer_scale_parameter, pwconv2)']
        : []),
      'turned: permute(0, 3, 1, 2)',
      'output: add(input, turned)',
    ];
    stack.push(`stage_${stage}: stage_${stage}_layer() * ${depth}`);
  }
  const last = stages.at(-1)?.channels ?? 1;
  return parts(fields, name, blocks, [
    `patch_embeddings: Conv2d(${stages[0]?.channels ?? 1}, kernel_size=${patch}, stride=${patch})`,
    ...overChannels('embeddings', stages[0]?.channels ?? 1),
    ...stack,
    'averaged: mean(dim=(-2, -1))',
    `layernorm: ${layerNorm(fields.number('layer_norm_eps', 1e-12))(String(last))}`,
    ...(isClassifier(fields) ? [`classifier: Linear(${labelsOf(fields)})`] : []),
  ]);
}

/** Global response normalization (ConvNeXt V2, arXiv 2301.00808, section 3.2; `ConvNextV2GRN`). */
const responseLines = (channels: number): readonly string[] => [
  'responses: norm(p=2, dim=(1, 2), keepdim=True)',
  'average: mean(dim=-1, keepdim=True)',
  'bounded: add(0.000001)',
  'shares: div(responses, bounded)',
  `grn_weight: Parameter(1, 1, 1, ${channels})`,
  'normalized: mul(act, shares)',
  'weighed: mul(grn_weight, normalized)',
  `grn_bias: Parameter(1, 1, 1, ${channels})`,
  'shifted: add(weighed, grn_bias)',
  'grn: add(shifted, act)',
];
