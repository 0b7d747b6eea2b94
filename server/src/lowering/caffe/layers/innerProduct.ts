/** Products with a trained matrix, and rows looked up in one (src/caffe/layers/inner_product_layer.cpp, embed_layer.cpp). */

import { booleanOf, numberOf, numberOr, spanOf } from '../../../formats/caffe/syntax.ts';
import { int, type Tensor } from '../../layer-spec/layerDefinition.ts';
import type { CaffeCall, CaffeLayerDefinition } from '../layerDefinition.ts';
import { axisOf, fixedProduct, shapeOf } from '../shapes.ts';

function lowerInnerProduct(call: CaffeCall): readonly Tensor[] | undefined {
  const { parameters } = call;
  const [input] = call.inputs;
  const shape = shapeOf(call);
  if (shape === undefined || input === undefined) return undefined;
  const outputs = outputsOf(call);
  const axis = axisOf(call, numberOr(parameters, 'axis', 1), shape.length, spanOf(parameters, 'axis'));
  if (outputs === undefined || axis === undefined) return undefined;
  const inner = fixedProduct(shape.slice(axis));
  if (inner === undefined) return undefined;
  const hasBias = booleanOf(parameters, 'bias_term') !== false;
  const asStored = booleanOf(parameters, 'transpose') === true;
  if (axis === 1) {
    const matrix = shape.length === 2 ? input : call.emit('Flatten', [input], { axis: int(1) });
    const weight = call.weight(0, 'weight', asStored ? [inner, outputs] : [outputs, inner]);
    const bias = hasBias ? [call.weight(1, 'bias', [outputs])] : [];
    return [call.emit('Gemm', [matrix, weight, ...bias], { transB: int(asStored ? 0 : 1) })];
  }
  const kept = Array.from({ length: axis }, () => 0);
  const rows =
    shape.length === axis + 1 ? input : call.emit('Reshape', [input, call.integers([...kept, -1])]);
  const product = call.emit('MatMul', [rows, call.weight(0, 'weight', [inner, outputs])]);
  return [hasBias ? call.emit('Add', [product, call.weight(1, 'bias', [outputs])]) : product];
}

function outputsOf(call: CaffeCall): number | undefined {
  const outputs = numberOf(call.parameters, 'num_output');
  if (outputs !== undefined && outputs > 0) return outputs;
  return call.missing('num_output', 'give the number of outputs, from 1');
}

function lowerEmbed(call: CaffeCall): readonly Tensor[] | undefined {
  const outputs = outputsOf(call);
  const rows = numberOf(call.parameters, 'input_dim');
  if (outputs === undefined) return undefined;
  if (rows === undefined || rows < 1) return call.missing('input_dim', 'give the number of vectors');
  const looked = call.emit('Gather', [call.weight(0, 'weight', [rows, outputs]), call.inputs[0]]);
  if (booleanOf(call.parameters, 'bias_term') === false) return [looked];
  return [call.emit('Add', [looked, call.weight(1, 'bias', [outputs])])];
}

export const innerProductLayers: readonly CaffeLayerDefinition[] = [
  {
    type: 'InnerProduct',
    aliases: ['FcRistretto', 'CInnerProduct', 'CmpInnerProduct'],
    documentation: 'Product with a trained matrix: a fully connected layer.',
    source: 'inner_product_layer.cpp',
    parameters: 'inner_product_param',
    bottoms: [1, 1],
    tops: [1, 1],
    lower: lowerInnerProduct,
  },
  {
    type: 'Embed',
    documentation: 'Rows of a trained matrix, looked up by number.',
    source: 'embed_layer.cpp',
    parameters: 'embed_param',
    bottoms: [1, 1],
    tops: [1, 1],
    indexBottoms: [0],
    lower: lowerEmbed,
  },
];
