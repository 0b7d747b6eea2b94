/**
 * DETR (arXiv 2005.12872; transformers 5.18, modeling_detr.py): a convolutional backbone, an encoder of its last map and a decoder
 * of as many queries as may be found. Images have 800 × 800 pixels and no padding.
 */

import { activationBlocks, activationCall, activationOf } from './activations.ts';
import { type Attention, attentionLines } from './attentionLines.ts';
import { type ConfigFields, labelsOf } from './configFields.ts';
import { dropoutLines } from './dropoutLines.ts';
import { frozenResnet } from './frozenResnet.ts';
import { layerNorm } from './normalizations.ts';
import type { SpecParts } from './specText.ts';

const norm = layerNorm(1e-5)('hidden_size');

export function detr(fields: ConfigFields, name: string): SpecParts {
  const given = fields.inner('backbone_config', 'timm_backbone');
  if (given !== undefined && given.type !== 'timm_backbone')
    fields.problems.push('the backbone is none of timm, which is not known here');
  const variant = given?.text('backbone', '') ?? fields.text('backbone', 'resnet50');
  const backbone = frozenResnet(variant, fields.flag('dilation'));
  if (backbone === undefined)
    fields.problems.push(`the backbone "${variant.slice(0, 40)}" is not known here`);
  if (fields.flag('auxiliary_loss'))
    fields.problems.push('`auxiliary_loss` is true, and losses of inner layers are not known here');
  if (fields.text('position_embedding_type', 'sine') !== 'sine')
    fields.problems.push('positions that are learned are not known here');
  const queries = fields.size('num_queries');
  const share = fields.number('dropout', 0);
  const encoder = encoderLines(fields, share);
  const decoder = decoderLines(fields, share, queries);
  const isDetector = /ForObjectDetection$/.test(fields.architecture ?? '');
  const stride = backbone?.stride ?? 32;
  return {
    name,
    comments: [],
    dims: {
      batch: 8,
      height: 800,
      width: 800,
      places: `(height/${stride})*(width/${stride})`,
      hidden_size: fields.size('d_model'),
    },
    inputs: { image: `float32[batch, ${fields.number('num_channels', 3)}, height, width]` },
    blocks: {
      ...activationBlocks([...encoder, ...decoder]),
      ...backbone?.blocks,
      'encoder_layer from input, positions': encoder,
      'decoder_layer from input, memory, positions, query_positions': decoder,
    },
    layers: [
      ...(backbone?.lines ?? []),
      'input_projection: Conv2d(hidden_size, kernel_size=1)',
      'flat: flatten(2)',
      'features: transpose(1, 2)',
      'positions: Buffer(1, places, hidden_size, computed=True)',
      ...(share > 0 ? [`features_dropout: Dropout(${share}) from features`] : []),
      `encoder: encoder_layer() * ${fields.size('encoder_layers')} from ${share > 0 ? 'features_dropout' : 'features'}, positions`,
      `query_position_embeddings: Parameter(1, ${queries}, hidden_size)`,
      `query_positions: expand(query_position_embeddings, batch, ${queries}, hidden_size)`,
      `zeros: Buffer(1, ${queries}, hidden_size)`,
      `queries: expand(zeros, batch, ${queries}, hidden_size)`,
      `decoder: decoder_layer() * ${fields.size('decoder_layers')} from queries, encoder, positions, query_positions`,
      `layernorm: ${norm}`,
      ...(isDetector
        ? [
            `class_labels_classifier: Linear(${labelsOf(fields) + 1})`,
            'bbox_1: Linear(hidden_size) from layernorm',
            'bbox_relu_1: ReLU()',
            'bbox_2: Linear(hidden_size)',
            'bbox_relu_2: ReLU()',
            'bbox_3: Linear(4)',
            'boxes: sigmoid()',
          ]
        : []),
    ],
    ...(isDetector ? { outputs: ['class_labels_classifier', 'boxes'] } : {}),
  };
}

function attentionOf(fields: ConfigFields, part: 'encoder' | 'decoder'): Attention {
  const heads = fields.size(part === 'encoder' ? 'encoder_attention_heads' : 'decoder_attention_heads');
  return {
    heads,
    groups: heads,
    headSize: Math.floor(fields.size('d_model') / heads),
    bias: true,
    outputBias: true,
    rotated: 0,
    causal: false,
    dropout: fields.number('attention_dropout', 0),
  };
}

/** From `source` to a normalized sum with two products (`DetrMLP`). */
function productLines(
  fields: ConfigFields,
  hidden: number,
  source: string,
  share: number,
): readonly string[] {
  return [
    `fc1: Linear(${hidden}) from ${source}`,
    `activation_fn: ${activationCall(activationOf(fields, 'relu'))}`,
    ...dropoutLines('activation_dropout', fields.number('activation_dropout', 0)),
    'fc2: Linear(hidden_size)',
    ...dropoutLines('mlp_dropout', share),
    `mlp_residual: add(${source}, ${share > 0 ? 'mlp_dropout' : 'fc2'})`,
    `final_layer_norm: ${norm}`,
  ];
}

/** A sum with what attention gives, normalized. */
const residualLines = (name: string, attended: string, source: string, share: number): readonly string[] => [
  ...dropoutLines(`${name}_dropout`, share),
  `${name}_residual: add(${source}, ${share > 0 ? `${name}_dropout` : attended})`,
  `${name}_layer_norm: ${norm}`,
];

const encoderLines = (fields: ConfigFields, share: number): readonly string[] => [
  'placed: add(input, positions)',
  ...attentionLines(attentionOf(fields, 'encoder'), { source: 'placed', values: 'input', length: 'places' }),
  ...residualLines('self_attn', 'o_proj', 'input', share),
  ...productLines(fields, fields.size('encoder_ffn_dim'), 'self_attn_layer_norm', share),
];

function decoderLines(fields: ConfigFields, share: number, queries: number): readonly string[] {
  const attention = attentionOf(fields, 'decoder');
  const length = String(queries);
  return [
    'placed: add(input, query_positions)',
    ...attentionLines(attention, { source: 'placed', values: 'input', length }),
    ...residualLines('self_attn', 'o_proj', 'input', share),
    'query_placed: add(self_attn_layer_norm, query_positions)',
    'memory_placed: add(memory, positions)',
    ...attentionLines(attention, {
      source: 'query_placed',
      memory: 'memory_placed',
      values: 'memory',
      length,
      memoryLength: 'places',
      prefix: 'cross_',
    }),
    ...residualLines('encoder_attn', 'cross_o_proj', 'self_attn_layer_norm', share),
    ...productLines(fields, fields.size('decoder_ffn_dim'), 'encoder_attn_layer_norm', share),
  ];
}
