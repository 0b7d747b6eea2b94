/** PoolFormer (arXiv 2111.11418; modeling_poolformer.py of transformers 5.18): blocks that take averages of neighbours, where a ViT has attention. */

import { activationBlocks, activationCall, activationOf } from './activations.ts';
import { type ConfigFields, labelsOf } from './configFields.ts';
import type { SpecParts } from './specText.ts';

export function poolFormer(fields: ConfigFields, name: string): SpecParts {
  const sizes = fields.sizes('hidden_sizes');
  const [depths, patches, strides] = (['depths', 'patch_sizes', 'strides'] as const).map((field) =>
    fields.sizes(field),
  );
  const padding = (fields.list('padding') ?? []).filter((each): each is number => typeof each === 'number');
  const count = fields.size('num_encoder_blocks');
  const image = fields.optionalSize('image_size') ?? 224;
  if ([sizes, depths, patches, strides, padding].some((list) => list === undefined || list.length < count))
    fields.problems.push('`num_encoder_blocks` is more than the stages that the lists of sizes have');
  const path = fields.number('drop_path_rate', 0);
  const blocks: Record<string, readonly string[]> = {};
  const stack: string[] = [];
  const all = (depths ?? []).slice(0, count).reduce((sum, depth) => sum + depth, 0);
  let done = 0;
  for (const [index, channels] of sizes.slice(0, count).entries()) {
    const stage = index + 1;
    const depth = depths?.[index] ?? 1;
    stack.push(
      `stage_${stage}_embeddings: Conv2d(${channels}, kernel_size=${patches?.[index] ?? 1}, stride=${strides?.[index] ?? 1}, padding=${padding[index] ?? 0})`,
    );
    // The first block of all is never skipped; the others are, ever more often.
    const plain = path === 0 ? depth : index === 0 ? 1 : 0;
    const run = (line: string, times: number, share: number): void => {
      if (times <= 0) return;
      blocks[`${line}_layer`] = blockLines(fields, channels, share);
      stack.push(`${line}: ${line}_layer() * ${times}`);
    };
    run(`stage_${stage}_start`, Math.min(plain, depth), 0);
    run(`stage_${stage}`, depth - plain, (path * (done + depth)) / Math.max(all, 1));
    done += depth;
  }
  const last = sizes.at(count - 1) ?? 1;
  return {
    name,
    comments: [],
    dims: { batch: 8 },
    inputs: { image: `float32[batch, ${fields.size('num_channels')}, ${image}, ${image}]` },
    blocks: { ...activationBlocks(Object.values(blocks).flat()), ...blocks },
    layers: [
      ...stack,
      ...(fields.architecture?.endsWith('ForImageClassification') === true
        ? [
            `norm: GroupNorm(1, ${last})`,
            'averaged: mean(dim=(-2, -1))',
            `classifier: Linear(${labelsOf(fields)})`,
          ]
        : []),
    ],
  };
}

function blockLines(fields: ConfigFields, channels: number, share: number): readonly string[] {
  const pool = fields.size('pool_size');
  const scaled = fields.flag('use_layer_scale', true);
  const path = (name: string): readonly string[] =>
    share > 0 ? [`${name}: StochasticDepth(${share.toFixed(3)}, 'row', noise='rounded')`] : [];
  const branch = (index: number, source: string): readonly string[] => [
    ...(scaled
      ? [
          `layer_scale_${index}: Parameter(${channels})`,
          `columns_${index}: reshape(layer_scale_${index}, ${channels}, 1, 1)`,
          `scaled_${index}: mul(columns_${index}, ${source})`,
        ]
      : []),
    ...path(`path_${index}`),
  ];
  const nameOf = (lines: readonly string[], otherwise: string): string =>
    lines.at(-1)?.split(':')[0] ?? otherwise;
  const inner = path('inner_path');
  const fed = [
    `conv1: Conv2d(${Math.trunc(channels * fields.number('mlp_ratio', 4))}, kernel_size=1)`,
    `act_fn: ${activationCall(activationOf(fields, 'gelu'))}`,
    ...inner,
    `conv2: Conv2d(${channels}, kernel_size=1)`,
    ...path('outer_path'),
  ];
  const pooled = branch(1, 'pooling');
  const output = branch(2, nameOf(fed, 'conv2'));
  return [
    `before_norm: GroupNorm(1, ${channels})`,
    `pool: AvgPool2d(${pool}, stride=1, padding=${Math.floor(pool / 2)}, count_include_pad=False)`,
    'pooling: sub(pool, before_norm)',
    ...pooled,
    `residual: add(input, ${nameOf(pooled, 'pooling')})`,
    `after_norm: GroupNorm(1, ${channels})`,
    ...fed,
    ...output,
    `output: add(residual, ${nameOf(output, nameOf(fed, 'conv2'))})`,
  ];
}
