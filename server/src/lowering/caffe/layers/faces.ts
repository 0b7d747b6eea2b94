/** Layers that face recognition adds: margins at the right class, centers of classes, normalized features. */

import { numberOf, numberOr } from '../../../formats/caffe/syntax.ts';
import { int, type Tensor } from '../../layer-spec/layerDefinition.ts';
import type { CaffeCall, CaffeLayerDefinition } from '../layerDefinition.ts';
import { fixed, fixedProduct, shapeOf } from '../shapes.ts';

function classesOf(call: CaffeCall): number | undefined {
  const outputs = numberOf(call.parameters, 'num_output');
  return outputs !== undefined && outputs > 0
    ? outputs
    : call.missing('num_output', 'give the number of classes, from 1');
}

/** The product without a bias, and the norms that its margin is taken of (margin_inner_product_layer.cu). */
function lowerMarginProduct(call: CaffeCall): readonly Tensor[] | undefined {
  const shape = shapeOf(call);
  const features = shape === undefined ? undefined : fixedProduct(shape.slice(1));
  const classes = classesOf(call);
  if (shape === undefined || features === undefined || classes === undefined) return undefined;
  const rows = shape.length === 2 ? call.inputs[0] : call.emit('Flatten', [call.inputs[0]], { axis: int(1) });
  const product = call.emit('Gemm', [rows, call.weight(0, 'weight', [classes, features])], {
    transB: int(1),
  });
  const norm = call.emit('ReduceL2', [rows, call.integers([1])]);
  const scores = call.emit('Div', [product, norm]);
  return call.tops < 2 ? [scores] : [scores, call.fromHost(1, [1])];
}

/** Half the squared distance of features from the trained center of their class (center_loss_layer.cu). */
function lowerCenterLoss(call: CaffeCall): readonly Tensor[] | undefined {
  const shape = shapeOf(call);
  const features = shape === undefined ? undefined : fixedProduct(shape.slice(1));
  const classes = classesOf(call);
  if (shape === undefined || features === undefined || classes === undefined) return undefined;
  const rows = shape.length === 2 ? call.inputs[0] : call.emit('Flatten', [call.inputs[0]], { axis: int(1) });
  const labels = call.emit('Reshape', [call.inputs[1], call.integers([-1])]);
  const centers = call.emit('Gather', [call.weight(0, 'centers', [classes, features]), labels]);
  const difference = call.emit('Sub', [rows, centers]);
  return [call.emit('ReduceSumSquare', [difference], { keepdims: int(0) })];
}

/** Distances from an anchor to a like and an unlike sample (triplet_loss_layer.cpp). */
function lowerTripletLoss(call: CaffeCall): readonly Tensor[] | undefined {
  const [anchor, like, unlike] = call.inputs;
  const distance = (other: Tensor | undefined): Tensor =>
    call.emit('ReduceSumSquare', [call.emit('Sub', [anchor, other]), call.integers([1])], {
      keepdims: int(0),
    });
  const margin = call.scalar(numberOr(call.parameters, 'margin', 1));
  const rest = call.emit('Sub', [distance(like), distance(unlike)]);
  const violated = call.emit('Relu', [call.emit('Add', [rest, margin])]);
  return [call.emit('ReduceSum', [violated], { keepdims: int(0) })];
}

/** Each row divided by its length. */
function lowerRowNorm(call: CaffeCall): readonly Tensor[] | undefined {
  const shape = shapeOf(call);
  if (shape === undefined || fixed(shape[1]) === undefined) return undefined;
  const norm = call.emit('ReduceL2', [
    call.inputs[0],
    call.integers(shape.slice(1).map((_, axis) => axis + 1)),
  ]);
  const divided = call.emit('Div', [call.inputs[0], norm]);
  return call.tops < 2 ? [divided] : [divided, norm];
}

export const faceLayers: readonly CaffeLayerDefinition[] = [
  {
    type: 'MarginInnerProduct',
    aliases: ['LargeMarginInnerProduct'],
    documentation: 'Product with a trained matrix, with a margin at the right class.',
    source: 'margin_inner_product_layer.cu of SphereFace',
    parameters: 'margin_inner_product_param',
    otherParameters: ['largemargin_inner_product_param', 'large_margin_inner_product_param'],
    bottoms: [1, 2],
    tops: [1, 2],
    comparesBottoms: true,
    indexBottoms: [1],
    lower: lowerMarginProduct,
  },
  {
    type: 'LabelSpecificAdd',
    aliases: [
      'LabelSpecificMargin',
      'LabelSpecificHardMargin',
      'LabelSpecificRescale',
      'LabelSpecificAffine',
      'LabelSpecificStatistics',
      'CosinAdd',
      'Cosinadd',
      'InsanityFace',
      'NoiseTolerantFR',
    ],
    documentation: 'Scores with another value at the right class.',
    source: 'label_specific_add_layer.cu of AM-Softmax; insanity_face_layer.cu of InsightFace for Caffe',
    parameters: 'label_specific_add_param',
    bottoms: [2, 4],
    tops: [1, 2],
    comparesBottoms: true,
    indexBottoms: [1],
    lower: (call) => [call.emit('Add', [call.inputs[0], call.scalar(0)])],
  },
  {
    type: 'CenterLoss',
    documentation: 'Distance of features from the trained center of their class.',
    source: 'center_loss_layer.cu of caffe-face',
    parameters: 'center_loss_param',
    isLoss: true,
    comparesBottoms: true,
    bottoms: [2, 2],
    tops: [0, 1],
    indexBottoms: [1],
    lower: lowerCenterLoss,
  },
  {
    type: 'TripletLoss',
    documentation: 'Distances from an anchor to a like and an unlike sample.',
    source: 'triplet_loss_layer.cpp of the forks for retrieval',
    parameters: 'triplet_loss_param',
    isLoss: true,
    comparesBottoms: true,
    bottoms: [3, 4],
    tops: [0, 1],
    lower: lowerTripletLoss,
  },
  {
    type: 'L2Normalization',
    aliases: [
      'L2Normalize',
      'L2Norm',
      'L2NormalizeLayer',
      'NormalizeLayer',
      'Normalization',
      'NormLayer',
      'Norm2',
    ],
    documentation: 'Each sample divided by its L2 norm.',
    source: 'l2_normalization_layer.cpp, normalize_layer.cu of NormFace',
    parameters: 'l2_normalization_param',
    bottoms: [1, 1],
    tops: [1, 2],
    lower: lowerRowNorm,
  },
];
