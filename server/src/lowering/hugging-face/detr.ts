/**
 * DETR (arXiv 2005.12872; transformers 5.18, modeling_detr.py): a convolutional backbone, an encoder of its last map and a decoder
 * of as many queries as may be found. Images have 800 × 800 pixels and no padding.
 */

import { activationBlocks, activationCall, activationOf } from './activations.ts';
import { type Attention, attentionLines, evenHeads } from './attentionLines.ts';
import { type ConfigFields, labelsOf } from './configFields.ts';
import { dropoutLines } from './dropoutLines.ts';
import { frozenResnet } from './frozenResnet.ts';
import { layerNorm } from './normalizations.ts';
import type { SpecParts } from './specText.ts';

const norm = layerNorm(1e-5)('hidden_size');

/** Table Transformer (arXiv 2110.00061; modeling_table_transformer.py) normalizes before each part, and writes attention out. */
const isPre = ({ type }: ConfigFields): boolean => type === 'table-transformer';

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
  const pre = isPre(fields);
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
      [`encoder_layer from input, positions${pre ? ', mask' : ''}`]: encoder,
      [`decoder_layer from input, memory, positions, query_positions${pre ? ', mask' : ''}`]: decoder,
    },
    layers: [
      ...(backbone?.lines ?? []),
      'input_projection: Conv2d(hidden_size, kernel_size=1)',
      'flat: flatten(2)',
      'features: transpose(1, 2)',
      'positions: Buffer(1, places, hidden_size, computed=True)',
      ...(pre ? ['mask: Buffer(1, 1, 1, places)'] : []),
      ...(share > 0 ? [`features_dropout: Dropout(${share}) from features`] : []),
      `${pre ? 'encoder_layers' : 'encoder'}: encoder_layer() * ${fields.size('encoder_layers')} from ${share > 0 ? 'features_dropout' : 'features'}, positions${pre ? ', mask' : ''}`,
      ...(pre ? [`encoder: ${norm}`] : []),
      `query_position_embeddings: Parameter(1, ${queries}, hidden_size)`,
      `query_positions: expand(query_position_embeddings, batch, ${queries}, hidden_size)`,
      `zeros: Buffer(1, ${queries}, hidden_size)`,
      `queries: expand(zeros, batch, ${queries}, hidden_size)`,
      `decoder: decoder_layer() * ${fields.size('decoder_layers')} from queries, encoder, positions, query_positions${pre ? ', mask' : ''}`,
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
    ...evenHeads(heads, fields.size('d_model')),
    dropout: fields.number('attention_dropout', 0),
    ...(isPre(fields) ? { written: true, scaledQuery: true, scale: 1, contiguous: true } : {}),
  };
}

/** From `source` to a normalized sum with two products (`DetrMLP`). */
function productLines(
  fields: ConfigFields,
  hidden: number,
  residual: string,
  share: number,
): readonly string[] {
  const pre = isPre(fields);
  const source = pre ? 'final_layer_norm' : residual;
  return [
    ...(pre ? [`final_layer_norm: ${norm} from ${residual}`] : []),
    `fc1: Linear(${hidden}) from ${source}`,
    `activation_fn: ${activationCall(activationOf(fields, 'relu'))}`,
    ...dropoutLines('activation_dropout', fields.number('activation_dropout', 0)),
    'fc2: Linear(hidden_size)',
    ...dropoutLines('mlp_dropout', share),
    `mlp_residual: add(${residual}, ${share > 0 ? 'mlp_dropout' : 'fc2'})`,
    ...(isPre(fields) ? [] : [`final_layer_norm: ${norm}`]),
  ];
}

/** A sum with what attention gives, which is normalized where nothing was before. */
const residualLines = (
  fields: ConfigFields,
  name: string,
  attended: string,
  source: string,
  share: number,
): readonly string[] => [
  ...dropoutLines(`${name}_dropout`, share),
  `${name}_residual: add(${source}, ${share > 0 ? `${name}_dropout` : attended})`,
  ...(isPre(fields) ? [] : [`${name}_layer_norm: ${norm}`]),
];

/** What attention reads, and what it is added to. */
const startLines = (fields: ConfigFields, name: string, source: string): readonly string[] =>
  isPre(fields) ? [`${name}_layer_norm: ${norm} from ${source}`] : [];

function encoderLines(fields: ConfigFields, share: number): readonly string[] {
  const pre = isPre(fields);
  const read = pre ? 'self_attn_layer_norm' : 'input';
  return [
    ...startLines(fields, 'self_attn', 'input'),
    `placed: add(${read}, positions)`,
    ...attentionLines(
      { ...attentionOf(fields, 'encoder'), ...(pre ? { mask: 'mask' } : {}) },
      { source: 'placed', values: read, length: 'places' },
    ),
    ...residualLines(fields, 'self_attn', 'o_proj', 'input', share),
    ...productLines(
      fields,
      fields.size('encoder_ffn_dim'),
      pre ? 'self_attn_residual' : 'self_attn_layer_norm',
      share,
    ),
  ];
}

function decoderLines(fields: ConfigFields, share: number, queries: number): readonly string[] {
  const attention = attentionOf(fields, 'decoder');
  const pre = isPre(fields);
  const length = String(queries);
  const read = pre ? 'self_attn_layer_norm' : 'input';
  const between = pre ? 'self_attn_residual' : 'self_attn_layer_norm';
  return [
    ...startLines(fields, 'self_attn', 'input'),
    `placed: add(${read}, query_positions)`,
    ...attentionLines(attention, { source: 'placed', values: read, length }),
    ...residualLines(fields, 'self_attn', 'o_proj', 'input', share),
    ...startLines(fields, 'encoder_attn', between),
    `query_placed: add(${pre ? 'encoder_attn_layer_norm' : between}, query_positions)`,
    'memory_placed: add(memory, positions)',
    ...attentionLines(
      { ...attention, ...(pre ? { mask: 'mask' } : {}) },
      {
        source: 'query_placed',
        memory: 'memory_placed',
        values: 'memory',
        length,
        memoryLength: 'places',
        prefix: 'cross_',
      },
    ),
    ...residualLines(fields, 'encoder_attn', 'cross_o_proj', between, share),
    ...productLines(
      fields,
      fields.size('decoder_ffn_dim'),
      pre ? 'encoder_attn_residual' : 'encoder_attn_layer_norm',
      share,
    ),
  ];
}
