/**
 * The second Swin (arXiv 2111.09883; modeling_swinv2.py of transformers 5.18): scores are cosines with a trained scale, biases come from
 * a small network of distances, and normalization stands behind each branch.
 */

import { activationBlocks, activationCall, activationOf } from './activations.ts';
import { type ConfigFields, labelsOf } from './configFields.ts';
import { dropoutLines } from './dropoutLines.ts';
import { layerNorm } from './normalizations.ts';
import type { SpecParts } from './specText.ts';
import { mostLayers } from './swin.ts';
import { checkStage, joinedLines, type Stage, windowLines } from './swinWindows.ts';

export function swinV2(fields: ConfigFields, name: string): SpecParts {
  const width = fields.size('embed_dim');
  const image = fields.size('image_size');
  const patch = fields.size('patch_size');
  const depths = fields.sizes('depths');
  const heads = fields.sizes('num_heads');
  const first = Math.floor(image / patch);
  if (heads.length !== depths.length) fields.problems.push('`depths` and `num_heads` must be equally long');
  const share = fields.number('hidden_dropout_prob', 0);
  const isPlaced = fields.flag('use_absolute_embeddings');
  if (isPlaced)
    fields.problems.push('`use_absolute_embeddings` is true, which the classes of transformers cannot run');
  const rate = fields.number('drop_path_rate', 0);
  const blocks: Record<string, readonly string[]> = {};
  const stack: string[] = [];
  const windows = new Set<number>();
  const all = depths.reduce((sum, depth) => sum + depth, 0);
  let done = 0;
  let last = share > 0 ? 'embeddings_dropout' : 'embeddings_norm';
  for (const [index, depth] of depths.entries()) {
    const side = Math.floor(first / 2 ** index);
    const stage: Stage = {
      channels: width * 2 ** index,
      heads: heads[index] ?? 1,
      side,
      window: Math.min(side, fields.size('window_size')),
    };
    checkStage(fields, stage, index < depths.length - 1);
    windows.add(stage.window);
    const number = index + 1;
    for (let layer = 0; layer < Math.min(depth, mostLayers); layer += 1) {
      const isShifted = layer % 2 === 1 && side > stage.window;
      const isSkipped = rate > 0 && done + layer > 0;
      const call = `stage_${number}${isShifted ? '_shifted' : ''}${isSkipped ? '_skipped' : ''}_layer`;
      blocks[`${call} from input, places, distances`] ??= blockLines(
        fields,
        stage,
        isShifted,
        isSkipped ? (rate * (done + depth)) / all : 0,
      );
      stack.push(
        `stage_${number}_${layer + 1}: ${call}() from ${last}, places_${stage.window}, distances_${stage.window}`,
      );
      last = `stage_${number}_${layer + 1}`;
    }
    done += depth;
    if (index < depths.length - 1) {
      stack.push(...mergingLines(stage, number, last));
      last = `merging_norm_${number}`;
    }
  }
  const widest = width * 2 ** Math.max(depths.length - 1, 0);
  return {
    name,
    comments: [],
    dims: { batch: 8 },
    inputs: {
      image: `float32[batch, ${fields.size('num_channels')}, ${image}, ${image}]`,
      ...Object.fromEntries(
        [...windows].flatMap((window) => [
          [`places_${window}`, `int64[${window ** 4}]`],
          [`distances_${window}`, `float32[1, ${2 * window - 1}, ${2 * window - 1}, 2]`],
        ]),
      ),
    },
    blocks: { ...activationBlocks(Object.values(blocks).flat()), ...blocks },
    layers: [
      `patch_embeddings: Conv2d(${width}, kernel_size=${patch}, stride=${patch}) from image`,
      'flat: flatten(2)',
      'patches: transpose(1, 2)',
      `embeddings_norm: LayerNorm(${width})`,
      ...dropoutLines('embeddings_dropout', share),
      ...stack,
      `layernorm: ${layerNorm(fields.number('layer_norm_eps', 1e-5))(String(widest))}`,
      'channels_first: transpose(1, 2)',
      'pooler: AdaptiveAvgPool1d(1)',
      'pooled: flatten(1)',
      ...(fields.architecture?.endsWith('ForImageClassification') === true
        ? [`classifier: Linear(${labelsOf(fields)})`]
        : []),
    ],
  };
}

function blockLines(fields: ConfigFields, stage: Stage, isShifted: boolean, path: number): readonly string[] {
  const { channels, heads, side, window } = stage;
  const along = Math.floor(side / window);
  const count = along ** 2;
  const area = window ** 2;
  const head = Math.floor(channels / heads);
  const shift = isShifted ? Math.floor(fields.size('window_size') / 2) : undefined;
  const norm = layerNorm(fields.number('layer_norm_eps', 1e-5))(String(channels));
  const bias = fields.flag('qkv_bias', true) ? '' : ', bias=False';
  const share = fields.number('hidden_dropout_prob', 0);
  const skip = (line: string): readonly string[] =>
    path > 0 ? [`${line}: StochasticDepth(${path.toFixed(3)}, 'row', noise='rounded')`] : [];
  const rows = `batch*${count}`;
  const projected = (part: 'query' | 'key' | 'value'): readonly string[] => [
    `${part}: Linear(${channels}${part === 'key' ? ', bias=False' : bias}) from windows`,
    `${part}_split: reshape(${rows}, ${area}, ${heads}, ${head})`,
    `${part}_heads: transpose(1, 2)`,
    ...(part === 'value'
      ? []
      : [
          // `F.normalize`, function by function.
          `${part}_length: norm(p=2, dim=-1, keepdim=True)`,
          `${part}_bounded: clamp(min=1e-12)`,
          `${part}_divisor: expand(${rows}, ${heads}, ${area}, ${head})`,
          `${part}_unit: div(${part}_heads, ${part}_divisor)`,
        ]),
  ];
  return [
    `rows: reshape(input, batch, ${side}, ${side}, ${channels})`,
    ...windowLines(stage, shift),
    ...projected('query'),
    ...projected('key'),
    ...projected('value'),
    'key_columns: transpose(key_unit, 2, 3)',
    'cosines: matmul(query_unit, key_columns)',
    `logit_scale: Parameter(${heads}, 1, 1)`,
    'bounded: clamp(max=4.605170186)',
    'scale: exp()',
    'scores: mul(cosines, scale)',
    'distance_1: Linear(512) from distances',
    'distance_act: ReLU(inplace=True)',
    `distance_2: Linear(${heads}, bias=False)`,
    `bias_table: reshape(-1, ${heads})`,
    'bias_rows: index_select(bias_table, places, 0)',
    `bias_split: reshape(${area}, ${area}, ${heads})`,
    'bias_turned: permute(2, 0, 1)',
    'bias_heads: cat((bias_turned), dim=0)',
    'bias_shares: sigmoid()',
    'bias: mul(bias_shares, 16)',
    'biased: add(scores, bias)',
    ...(isShifted
      ? [
          `shift_mask: Buffer(1, ${count}, 1, ${area}, ${area})`,
          `of_windows: reshape(biased, batch, ${count}, ${heads}, ${area}, ${area})`,
          'masked: add(of_windows, shift_mask)',
          // The code adds it twice.
          'masked_twice: add(masked, shift_mask)',
          `all_scores: reshape(${rows}, ${heads}, ${area}, ${area})`,
        ]
      : []),
    'weights: softmax(dim=-1)',
    ...dropoutLines('kept_weights', fields.number('attention_probs_dropout_prob', 0)),
    `attention: matmul(${fields.number('attention_probs_dropout_prob', 0) > 0 ? 'kept_weights' : 'weights'}, value_heads)`,
    'joined: permute(0, 2, 1, 3)',
    `merged: reshape(${rows}, ${area}, ${channels})`,
    `attention_dense: Linear(${channels})`,
    ...dropoutLines('attention_dropout', fields.number('attention_probs_dropout_prob', 0)),
    ...joinedLines(stage, shift),
    `layernorm_before: ${norm}`,
    ...skip('attention_path'),
    `residual: add(input, ${path > 0 ? 'attention_path' : 'layernorm_before'})`,
    `intermediate: Linear(${Math.trunc(fields.number('mlp_ratio', 4) * channels)})`,
    `intermediate_act: ${activationCall(activationOf(fields, 'gelu'))}`,
    `output_dense: Linear(${channels})`,
    ...dropoutLines('output_dropout', share),
    `layernorm_after: ${norm}`,
    ...skip('output_path'),
    `output: add(residual, ${path > 0 ? 'output_path' : 'layernorm_after'})`,
  ];
}

/** Rows and columns of four neighbours. */
const corners = [
  [0, 0],
  [1, 0],
  [0, 1],
  [1, 1],
] as const;

/** Four neighbours become one with twice the channels (`Swinv2PatchMerging`). */
function mergingLines({ channels, side }: Stage, number: number, source: string): readonly string[] {
  const half = Math.floor(side / 2);
  return [
    `map_${number}: reshape(${source}, batch, ${side}, ${side}, ${channels})`,
    ...corners.flatMap(([row, column], corner) => [
      `rows_${number}_${corner}: slice(map_${number}, 1, ${row}, ${side}, 2)`,
      `corner_${number}_${corner}: slice(2, ${column}, ${side}, 2)`,
    ]),
    `corners_${number}: cat((${corners.map((_, corner) => `corner_${number}_${corner}`).join(', ')}), dim=-1)`,
    `merged_${number}: reshape(batch, ${half ** 2}, ${4 * channels})`,
    `reduction_${number}: Linear(${2 * channels}, bias=False)`,
    `merging_norm_${number}: LayerNorm(${2 * channels})`,
  ];
}
