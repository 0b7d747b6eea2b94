/**
 * Through which inputs of an operator a gradient flows.
 *
 * Sources: ONNX 1.23 operator documentation ("Differentiable" of each formal parameter) and, where ONNX says
 * nothing, the derivatives PyTorch defines (`tools/autograd/derivatives.yaml`).
 */

/** Whether input `index` of this operator is differentiable. Operators not listed are, in every input. */
export function isDifferentiableInput(type: string, index: number): boolean {
  if (notDifferentiable.has(type)) return false;
  const inputs = differentiableInputs.get(type);
  return inputs === undefined || inputs.includes(index);
}

const notDifferentiable: ReadonlySet<string> = new Set([
  'And',
  'ArgMax',
  'ArgMin',
  'Bernoulli',
  'BitShift',
  'BitwiseAnd',
  'BitwiseNot',
  'BitwiseOr',
  'BitwiseXor',
  'Ceil',
  'Constant',
  'ConstantFill',
  'ConstantOfShape',
  'Equal',
  'EyeLike',
  'Floor',
  'Greater',
  'GreaterOrEqual',
  'Hardmax',
  'IsInf',
  'IsNaN',
  'Less',
  'LessOrEqual',
  'Multinomial',
  'NonMaxSuppression',
  'NonZero',
  'Not',
  'Or',
  'QuantizeLinear',
  'RandomNormal',
  'RandomNormalLike',
  'RandomUniform',
  'RandomUniformLike',
  'Range',
  'Round',
  'Shape',
  'Sign',
  'Size',
  'Unique',
  'Xor',
]);

const onlyFirst: readonly number[] = [0];

const differentiableInputs: ReadonlyMap<string, readonly number[]> = new Map([
  ...[
    'AffineGrid',
    'CastLike',
    'CenterCropPad',
    'Clip',
    'Col2Im',
    'Compress',
    'CumSum',
    'DequantizeLinear',
    'Dropout',
    'Expand',
    'Gather',
    'GatherElements',
    'GatherND',
    'MaxRoiPool',
    'Pad',
    'ReduceL1',
    'ReduceL2',
    'ReduceLogSum',
    'ReduceLogSumExp',
    'ReduceMax',
    'ReduceMean',
    'ReduceMin',
    'ReduceProd',
    'ReduceSum',
    'ReduceSumSquare',
    'Reshape',
    'Resize',
    'RoiAlign',
    'Slice',
    'Split',
    'Squeeze',
    'Tile',
    'TopK',
    'Trilu',
    'Unsqueeze',
    'Upsample',
  ].map((type): [string, readonly number[]] => [type, onlyFirst]),
  // Running mean and variance are statistics, not trained.
  ['BatchNormalization', [0, 1, 2]],
  ['GRU', [0, 1, 2, 3, 5]],
  ['LSTM', [0, 1, 2, 3, 5, 6, 7]],
  ['ProjectedLSTM', [0, 1, 2, 3, 5, 6, 7]],
  ['NegativeLogLikelihoodLoss', [0]],
  ['RNN', [0, 1, 2, 3, 5]],
  ['Scatter', [0, 2]],
  ['ScatterElements', [0, 2]],
  ['ScatterND', [0, 2]],
  ['SoftmaxCrossEntropyLoss', [0]],
  ['Where', [1, 2]],
  // com.microsoft: position tables and lengths of fused attention are not trained.
  ['GroupQueryAttention', [0, 1, 2, 3, 4]],
  ['RotaryEmbedding', [0]],
]);
