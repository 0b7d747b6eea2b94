/**
 * SegFormer (arXiv 2105.15203; modeling_segformer.py of transformers 5.18): stages of attention whose keys stand for squares of
 * patches, with convolutions in place of positions, and a head of one projection for each stage.
 */

import { activationBlocks, activationCall, activationOf } from './activations.ts';
import { attentionLines, evenHeads } from './attentionLines.ts';
import { type ConfigFields, labelsOf } from './configFields.ts';
import type { SpecParts } from './specText.ts';

interface Stage {
  readonly number: number;
  readonly channels: number;
  readonly heads: number;
  readonly depth: number;
  /** Patches along each side of the image. */
  readonly side: number;
  /** Patches along each side of a square that is one key. */
  readonly reduction: number;
  readonly hidden: number;
}

/** The side of images, which a config does not say: that of ImageNet, or of the segmentation of ADE20K. */
const sideOf = (fields: ConfigFields): number =>
  fields.architecture?.endsWith('ForSemanticSegmentation') === true ? 512 : 224;

export function segformer(fields: ConfigFields, name: string): SpecParts {
  const image = fields.optionalSize('image_size') ?? sideOf(fields);
  const stages = stagesOf(fields, image);
  const patches = fields.sizes('patch_sizes');
  const strides = fields.sizes('strides');
  const blocks = Object.fromEntries(
    stages.map((stage) => [`stage_${stage.number}_layer`, blockLines(fields, stage)]),
  );
  const last = stages.at(-1);
  const layers = [
    ...stages.flatMap((stage, index) => stageLines(stage, patches[index] ?? 1, strides[index] ?? 1)),
    ...headLines(fields, stages, last),
  ];
  return {
    name,
    comments: [],
    dims: { batch: 8 },
    inputs: { image: `float32[batch, ${fields.size('num_channels')}, ${image}, ${image}]` },
    blocks: { ...activationBlocks(Object.values(blocks).flat()), ...blocks },
    layers,
  };
}

function stagesOf(fields: ConfigFields, image: number): readonly Stage[] {
  if (!fields.flag('reshape_last_stage', true))
    fields.problems.push('`reshape_last_stage` is false, which is not known here');
  const lists = ['depths', 'hidden_sizes', 'num_attention_heads', 'sr_ratios', 'patch_sizes', 'strides'].map(
    (field) => fields.sizes(field),
  );
  const [depths = [], channels = [], heads = [], reductions = [], patches = [], strides = []] = lists;
  const ratios = fields.list('mlp_ratios') ?? [];
  if (lists.some((list) => list.length !== depths.length) || ratios.length !== depths.length)
    fields.problems.push('lists with a value for each stage, such as `depths`, must be equally long');
  let side = image;
  return depths.map((depth, index) => {
    const patch = patches[index] ?? 1;
    side = Math.floor((side + 2 * Math.floor(patch / 2) - patch) / (strides[index] ?? 1)) + 1;
    const ratio = ratios[index];
    const stage: Stage = {
      number: index + 1,
      channels: channels[index] ?? 1,
      heads: heads[index] ?? 1,
      depth,
      side,
      reduction: reductions[index] ?? 1,
      hidden: Math.floor((channels[index] ?? 1) * (typeof ratio === 'number' ? ratio : 4)),
    };
    if (stage.reduction > side || stage.channels % stage.heads !== 0)
      fields.problems.push('`sr_ratios` or `num_attention_heads` do not fit the stages');
    return stage;
  });
}

/** Overlapping patches, blocks, and the rows of patches as an image again. */
const stageLines = (
  { number, channels, depth, side }: Stage,
  patch: number,
  stride: number,
): readonly string[] => [
  `patches_${number}: Conv2d(${channels}, kernel_size=${patch}, stride=${stride}, padding=${Math.floor(patch / 2)})${number === 1 ? ' from image' : ''}`,
  `flat_${number}: flatten(2)`,
  `tokens_${number}: transpose(1, 2)`,
  `patch_norm_${number}: LayerNorm(${channels})`,
  `stage_${number}: stage_${number}_layer() * ${depth}`,
  `norm_${number}: LayerNorm(${channels})`,
  `rows_${number}: reshape(batch, ${side}, ${side}, ${channels})`,
  `map_${number}: permute(0, 3, 1, 2)`,
];

function blockLines(fields: ConfigFields, stage: Stage): readonly string[] {
  const { channels, heads, side, reduction, hidden } = stage;
  const share = fields.number('hidden_dropout_prob', 0);
  const drop = (line: string): readonly string[] => (share > 0 ? [`${line}: Dropout(${share})`] : []);
  const path = fields.number('drop_path_rate', 0);
  const dropPath = (line: string): readonly string[] =>
    path > 0 ? [`${line}: StochasticDepth(${path}, 'row', noise='rounded')`] : [];
  const reduced = Math.floor((side - reduction) / reduction) + 1;
  const nameOf = (lines: readonly string[]): string => lines.at(-1)?.split(':')[0] ?? 'input';
  const attended = [
    ...(reduction > 1
      ? [
          'channels_first: transpose(1, 2)',
          `as_image: reshape(batch, ${channels}, ${side}, ${side})`,
          `sequence_reduction: Conv2d(${channels}, kernel_size=${reduction}, stride=${reduction})`,
          'squares: flatten(2)',
          'squares_last: transpose(1, 2)',
          `reduced: LayerNorm(${channels})`,
        ]
      : []),
    ...attentionLines(
      {
        ...evenHeads(heads, channels),
        dropout: fields.number('attention_probs_dropout_prob', 0),
      },
      {
        source: 'layernorm_before',
        ...(reduction > 1 ? { memory: 'reduced' } : {}),
        length: String(side ** 2),
        memoryLength: String(reduction > 1 ? reduced ** 2 : side ** 2),
        width: String(channels),
      },
    ),
    ...drop('attention_dropout'),
    ...dropPath('attention_path'),
  ];
  const fed = [
    `fc1: Linear(${hidden})`,
    'hidden_first: transpose(1, 2)',
    `hidden_image: reshape(batch, ${hidden}, ${side}, ${side})`,
    `dwconv: Conv2d(${hidden}, kernel_size=3, padding=1, groups=${hidden})`,
    'hidden_flat: flatten(2)',
    'hidden_last: transpose(1, 2)',
    `activation_fn: ${activationCall(activationOf(fields, 'gelu'))}`,
    ...drop('hidden_dropout'),
    `fc2: Linear(${channels})`,
    ...drop('output_dropout'),
    ...dropPath('output_path'),
  ];
  return [
    `layernorm_before: LayerNorm(${channels})`,
    ...attended,
    `residual: add(${nameOf(attended)}, input)`,
    `layernorm_after: LayerNorm(${channels})`,
    ...fed,
    `output: add(${nameOf(fed)}, residual)`,
  ];
}

/** Scores of the whole image, or of each square of pixels from all stages (`SegformerDecodeHead`). */
function headLines(
  fields: ConfigFields,
  stages: readonly Stage[],
  last: Stage | undefined,
): readonly string[] {
  const { architecture = '' } = fields;
  const labels = labelsOf(fields);
  if (architecture.endsWith('ForImageClassification'))
    return [
      'channels_last: permute(0, 2, 3, 1)',
      `all_patches: reshape(batch, ${(last?.side ?? 1) ** 2}, ${last?.channels ?? 1})`,
      'averaged: mean(dim=1)',
      `classifier: Linear(${labels})`,
    ];
  if (!architecture.endsWith('ForSemanticSegmentation')) return [];
  const width = fields.size('decoder_hidden_size');
  const first = stages[0]?.side ?? 1;
  const share = fields.number('classifier_dropout_prob', 0.1);
  return [
    ...stages.flatMap(({ number, side }) => [
      `decode_flat_${number}: flatten(2) from map_${number}`,
      `decode_last_${number}: transpose(1, 2)`,
      `linear_projection_${number}: Linear(${width})`,
      `decode_first_${number}: transpose(1, 2)`,
      `decode_map_${number}: reshape(batch, ${width}, ${side}, ${side})`,
      `upsampled_${number}: interpolate(size=(${first}, ${first}), mode='bilinear')`,
    ]),
    `stacked: cat((${[...stages]
      .reverse()
      .map(({ number }) => `upsampled_${number}`)
      .join(', ')}), dim=1)`,
    `linear_fuse: Conv2d(${width}, kernel_size=1, bias=False)`,
    `fuse_norm: BatchNorm2d(${width})`,
    'fuse_act: ReLU()',
    ...(share > 0 ? [`fuse_dropout: Dropout(${share})`] : []),
    `classifier: Conv2d(${labels}, kernel_size=1)`,
  ];
}
