/**
 * Layers of Caffe, one by one: what comes out, what is trained, and the FLOPs of forward, by the rules of
 * src/caffe/layers/ of BVLC Caffe worked out by hand.
 */

import { expect, test } from 'vitest';
import { bindTrainingGraph } from '../../../server/src/analysis/bindTrainingGraph.ts';
import { openCaffe } from '../../../server/src/analysis/openModel.ts';
import { findMessage } from '../../../server/src/formats/caffe/messages.ts';
import { caffeLayerEntries } from '../../../server/src/lowering/caffe/layerDefinitions.ts';
import { findDataLayer } from '../../../server/src/lowering/caffe/layers/data.ts';
import { pooledSize } from '../../../server/src/lowering/caffe/layers/pooling.ts';

type Shape = readonly number[];

/** `x` and further inputs, each with its shape; the layer; shapes of its tops; elements trained; FLOPs. */
interface Row {
  readonly inputs: Readonly<Record<string, Shape>>;
  readonly layer: string;
  readonly tops: Readonly<Record<string, Shape>>;
  readonly parameters?: number;
  readonly flops?: number;
  /** Codes of what is said of it. */
  readonly said?: readonly string[];
}

const blob = (name: string, shape: Shape): string =>
  `layer { name: "${name}" type: "Input" top: "${name}" input_param { shape { ${shape.map((size) => `dim: ${size}`).join(' ')} } } }`;

function open(row: Pick<Row, 'inputs' | 'layer'>) {
  const inputs = Object.entries(row.inputs).map(([name, shape]) => blob(name, shape));
  return openCaffe([...inputs, row.layer].join('\n'), 'net.prototxt');
}

function check(row: Row): void {
  const opened = open(row);
  expect(opened.issues.map(({ code }) => code)).toEqual(row.said ?? []);
  const { analysis } = opened;
  if (analysis === undefined) throw new Error('nothing was read');
  const batch = analysis.symbols.find(({ name }) => name === 'batch')?.default ?? 1;
  const training = bindTrainingGraph(analysis, new Map([['batch', batch]]), 'training');
  const outputs = analysis.graph.outputs.map((name) => training.tensors.get(name)?.dimensions);
  expect(outputs).toEqual(Object.values(row.tops));
  expect(analysis.parameters.reduce((sum, { elements }) => sum + elements, 0)).toBe(row.parameters ?? 0);
  expect(training.costs.filter((cost) => cost.kind === 'unknown')).toEqual([]);
  const flops = training.costs.reduce(
    (sum, cost) => sum + (cost.kind === 'known' ? cost.forward.flops : 0),
    0,
  );
  expect(flops).toBe(row.flops ?? 0);
}

/** A layer of one bottom and one top. */
const one = (type: string, parameters = ''): string =>
  `layer { name: "l" type: "${type}" bottom: "x" top: "y" ${parameters} }`;

const image = { x: [2, 8, 14, 14] } as const;

const rows: Readonly<Record<string, Row>> = {
  'a convolution rounds down': {
    inputs: { x: [2, 3, 10, 10] },
    layer: one('Convolution', 'convolution_param { num_output: 4 kernel_size: 3 stride: 2 }'),
    tops: { y: [2, 4, 4, 4] },
    parameters: 4 * 3 * 9 + 4,
    flops: 2 * 2 * 4 * 4 * 4 * 3 * 9,
  },
  'a convolution with height and width apart': {
    inputs: { x: [1, 3, 10, 12] },
    layer: one(
      'Convolution',
      'convolution_param { num_output: 2 kernel_h: 1 kernel_w: 7 pad_h: 0 pad_w: 3 stride_h: 1 stride_w: 2 bias_term: false }',
    ),
    tops: { y: [1, 2, 10, 6] },
    parameters: 2 * 3 * 7,
    flops: 2 * 10 * 6 * 2 * 3 * 7,
  },
  'a dilated convolution in groups': {
    inputs: image,
    layer: one(
      'Convolution',
      'convolution_param { num_output: 8 kernel_size: 3 pad: 2 dilation: 2 group: 4 bias_term: false }',
    ),
    tops: { y: [2, 8, 14, 14] },
    parameters: 8 * 2 * 9,
    flops: 2 * 2 * 14 * 14 * 8 * 2 * 9,
  },
  'a convolution over three axes': {
    inputs: { x: [1, 2, 4, 6, 8] },
    layer: one(
      'Convolution',
      'convolution_param { num_output: 3 kernel_size: [3, 3, 1] pad: 1 pad: 0 pad: 0 bias_term: false }',
    ),
    tops: { y: [1, 3, 4, 4, 8] },
    parameters: 3 * 2 * 9,
    flops: 2 * 4 * 4 * 8 * 3 * 2 * 9,
  },
  'a depthwise convolution': {
    inputs: image,
    layer: one(
      'DepthwiseConvolution',
      'convolution_param { num_output: 8 kernel_size: 3 pad: 1 bias_term: false }',
    ),
    tops: { y: [2, 8, 14, 14] },
    parameters: 8 * 9,
    flops: 2 * 2 * 14 * 14 * 8 * 9,
  },
  'a transposed convolution': {
    inputs: { x: [1, 4, 5, 5] },
    layer: one('Deconvolution', 'convolution_param { num_output: 2 kernel_size: 4 stride: 2 pad: 1 }'),
    tops: { y: [1, 2, 10, 10] },
    parameters: 4 * 2 * 16 + 2,
    flops: 2 * 5 * 5 * 4 * 2 * 16,
  },
  'windows as columns': {
    inputs: { x: [2, 3, 6, 6] },
    layer: one('Im2col', 'convolution_param { kernel_size: 3 stride: 3 }'),
    tops: { y: [2, 27, 2, 2] },
  },
  'a pool rounds up': {
    inputs: { x: [1, 1, 6, 6] },
    layer: one('Pooling', 'pooling_param { pool: MAX kernel_size: 3 stride: 2 }'),
    tops: { y: [1, 1, 3, 3] },
  },
  'a pool may round down': {
    inputs: { x: [1, 1, 6, 6] },
    layer: one('Pooling', 'pooling_param { pool: MAX kernel_size: 3 stride: 2 round_mode: FLOOR }'),
    tops: { y: [1, 1, 2, 2] },
  },
  'a last window that would begin in the padding is left out': {
    inputs: { x: [1, 1, 4, 4] },
    layer: one('Pooling', 'pooling_param { pool: AVE kernel_size: 2 stride: 2 pad: 1 }'),
    tops: { y: [1, 1, 3, 3] },
  },
  'without padding a last window outside stays': {
    inputs: { x: [1, 1, 56, 56] },
    layer: one('Pooling', 'pooling_param { pool: MAX kernel_size: 1 stride: 2 }'),
    tops: { y: [1, 1, 29, 29] },
  },
  'a pool of everything': {
    inputs: image,
    layer: one('Pooling', 'pooling_param { pool: AVE global_pooling: true }'),
    tops: { y: [2, 8, 1, 1] },
  },
  'a pool and where its maxima are': {
    inputs: image,
    layer:
      'layer { name: "l" type: "Pooling" bottom: "x" top: "y" top: "mask" pooling_param { kernel_size: 2 stride: 2 } }',
    tops: { y: [2, 8, 7, 7], mask: [2, 8, 7, 7] },
  },
  'a pyramid of pools': {
    inputs: image,
    layer: one('SPP', 'spp_param { pyramid_height: 3 }'),
    tops: { y: [2, 8 * (1 + 4 + 16)] },
  },
  'regions of interest': {
    inputs: { x: [1, 8, 14, 14], rois: [5, 5] },
    layer:
      'layer { name: "l" type: "ROIPooling" bottom: "x" bottom: "rois" top: "y" roi_pooling_param { pooled_h: 7 pooled_w: 7 } }',
    tops: { y: [5, 8, 7, 7] },
  },
  'normalization over channels': {
    inputs: image,
    layer: one('LRN', 'lrn_param { local_size: 5 alpha: 0.0001 beta: 0.75 }'),
    tops: { y: [2, 8, 14, 14] },
  },
  'normalization over positions': {
    inputs: image,
    layer: one('LRN', 'lrn_param { local_size: 3 norm_region: WITHIN_CHANNEL }'),
    tops: { y: [2, 8, 14, 14] },
  },
  'a product flattens what it multiplies': {
    inputs: image,
    layer: one('InnerProduct', 'inner_product_param { num_output: 10 }'),
    tops: { y: [2, 10] },
    parameters: 10 * 1568 + 10,
    flops: 2 * 2 * 10 * 1568,
  },
  'a product keeps the axes before its own': {
    inputs: { x: [2, 7, 3, 4] },
    layer: one('InnerProduct', 'inner_product_param { num_output: 5 axis: 2 bias_term: false }'),
    tops: { y: [2, 7, 5] },
    parameters: 5 * 12,
    flops: 2 * 2 * 7 * 5 * 12,
  },
  'a product with its weight the other way round': {
    inputs: { x: [2, 6] },
    layer: one('InnerProduct', 'inner_product_param { num_output: 5 transpose: true }'),
    tops: { y: [2, 5] },
    parameters: 35,
    flops: 2 * 2 * 5 * 6,
  },
  'rows of a matrix': {
    inputs: { x: [4, 7] },
    layer: one('Embed', 'embed_param { num_output: 16 input_dim: 100 }'),
    tops: { y: [4, 7, 16] },
    parameters: 1616,
  },
  'statistics are not trained': {
    inputs: image,
    layer: one('BatchNorm', 'batch_norm_param { use_global_stats: false }'),
    tops: { y: [2, 8, 14, 14] },
  },
  'factors and shifts per channel': {
    inputs: image,
    layer: one('Scale', 'scale_param { bias_term: true }'),
    tops: { y: [2, 8, 14, 14] },
    parameters: 16,
  },
  'factors of another blob': {
    inputs: { x: [2, 8, 14, 14], s: [2, 8] },
    layer: 'layer { name: "l" type: "Scale" bottom: "x" bottom: "s" top: "y" scale_param { axis: 0 } }',
    tops: { y: [2, 8, 14, 14] },
  },
  'one factor for all': {
    inputs: image,
    layer: one('Scale', 'scale_param { num_axes: 0 }'),
    tops: { y: [2, 8, 14, 14] },
    parameters: 1,
  },
  'a bias of all positions': {
    inputs: image,
    layer: one('Bias', 'bias_param { num_axes: -1 }'),
    tops: { y: [2, 8, 14, 14] },
    parameters: 8 * 196,
  },
  'a factor per channel, plus a blob': {
    inputs: { s: [2, 8, 1, 1], x: [2, 8, 14, 14], z: [2, 8, 14, 14] },
    layer: 'layer { name: "l" type: "Axpy" bottom: "s" bottom: "x" bottom: "z" top: "y" }',
    tops: { y: [2, 8, 14, 14] },
  },
  'a difference': {
    inputs: { x: [2, 8], z: [2, 8] },
    layer:
      'layer { name: "l" type: "Eltwise" bottom: "x" bottom: "z" top: "y" eltwise_param { operation: SUM coeff: 1 coeff: -1 } }',
    tops: { y: [2, 8] },
  },
  'one blob that is scaled, as in FlowNet 2': {
    inputs: { x: [2, 8] },
    layer:
      'layer { name: "l" type: "Eltwise" bottom: "x" top: "y" eltwise_param { operation: SUM coeff: 20 } }',
    tops: { y: [2, 8] },
  },
  'a maximum of three': {
    inputs: { x: [2, 8], z: [2, 8], w: [2, 8] },
    layer:
      'layer { name: "l" type: "Eltwise" bottom: "x" bottom: "z" bottom: "w" top: "y" eltwise_param { operation: MAX } }',
    tops: { y: [2, 8] },
  },
  'blobs joined along channels': {
    inputs: { x: [2, 8, 3, 3], z: [2, 5, 3, 3] },
    layer: 'layer { name: "l" type: "Concat" bottom: "x" bottom: "z" top: "y" }',
    tops: { y: [2, 13, 3, 3] },
  },
  'a blob cut at two places': {
    inputs: image,
    layer:
      'layer { name: "l" type: "Slice" bottom: "x" top: "a" top: "b" top: "c" slice_param { slice_point: 1 slice_point: 3 } }',
    tops: { a: [2, 1, 14, 14], b: [2, 2, 14, 14], c: [2, 5, 14, 14] },
  },
  'a blob under two names': {
    inputs: { x: [2, 8] },
    layer: 'layer { name: "l" type: "Split" bottom: "x" top: "a" top: "b" }',
    tops: { a: [2, 8], b: [2, 8] },
  },
  'axes as one': {
    inputs: image,
    layer: one('Flatten', 'flatten_param { axis: 2 }'),
    tops: { y: [2, 8, 196] },
  },
  'sizes kept and sizes that follow': {
    inputs: image,
    layer: one('Reshape', 'reshape_param { shape { dim: 0 dim: 4 dim: -1 dim: 14 } }'),
    tops: { y: [2, 4, 28, 14] },
  },
  'a part of the axes in another shape': {
    inputs: image,
    layer: one('Reshape', 'reshape_param { shape { dim: 2 dim: 4 } axis: 1 num_axes: 1 }'),
    tops: { y: [2, 2, 4, 14, 14] },
  },
  'a blob repeated': {
    inputs: { x: [2, 3, 4] },
    layer: one('Tile', 'tile_param { axis: 2 tiles: 5 }'),
    tops: { y: [2, 3, 20] },
  },
  'a crop as large as another blob': {
    inputs: { x: [1, 21, 54, 54], z: [1, 3, 34, 30] },
    layer:
      'layer { name: "l" type: "Crop" bottom: "x" bottom: "z" top: "y" crop_param { axis: 2 offset: 19 } }',
    tops: { y: [1, 21, 34, 30] },
  },
  'axes in another order': {
    inputs: image,
    layer: one('Permute', 'permute_param { order: 0 order: 2 order: 3 order: 1 }'),
    tops: { y: [2, 14, 14, 8] },
  },
  'channels interleaved': {
    inputs: image,
    layer: one('ShuffleChannel', 'shuffle_channel_param { group: 4 }'),
    tops: { y: [2, 8, 14, 14] },
  },
  'an image resized': {
    inputs: { x: [1, 3, 33, 33] },
    layer: one('Interp', 'interp_param { zoom_factor: 8 }'),
    tops: { y: [1, 3, 257, 257] },
  },
  'an image twice as large': {
    inputs: { x: [1, 3, 5, 7] },
    layer: one('Upsample', 'upsample_param { scale: 2 }'),
    tops: { y: [1, 3, 10, 14] },
  },
  'a sum of squares': {
    inputs: image,
    layer: one('Reduction', 'reduction_param { operation: SUMSQ axis: 1 coeff: 0.5 }'),
    tops: { y: [2] },
  },
  'the best three': {
    inputs: { x: [2, 100] },
    layer: one('ArgMax', 'argmax_param { top_k: 3 out_max_val: true }'),
    tops: { y: [2, 2, 3] },
  },
  'the best of each position': {
    inputs: image,
    layer: one('ArgMax', 'argmax_param { axis: 1 }'),
    tops: { y: [2, 1, 14, 14] },
  },
  'samples by number': {
    inputs: { x: [6, 8], index: [4] },
    layer: 'layer { name: "l" type: "BatchReindex" bottom: "x" bottom: "index" top: "y" }',
    tops: { y: [4, 8] },
  },
  'a trained blob': {
    inputs: { x: [2, 4] },
    layer: `layer { name: "p" type: "Parameter" top: "w" parameter_param { shape { dim: 4 } } }
      layer { name: "l" type: "Scale" bottom: "x" bottom: "w" top: "y" }`,
    tops: { y: [2, 4] },
    parameters: 4,
  },
  'long short-term memory': {
    inputs: { x: [5, 2, 8], cont: [5, 2] },
    layer:
      'layer { name: "l" type: "LSTM" bottom: "x" bottom: "cont" top: "y" recurrent_param { num_output: 6 } }',
    tops: { y: [5, 2, 6] },
    parameters: 4 * 6 * (8 + 6 + 1),
    flops: 2 * 5 * 2 * 4 * 6 * (8 + 6),
  },
  'recurrent units': {
    inputs: { x: [5, 2, 8], cont: [5, 2] },
    layer:
      'layer { name: "l" type: "RNN" bottom: "x" bottom: "cont" top: "y" recurrent_param { num_output: 6 } }',
    tops: { y: [5, 2, 6] },
    parameters: 6 * (8 + 6 + 1) + 6 * 6 + 6,
    flops: 2 * 5 * 2 * 6 * (8 + 6) + 2 * 5 * 2 * 6 * 6,
  },
  'mean and variance of each channel': {
    inputs: image,
    layer: one('MVN', 'mvn_param { across_channels: true }'),
    tops: { y: [2, 8, 14, 14] },
  },
  'norms of each position': {
    inputs: image,
    layer: one('Normalize', 'norm_param { across_spatial: false channel_shared: false }'),
    tops: { y: [2, 8, 14, 14] },
    parameters: 8,
  },
  'slopes per channel': {
    inputs: image,
    layer: one('PReLU'),
    tops: { y: [2, 8, 14, 14] },
    parameters: 8,
  },
  'boxes of each position': {
    inputs: { x: [2, 8, 19, 19], data: [2, 3, 300, 300] },
    layer: `layer { name: "l" type: "PriorBox" bottom: "x" bottom: "data" top: "y"
      prior_box_param { min_size: 60 max_size: 111 aspect_ratio: 2 aspect_ratio: 3 flip: true } }
      layer { name: "f" type: "Split" bottom: "y" top: "z" }`,
    tops: { z: [1, 2, 19 * 19 * 6 * 4] },
  },
  'a convolution at offsets': {
    inputs: { x: [1, 4, 10, 10], offset: [1, 18, 10, 10] },
    layer:
      'layer { name: "l" type: "DeformableConvolution" bottom: "x" bottom: "offset" top: "y" deformable_convolution_param { num_output: 6 kernel_size: 3 pad: 1 deformable_group: 1 } }',
    tops: { y: [1, 6, 10, 10] },
    parameters: 6 * 4 * 9 + 6,
    flops: 2 * 100 * 6 * 4 * 9,
  },
  'a convolution over frames, as C3D writes it': {
    inputs: { x: [1, 3, 8, 10, 10] },
    layer: one(
      'Convolution3D',
      'convolution_param { num_output: 4 kernel_size: 3 kernel_depth: 2 pad: 1 temporal_stride: 2 bias_term: false }',
    ),
    tops: { y: [1, 4, 4, 10, 10] },
    parameters: 4 * 3 * 18,
    flops: 2 * 400 * 4 * 3 * 18,
  },
  'a convolution over frames, as video-caffe writes it': {
    inputs: { x: [1, 3, 8, 10, 10] },
    layer: one(
      'NdConvolution',
      'convolution_param { num_output: 4 kernel_shape { dim: 3 dim: 3 dim: 3 } stride_shape { dim: 1 dim: 2 dim: 2 } pad_shape { dim: 1 dim: 1 dim: 1 } bias_term: false }',
    ),
    tops: { y: [1, 4, 8, 5, 5] },
    parameters: 4 * 3 * 27,
    flops: 2 * 200 * 4 * 3 * 27,
  },
  'a pool over frames rounds up': {
    inputs: { x: [1, 3, 7, 10, 10] },
    layer: one(
      'Pooling3D',
      'pooling_param { pool: MAX kernel_size: 2 kernel_depth: 2 stride: 2 temporal_stride: 2 }',
    ),
    tops: { y: [1, 3, 4, 5, 5] },
  },
  'factors and shifts are trained where the normalization has them': {
    inputs: image,
    layer: one('BN', 'bn_param { bn_mode: LEARN }'),
    tops: { y: [2, 8, 14, 14] },
    parameters: 16,
  },
  'factors and shifts of NVIDIA’s normalization': {
    inputs: image,
    layer: one('BatchNorm', 'batch_norm_param { scale_bias: true }'),
    tops: { y: [2, 8, 14, 14] },
    parameters: 16,
  },
  'statistics of groups': {
    inputs: image,
    layer: one('GroupNorm', 'group_norm_param { group_num: 4 }'),
    tops: { y: [2, 8, 14, 14] },
    parameters: 16,
  },
  'statistics of each channel': {
    inputs: image,
    layer: one('InstanceNorm'),
    tops: { y: [2, 8, 14, 14] },
    parameters: 16,
  },
  'both signs': { inputs: image, layer: one('CReLU'), tops: { y: [2, 16, 14, 14] } },
  'the greatest, the least': {
    inputs: { x: [2, 3], z: [2, 3] },
    layer:
      'layer { name: "l" type: "Eltwise" bottom: "x" bottom: "z" top: "y" eltwise_param { operation: MIN } }',
    tops: { y: [2, 3] },
  },
  'positions as channels': {
    inputs: image,
    layer: one('Reorg', 'reorg_param { stride: 2 }'),
    tops: { y: [2, 32, 7, 7] },
  },
  'channels as positions': {
    inputs: image,
    layer: one('Reorg', 'reorg_param { stride: 2 reverse: true }'),
    tops: { y: [2, 2, 28, 28] },
  },
  'axes as CRNN writes them': {
    inputs: { x: [2, 3, 4, 5] },
    layer: one('Transpose', 'transpose_param { dim: 3 dim: 0 dim: 2 dim: 1 }'),
    tops: { y: [5, 2, 4, 3] },
  },
  'zeros around': {
    inputs: { x: [2, 3, 4, 5] },
    layer: one('Padding', 'padding_param { pad_l: 1 pad_r: 2 pad_t: 3 }'),
    tops: { y: [2, 3, 7, 8] },
  },
  'a product of two blobs': {
    inputs: { x: [2, 3, 4], z: [2, 4, 5] },
    layer: 'layer { name: "l" type: "MatMul" bottom: "x" bottom: "z" top: "y" }',
    tops: { y: [2, 3, 5] },
    flops: 2 * 2 * 3 * 4 * 5,
  },
  'a map eight times as large': {
    inputs: image,
    layer: one('ImResize', 'imresize_param { factor: 8 }'),
    tops: { y: [2, 8, 112, 112] },
  },
  'gated units': {
    inputs: { x: [5, 2, 8], cont: [5, 2] },
    layer:
      'layer { name: "l" type: "GRU" bottom: "x" bottom: "cont" top: "y" recurrent_param { num_output: 6 } }',
    tops: { y: [5, 2, 6] },
    parameters: 3 * 6 * (8 + 6 + 1),
    flops: 2 * 5 * 2 * 3 * 6 * (8 + 6),
  },
  'long short-term memory that takes and gives its states': {
    inputs: { x: [5, 2, 8], cont: [5, 2], h: [1, 2, 6], c: [1, 2, 6] },
    layer:
      'layer { name: "l" type: "LSTM" bottom: "x" bottom: "cont" bottom: "h" bottom: "c" top: "y" top: "h_n" top: "c_n" recurrent_param { num_output: 6 expose_hidden: true } }',
    tops: { y: [5, 2, 6], h_n: [1, 2, 6], c_n: [1, 2, 6] },
    parameters: 4 * 6 * (8 + 6 + 1),
    flops: 2 * 5 * 2 * 4 * 6 * (8 + 6),
  },
  'a dense block': {
    inputs: { x: [1, 8, 10, 10] },
    layer: one('DenseBlock', 'denseblock_param { numTransition: 2 growthRate: 4 }'),
    tops: { y: [1, 16, 10, 10] },
    parameters: 2 * 8 + 4 * 8 * 9 + 2 * 12 + 4 * 12 * 9,
    flops: 2 * 100 * 9 * 4 * (8 + 12),
  },
  'an image read through a turned grid': {
    inputs: { x: [2, 3, 10, 10], theta: [2, 6] },
    layer:
      'layer { name: "l" type: "SpatialTransformer" bottom: "x" bottom: "theta" top: "y" st_param { output_H: 5 output_W: 4 } }',
    tops: { y: [2, 3, 5, 4] },
    flops: 2 * 2 * 20 * 3 * 2,
  },
  'an image read where a flow points': {
    inputs: { x: [2, 3, 10, 12], flow: [2, 2, 10, 12] },
    layer: 'layer { name: "l" type: "FlowWarp" bottom: "x" bottom: "flow" top: "y" }',
    tops: { y: [2, 3, 10, 12] },
  },
  'a flow brought to a size': {
    inputs: { x: [2, 2, 10, 12] },
    layer: one('Resample', 'resample_param { height: 20 width: 24 antialias: true type: LINEAR }'),
    tops: { y: [2, 2, 20, 24] },
  },
  'the length of each flow': {
    inputs: { x: [2, 2, 10, 12] },
    layer: one('ChannelNorm'),
    tops: { y: [2, 1, 10, 12] },
  },
  'a product with a margin': {
    inputs: { x: [4, 16], label: [4] },
    layer:
      'layer { name: "l" type: "MarginInnerProduct" bottom: "x" bottom: "label" top: "y" margin_inner_product_param { num_output: 10 type: QUADRUPLE } }',
    tops: { y: [4, 10] },
    parameters: 160,
    flops: 2 * 4 * 16 * 10,
  },
  'scores with a margin': {
    inputs: { x: [4, 10], label: [4] },
    layer:
      'layer { name: "l" type: "LabelSpecificAdd" bottom: "x" bottom: "label" top: "y" label_specific_add_param { bias: -0.35 } }',
    tops: { y: [4, 10] },
  },
  'a random field on the host': {
    inputs: image,
    layer: one('DenseCRF', 'dense_crf_param { max_iter: 10 }'),
    tops: { y: [2, 8, 14, 14] },
    said: ['caffe/host-layer'],
  },
  'a flow that is cropped with its image': {
    inputs: { x: [2, 2, 20, 24] },
    layer: `layer { name: "p" type: "GenerateAugmentationParameters" bottom: "x" top: "p" }
      layer { name: "l" type: "FlowAugmentation" bottom: "x" bottom: "p" bottom: "p" top: "y" augmentation_param { crop_width: 16 crop_height: 12 } }`,
    tops: { y: [2, 2, 12, 16] },
  },
  'a gradient that is turned round': {
    inputs: image,
    layer: one('GradientScaler', 'gradient_scaler_param { lower_bound: 0.0 upper_bound: 1.0 }'),
    tops: { y: [2, 8, 14, 14] },
  },
  'images of DetectNet, augmented': {
    inputs: { x: [2, 3, 14, 14], label: [2, 1, 5, 16] },
    layer:
      'layer { name: "l" type: "DetectNetTransformation" bottom: "x" bottom: "label" top: "y" top: "grid" detectnet_augmentation_param { crop_prob: 1.0 } detectnet_groundtruth_param { stride: 16 } }',
    tops: { y: [2, 3, 14, 14] },
  },
  'a loss of a fork that is not known': {
    inputs: { x: [4, 10], target: [4, 10] },
    layer: 'layer { name: "l" type: "WingLoss" bottom: "x" bottom: "target" top: "y" }',
    tops: { y: [] },
    said: ['caffe/unknown-layer'],
  },
  'a loss that is a Python class': {
    inputs: { x: [4, 10], label: [4] },
    layer: `layer { name: "l" type: "Python" bottom: "x" bottom: "label" top: "y" python_param { module: "losses" layer: "DiceLossLayer" } loss_weight: 1 }`,
    tops: { y: [] },
    said: ['caffe/unknown-layer'],
  },
  'a pruned product': {
    inputs: { x: [4, 10] },
    layer: one('CmpInnerProduct', 'inner_product_param { num_output: 5 }'),
    tops: { y: [4, 5] },
    parameters: 55,
    flops: 2 * 4 * 10 * 5,
  },
  'channels dropped by a Python class': {
    inputs: image,
    layer: one('Python', "python_param { module: 'spatial_dropout' layer: 'SpatialDropoutLayer' }"),
    tops: { y: [2, 8, 14, 14] },
    said: ['caffe/host-layer'],
  },
  'samples of regions of interest': {
    inputs: { x: [1, 8, 14, 14], rois: [5, 5] },
    layer:
      'layer { name: "l" type: "ROIAlign" bottom: "x" bottom: "rois" top: "y" roi_align_param { pooled_h: 7 pooled_w: 6 } }',
    tops: { y: [5, 8, 7, 6] },
  },
  'bins of regions, each from channels of its own': {
    inputs: { x: [1, 3 * 49, 14, 14], rois: [5, 5] },
    layer:
      'layer { name: "l" type: "PSROIPooling" bottom: "x" bottom: "rois" top: "y" psroi_pooling_param { output_dim: 3 group_size: 7 } }',
    tops: { y: [5, 3, 7, 7] },
  },
  'the loss of each region': {
    inputs: { x: [4, 10, 1, 1], label: [4, 1, 1, 1] },
    layer:
      'layer { name: "l" type: "SoftmaxWithLossOHEM" bottom: "x" bottom: "label" top: "y" top: "p" top: "each" }',
    tops: { y: [] },
  },
  'the difference of each region': {
    inputs: { x: [4, 10, 1, 1], target: [4, 10, 1, 1] },
    layer: 'layer { name: "l" type: "SmoothL1LossOHEM" bottom: "x" bottom: "target" top: "y" top: "each" }',
    tops: { y: [] },
  },
  'a loss in a net without phases': {
    inputs: { x: [4, 10], label: [4] },
    layer: 'layer { name: "l" type: "SoftmaxWithLoss" bottom: "x" bottom: "label" top: "y" }',
    tops: { y: [] },
  },
};

test.each(Object.entries(rows))('%s', (_, row) => check(row));

/** Layers that keep the shape of their one bottom and train nothing. */
test.each([
  ['ReLU', ''],
  ['ReLU', 'relu_param { negative_slope: 0.1 }'],
  ['ELU', 'elu_param { alpha: 0.5 }'],
  ['SeLu', ''],
  ['ReLU6', ''],
  ['SpatialDropout', ''],
  ['Sigmoid', ''],
  ['TanH', ''],
  ['AbsVal', ''],
  ['BNLL', ''],
  ['Power', 'power_param { power: 0.5 scale: 2 shift: 1 }'],
  ['Power', ''],
  ['Exp', 'exp_param { base: 2 }'],
  ['Log', 'log_param { base: 10 }'],
  ['Threshold', ''],
  ['Swish', 'swish_param { beta: 2 }'],
  ['Clip', 'clip_param { min: 0 max: 6 }'],
  ['Dropout', 'dropout_param { dropout_ratio: 0.4 }'],
  ['HardSwish', ''],
  ['HardSigmoid', ''],
  ['Mish', ''],
  ['Softplus', ''],
  ['Softsign', ''],
  ['Sqrt', ''],
  ['NegReLU', ''],
  ['RReLU', ''],
  ['L2Normalization', ''],
  ['Reverse', 'reverse_param { axis: 1 }'],
  ['Mean', 'mean_param { value: 0.4 }'],
  ['DataAugmentation', ''],
  ['Softmax', ''],
])('%s {%s} gives what it takes', (type, parameters) =>
  check({ inputs: image, layer: one(type, parameters), tops: { y: [2, 8, 14, 14] } }),
);

test.each([
  ['SigmoidCrossEntropyLoss', { x: [4, 10], t: [4, 10] }],
  ['EuclideanLoss', { x: [4, 10], t: [4, 10] }],
  ['HingeLoss', { x: [4, 10], t: [4] }],
  ['MultinomialLogisticLoss', { x: [4, 10], t: [4] }],
  ['InfogainLoss', { x: [4, 10], t: [4] }],
  ['ContrastiveLoss', { x: [4, 10], z: [4, 10], t: [4] }],
  ['SmoothL1Loss', { x: [4, 10], t: [4, 10] }],
  ['L1Loss', { x: [4, 10], t: [4, 10] }],
  ['TripletLoss', { x: [4, 10], t: [4, 10], z: [4, 10] }],
  ['Accuracy', { x: [4, 10], t: [4] }],
] as const)('%s gives one number', (type, inputs) => {
  const bottoms = Object.keys(inputs).map((name) => `bottom: "${name}"`);
  check({
    inputs,
    layer: `layer { name: "l" type: "${type}" ${bottoms.join(' ')} top: "y" }`,
    tops: { y: [] },
  });
});

/** What each of these needs is in other tests; the rest of the table cannot be costed and says why. */
test('a layer whose cost no net tells is unknown, with its reason', () => {
  for (const type of ['Python', 'Filter']) {
    const opened = open({
      inputs: { x: [2, 8], z: [2] },
      layer: `layer { name: "l" type: "${type}" bottom: "x" bottom: "z" top: "y" }`,
    });
    expect(opened.issues.map(({ code }) => code)).toEqual(['caffe/unknown-cost']);
    const { analysis } = opened;
    const [cost] = analysis === undefined ? [] : bindTrainingGraph(analysis, new Map(), 'training').costs;
    expect(cost?.kind).toBe('unknown');
    expect(opened.issues[0]?.message).toContain(cost?.kind === 'unknown' && cost.reason);
  }
});

/** reshape_layer.cpp, Reshape: "new shape contains a 0, but there's no corresponding bottom axis to copy". */
test('a reshape does not copy an axis that its blob does not have', () => {
  const opened = open({
    inputs: { x: [2, 8] },
    layer: one('Reshape', 'reshape_param { shape { dim: 2 dim: 8 dim: 0 } }'),
  });
  expect(opened.issues.map(({ code, message }) => [code, message])).toEqual([
    ['caffe/layer', 'A dimension of 0 copies an axis that [batch, 8] does not have'],
  ]);
});

test('a layer of unknown cost may give a blob of known shape: one channel for each of 21 × 21 displacements', () => {
  const { analysis } = open({
    inputs: { x: [1, 256, 48, 64], z: [1, 256, 48, 64] },
    layer: `layer { name: "l" type: "Correlation" bottom: "x" bottom: "z" top: "c"
      correlation_param { pad: 20 kernel_size: 1 max_displacement: 20 stride_1: 1 stride_2: 2 } }
      layer { name: "r" type: "ReLU" bottom: "c" top: "y" }`,
  });
  if (analysis === undefined) throw new Error('nothing was read');
  const { costs, tensors } = bindTrainingGraph(analysis, new Map([['batch', 1]]), 'training');
  expect(analysis.graph.outputs.map((name) => tensors.get(name)?.dimensions)).toEqual([[1, 441, 48, 64]]);
  expect(costs.map(({ kind }) => kind)).toEqual(['unknown', 'known']);
});

test('every layer is read with the fields that its forks give it', () => {
  const fields = findMessage('LayerParameter')?.fields;
  expect(
    caffeLayerEntries.flatMap(({ parameters }) => parameters ?? []).filter((name) => !fields?.has(name)),
  ).toEqual([]);
});

test('every layer of the table has a row above, or no cost to tell', () => {
  const text = JSON.stringify(rows);
  const named = new Set([...text.matchAll(/type: \\"(\w+)\\"/g)].map(([, type]) => type));
  const elsewhere =
    /^(ReLU|ReLU6|ELU|SeLu|Sigmoid|TanH|AbsVal|BNLL|Power|Exp|Log|Threshold|Swish|Clip|Dropout|Softmax|\w+Loss|Accuracy|Python|Proposal|FrcnnProposalTarget|FrcnnAnchorTarget|DecodeBBox|DetectionOutput|DetectionEvaluate|BoxAnnotatorOHEM|Nms|HardSwish|HardSigmoid|Mish|Softplus|Softsign|Sqrt|NegReLU|RReLU|L2Normalization|Reverse|Mean|DataAugmentation|Correlation|Filter|Silence|HDF5Output|Recurrent|ConvolutionDepthwise)$/;
  const missing = caffeLayerEntries
    .map(({ type }) => type)
    .filter((type) => findDataLayer(type) === undefined && !named.has(type) && !elsewhere.test(type));
  expect(missing).toEqual([]);
});

// spp_layer.cpp, GetPoolingParam: kernel ⌈size / bins⌉, padded by half of what the bins have more than the image, rounded up.
test.each([
  [7, [7, 4, 2], [0, 1, 1]],
  [14, [14, 7, 4], [0, 0, 1]],
  [13, [13, 7, 4], [0, 1, 2]],
])('a pyramid over %i: windows of %j, padded by %j', (size, kernels, pads) => {
  const layer = 'layer { name: "l" type: "SPP" bottom: "x" top: "y" spp_param { pyramid_height: 3 } }';
  const pools = (open({ inputs: { x: [1, 8, size, size] }, layer }).analysis?.graph.operators ?? []).filter(
    ({ type }) => type === 'MaxPool',
  );
  const first = (name: string) =>
    pools.map(({ attributes }) => {
      const given = attributes.get(name);
      return given?.kind === 'ints' ? given.value[0] : undefined;
    });
  expect([first('kernel_shape'), first('pads')]).toEqual([kernels, pads]);
});

/** pooling_layer.cpp, Reshape. */
test.each([
  [55, 3, 2, 0, 27],
  [54, 3, 2, 0, 27],
  [112, 3, 2, 1, 57],
  [28, 3, 1, 1, 28],
  [7, 7, 1, 0, 1],
  [4, 2, 2, 1, 3],
  // The third window would begin where the image ends.
  [3, 2, 2, 1, 2],
])(
  'a window over %i of %i, step %i, padded by %i, takes %i positions',
  (size, kernel, stride, pad, count) => {
    expect(pooledSize(size, kernel, stride, pad)).toBe(count);
  },
);
