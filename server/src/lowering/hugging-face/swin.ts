/**
 * Swin (arXiv 2103.14030; modeling_swin.py of transformers 5.18): attention within windows, which every second block shifts,
 * and half as many rows of twice the channels after each stage.
 */

import { activationBlocks, activationCall, activationOf } from './activations.ts';
import { type Attention, attentionLines, evenHeads } from './attentionLines.ts';
import { type ConfigFields, labelsOf } from './configFields.ts';
import { layerNorm } from './normalizations.ts';
import type { SpecParts } from './specText.ts';
import { checkStage, joinedLines, type Stage, windowLines } from './swinWindows.ts';

export function swin(fields: ConfigFields, name: string): SpecParts {
  const norm = (size: number): string => layerNorm(fields.number('layer_norm_eps', 1e-5))(String(size));
  const width = fields.size('embed_dim');
  const image = fields.size('image_size');
  const patch = fields.size('patch_size');
  const depths = fields.sizes('depths');
  const heads = fields.sizes('num_heads');
  const window = fields.size('window_size');
  const first = Math.floor(image / patch);
  if (heads.length !== depths.length) fields.problems.push('`depths` and `num_heads` must be equally long');
  const drop = dropoutOf(fields);
  const blocks: Record<string, readonly string[]> = {};
  const stack: string[] = [];
  const shapes: Stage[] = depths.map((_, index) => ({
    channels: width * 2 ** index,
    heads: heads[index] ?? 1,
    side: Math.floor(first / 2 ** index),
    window,
  }));
  for (const [index, stage] of shapes.entries()) {
    const depth = depths[index] ?? 1;
    checkStage(fields, stage, index < shapes.length - 1);
    const number = index + 1;
    const isShifted = stage.side > window && depth > 1;
    const plain = `stage_${number}_layer`;
    const source = (layer: number): string =>
      layer > 0 ? `stage_${number}_${layer}` : index > 0 ? `reduction_${index}` : 'embedded';
    blocks[`${plain} from input, window_places`] = blockLines(fields, stage, false);
    if (isShifted) blocks[`${plain}_shifted from input, window_places`] = blockLines(fields, stage, true);
    if (isShifted) {
      for (let layer = 0; layer < Math.min(depth, mostLayers); layer += 1)
        stack.push(
          `stage_${number}_${layer + 1}: ${plain}${layer % 2 === 1 ? '_shifted' : ''}() from ${source(layer)}, window_places`,
        );
    } else stack.push(`stage_${number}_${depth}: ${plain}() * ${depth} from ${source(0)}, window_places`);
    if (index < shapes.length - 1) stack.push(...mergingLines(stage, number, `stage_${number}_${depth}`));
  }
  const last = shapes.at(-1)?.channels ?? 1;
  const layers = [
    `patch_embeddings: Conv2d(${width}, kernel_size=${patch}, stride=${patch}) from image`,
    'flat: flatten(2)',
    'patches: transpose(1, 2)',
    `${fields.flag('use_absolute_embeddings') || drop !== undefined ? 'embeddings_norm' : 'embedded'}: LayerNorm(${width})`,
    ...(fields.flag('use_absolute_embeddings')
      ? [
          `position_embeddings: Parameter(1, ${first ** 2}, ${width})`,
          `${drop === undefined ? 'embedded' : 'placed'}: add(embeddings_norm, position_embeddings)`,
        ]
      : []),
    ...(drop === undefined ? [] : [`embedded: ${drop}`]),
    ...stack,
    ...(fields.type === 'donut-swin' ? [] : [`layernorm: ${norm(last)}`]),
    'channels_first: transpose(1, 2)',
    'pooler: AdaptiveAvgPool1d(1)',
    'pooled: flatten(1)',
    ...(fields.architecture?.endsWith('ForImageClassification') === true
      ? [`classifier: Linear(${labelsOf(fields)})`]
      : []),
  ];
  return {
    name,
    comments: [],
    dims: { batch: 8 },
    inputs: {
      image: `float32[batch, ${fields.size('num_channels')}, ${image}, ${image}]`,
      window_places: `int64[${window ** 2}, ${window ** 2}]`,
    },
    blocks: { ...activationBlocks(Object.values(blocks).flat()), ...blocks },
    layers,
  };
}

/** More blocks than any stage has. */
export const mostLayers = 256;

const dropoutOf = (fields: ConfigFields): string | undefined => {
  const share = fields.number('hidden_dropout_prob', 0);
  return share > 0 ? `Dropout(${share})` : undefined;
};

function blockLines(fields: ConfigFields, stage: Stage, isShifted: boolean): readonly string[] {
  const { channels, heads, side, window } = stage;
  const count = Math.floor(side / window) ** 2;
  const area = window ** 2;
  const shift = isShifted ? Math.floor(window / 2) : undefined;
  const norm = layerNorm(fields.number('layer_norm_eps', 1e-5))(String(channels));
  const drop = dropoutOf(fields);
  const path = fields.number('drop_path_rate', 0);
  const attention: Attention = {
    ...evenHeads(heads, channels),
    bias: fields.flag('qkv_bias', true),
    written: fields.type !== 'swin',
    dropout: fields.number('attention_probs_dropout_prob', 0),
    scoreBias: isShifted ? 'bias_and_mask' : 'bias',
  };
  return [
    // A bias for each head and distance within a window.
    `bias_table: Embedding(${(2 * window - 1) ** 2}, ${heads}) from window_places`,
    'bias_of_heads: permute(2, 0, 1)',
    'bias: unsqueeze(0)',
    ...(isShifted
      ? [
          // Hides patches that only the shift has brought into one window.
          `shift_mask: Buffer(1, ${count}, 1, ${area}, ${area})`,
          `masks: expand(batch, ${count}, 1, ${area}, ${area})`,
          `mask: reshape(batch*${count}, 1, ${area}, ${area})`,
          'bias_and_mask: add(bias, mask)',
        ]
      : []),
    `layernorm_before: ${norm} from input`,
    `rows: reshape(batch, ${side}, ${side}, ${channels})`,
    ...windowLines(stage, shift),
    ...attentionLines(attention, {
      source: 'windows',
      length: String(area),
      width: String(channels),
      rows: `batch*${count}`,
    }),
    ...(drop === undefined ? [] : [`attention_dropout: ${drop}`]),
    ...joinedLines(stage, shift),
    ...(path > 0 ? [`drop_path: StochasticDepth(${path}, 'row', noise='rounded')`] : []),
    `residual: add(input, ${path > 0 ? 'drop_path' : 'attended'})`,
    `layernorm_after: ${norm}`,
    `fc1: Linear(${Math.floor(fields.number('mlp_ratio', 4) * channels)})`,
    `activation_fn: ${activationCall(activationOf(fields, 'gelu'))}`,
    `fc2: Linear(${channels})`,
    ...(drop === undefined ? [] : [`output_dropout: ${drop}`]),
    `output: add(${drop === undefined ? 'fc2' : 'output_dropout'}, residual)`,
  ];
}

/** Four neighbours become one with twice the channels (`SwinPatchMerging`). */
function mergingLines({ channels, side }: Stage, number: number, source: string): readonly string[] {
  const half = Math.floor(side / 2);
  return [
    `pairs_${number}: reshape(${source}, batch, ${half}, 2, ${half}, 2, ${channels})`,
    `neighbours_${number}: permute(0, 1, 3, 4, 2, 5)`,
    `merged_${number}: reshape(batch, ${half ** 2}, ${4 * channels})`,
    `merging_norm_${number}: LayerNorm(${4 * channels})`,
    `reduction_${number}: Linear(${2 * channels}, bias=False)`,
  ];
}
