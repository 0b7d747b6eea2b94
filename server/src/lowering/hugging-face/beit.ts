/**
 * BEiT (arXiv 2106.08254; modeling_beit.py of transformers 5.18) and data2vec for images: a ViT whose scores have a trained bias
 * for each distance, of every block or of all, and whose branches are scaled by a trained vector each.
 */

import { activationBlocks, activationCall, activationOf } from './activations.ts';
import { attentionLines } from './attentionLines.ts';
import { type ConfigFields, labelsOf } from './configFields.ts';
import { selfAttention } from './encoderAttention.ts';
import { layerNorm } from './normalizations.ts';
import { patchTokens } from './patchTokens.ts';
import type { SpecParts } from './specText.ts';

export function beit(fields: ConfigFields, name: string): SpecParts {
  const norm = layerNorm(fields.number('layer_norm_eps', 1e-12))('hidden_size');
  const hidden = fields.size('hidden_size');
  const image = fields.size('image_size');
  const patch = fields.size('patch_size');
  const side = Math.floor(image / patch);
  const own = fields.flag('use_relative_position_bias');
  const shared = fields.flag('use_shared_relative_position_bias');
  if (own && shared) fields.problems.push('biases of every block and of all at once are not known here');
  const heads = fields.size('num_attention_heads');
  const bias = [
    `bias_table: Embedding(${(2 * side - 1) ** 2 + 3}, ${heads}) from places_apart`,
    'bias_of_heads: permute(2, 0, 1)',
    'bias: unsqueeze(0)',
  ];
  const block = blockLines(fields, norm, own ? bias : [], own || shared);
  const share = fields.number('hidden_dropout_prob', 0);
  const masked = fields.flag('use_mask_token');
  const isPlaced = fields.flag('use_absolute_position_embeddings');
  const start = share > 0 ? 'embeddings_dropout' : isPlaced ? 'embedded' : 'with_cls';
  const read = own ? ', places_apart' : shared ? ', bias' : '';
  const { last, lines: head } = headLines(fields, norm);
  return {
    name,
    comments: [],
    dims: { batch: 8, places: side ** 2 + 1, hidden_size: hidden },
    inputs: {
      image: `float32[batch, ${fields.size('num_channels')}, ${image}, ${image}]`,
      ...(own || shared ? { places_apart: 'int64[places, places]' } : {}),
    },
    blocks: {
      ...activationBlocks(block),
      [own
        ? 'encoder_layer from input, places_apart'
        : shared
          ? 'encoder_layer from input, bias'
          : 'encoder_layer']: block,
    },
    layers: [
      // Stands in for patches that pretraining hides; nothing reads it otherwise.
      ...(masked ? ['mask_token: Parameter(1, 1, hidden_size)'] : []),
      `patch_embeddings: Conv2d(hidden_size, kernel_size=${patch}, stride=${patch}) from image`,
      ...patchTokens(),
      ...(isPlaced
        ? [
            'position_embeddings: Parameter(1, places, hidden_size)',
            'embedded: add(with_cls, position_embeddings)',
          ]
        : []),
      ...(share > 0 ? [`embeddings_dropout: Dropout(${share})`] : []),
      ...(shared ? bias : []),
      `encoder: encoder_layer() * ${fields.size('num_hidden_layers')}${read === '' ? '' : ` from ${start}${read}`}`,
      ...head,
    ],
    ...(masked ? { outputs: [last, 'mask_token'] } : {}),
  };
}

function blockLines(
  fields: ConfigFields,
  norm: string,
  bias: readonly string[],
  isBiased: boolean,
): readonly string[] {
  const share = fields.number('hidden_dropout_prob', 0);
  const path = fields.number('drop_path_rate', 0);
  const scaled = fields.number('layer_scale_init_value', 0.1) > 0;
  /** What a branch goes through before it is added. */
  const branch = (prefix: string, lines: readonly string[]): readonly string[] => [
    ...lines,
    ...(share > 0 ? [`${prefix}_dropout: Dropout(${share})`] : []),
    ...(scaled
      ? [
          `${prefix}_lambda: Parameter(hidden_size)`,
          `${prefix}_scaled: mul(${share > 0 ? `${prefix}_dropout` : (lines.at(-1)?.split(':')[0] ?? '')}, ${prefix}_lambda)`,
        ]
      : []),
    ...(path > 0 ? [`${prefix}_path: StochasticDepth(${path}, 'row', noise='rounded')`] : []),
  ];
  const nameOf = (lines: readonly string[]): string => lines.at(-1)?.split(':')[0] ?? 'input';
  const attended = branch('attention', [
    ...attentionLines(
      selfAttention(fields, {
        causal: false,
        keyBias: false,
        ...(isBiased ? { scoreBias: 'bias' } : {}),
      }),
      { source: 'layernorm_before', length: 'places' },
    ),
  ]);
  const fed = branch('output', [
    `fc1: Linear(${fields.size('intermediate_size')})`,
    `activation_fn: ${activationCall(activationOf(fields, 'gelu'))}`,
    'fc2: Linear(hidden_size)',
  ]);
  return [
    ...bias,
    `layernorm_before: ${norm} from input`,
    ...attended,
    `residual: add(${nameOf(attended)}, input)`,
    `layernorm_after: ${norm}`,
    ...fed,
    `output: add(${nameOf(fed)}, residual)`,
  ];
}

/** The mean of the patches, or the first token; scores of visual words for every patch in pretraining. */
function headLines(
  fields: ConfigFields,
  norm: string,
): { readonly last: string; readonly lines: readonly string[] } {
  const { architecture = '' } = fields;
  const others = 'others: slice(1, 1)';
  if (architecture.endsWith('ForMaskedImageModeling'))
    return {
      last: 'lm_head',
      lines: [
        ...(fields.flag('use_mean_pooling', true) ? [] : [`encoder_norm: ${norm}`]),
        `layernorm: ${norm}`,
        others,
        `lm_head: Linear(${fields.size('vocab_size')})`,
      ],
    };
  const pooled = fields.flag('use_mean_pooling', true)
    ? [others, 'averaged: mean(dim=1)', `pooler: ${norm}`]
    : [`layernorm: ${norm}`, 'pooler: select(1, 0)'];
  return architecture.endsWith('ForImageClassification')
    ? { last: 'classifier', lines: [...pooled, `classifier: Linear(${labelsOf(fields)})`] }
    : { last: 'pooler', lines: pooled };
}
