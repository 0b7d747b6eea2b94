/** What operators use their inputs for, as far as parameters and shape arithmetic are told by it. */

/** Whether a stored tensor at input `index` is a weight by the operator's definition. */
export function isWeightInput(type: string, index: number): boolean {
  return weightInputs.get(type)?.includes(index) ?? false;
}

/** As `isWeightInput`, for graph inputs: only where data is never passed at that place. */
export function isOnlyEverWeightInput(type: string, index: number): boolean {
  return index > 0 && !/MatMul|Gemm|Einsum/.test(type) && isWeightInput(type, index);
}

/** Whether input `index` is read for its numbers on the host (a target shape, axes, scales), not as data. */
export function isShapeInput(type: string, index: number): boolean {
  return shapeInputs.get(type)?.includes(index) ?? false;
}

/** Whether an operator of this type reads inputs for their numbers at all; none of those reads more than a few. */
export const readsShapes = (type: string, inputs: readonly string[]): boolean =>
  inputs.length <= 16 && shapeInputs.has(type);

/** Operators that give the same elements again, so that a tensor behind them is still the tensor. */
export function passesElementsThrough(type: string, index: number): boolean {
  return index === 0 && passThrough.has(type);
}

/** Operators that make a tensor out of a shape and nothing else. */
export const generators: ReadonlySet<string> = new Set([
  'ConstantFill',
  'ConstantOfShape',
  'GaussianFill',
  'GivenTensorFill',
  'RandomNormal',
  'RandomUniform',
  'XavierFill',
]);

/** Operators that give the elements they are given in another arrangement. */
export const layoutOperators: ReadonlySet<string> = new Set([
  'Flatten',
  'Identity',
  'Reshape',
  'Squeeze',
  'Transpose',
  'Unsqueeze',
]);

const passThrough: ReadonlySet<string> = new Set([
  ...layoutOperators,
  'Cast',
  'CastLike',
  'DequantizeLinear',
]);

const weightInputs: ReadonlyMap<string, readonly number[]> = new Map([
  ['Conv', [1, 2]],
  ['ConvTranspose', [1, 2]],
  ['DeformConv', [1, 3]],
  ['FusedConv', [1, 2]],
  ['NhwcConv', [1, 2]],
  ['NhwcFusedConv', [1, 2]],
  ['Gemm', [0, 1, 2]],
  ['MatMul', [0, 1]],
  ['FusedMatMul', [0, 1]],
  ['TransposeMatMul', [0, 1]],
  ['FusedMatMulActivation', [0, 1]],
  ['FusedGemm', [0, 1, 2]],
  ['GemmFastGelu', [0, 1, 2]],
  ['Einsum', [0, 1, 2]],
  ['BatchNormalization', [1, 2]],
  ['InstanceNormalization', [1, 2]],
  ['LayerNormalization', [1, 2]],
  ['GroupNormalization', [1, 2]],
  ['GroupNorm', [1, 2]],
  ['RMSNormalization', [1]],
  ['SimplifiedLayerNormalization', [1]],
  ['SkipLayerNormalization', [2, 3, 4]],
  ['SkipSimplifiedLayerNormalization', [2, 3]],
  ['EmbedLayerNormalization', [2, 3, 4, 5, 6]],
  ['Gather', [0]],
  ['TorchEmbedding', [0]],
  ['PRelu', [1]],
  ['LSTM', [1, 2, 3, 7]],
  ['ProjectedLSTM', [1, 2, 3, 7]],
  ['GRU', [1, 2, 3]],
  ['RNN', [1, 2, 3]],
  ['Attention', [1, 2]],
  ['MultiHeadAttention', [3]],
  ['MoE', [2, 3, 4, 5, 6, 7]],
  ['CausalConvWithState', [1, 2]],
  ['BiasGelu', [1]],
  ['BiasSplitGelu', [1]],
  ['FastGelu', [1]],
]);

const shapeInputs: ReadonlyMap<string, readonly number[]> = new Map([
  ['CenterCropPad', [1]],
  ['Col2Im', [1, 2]],
  ['ConstantFill', [0]],
  ['ConstantOfShape', [0]],
  ['Expand', [1]],
  ['OneHot', [1]],
  ['Pad', [1, 3]],
  ['Range', [0, 1, 2]],
  ['ReduceMax', [1]],
  ['ReduceMean', [1]],
  ['ReduceMin', [1]],
  ['ReduceProd', [1]],
  ['ReduceSum', [1]],
  ['Reshape', [1]],
  ['Resize', [1, 2, 3]],
  ['Shape', [0]],
  ['Size', [0]],
  ['Slice', [1, 2, 3, 4]],
  ['Split', [1]],
  ['Squeeze', [1]],
  ['Tile', [1]],
  ['TopK', [1]],
  ['Trilu', [1]],
  ['Unsqueeze', [1]],
  ['Upsample', [1]],
]);
