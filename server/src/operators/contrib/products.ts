/**
 * Matrix products and convolutions of ONNX Runtime: with transposes, with an activation behind them, with quantized
 * weights. FLOPs are those of the product whatever the width of its operands; traffic is that of their true widths.
 */

import type { Dimension } from '../../model/dimension.ts';
import { elementTypeOfNumber } from '../../model/elementType.ts';
import type {
  CostContext,
  Inference,
  InferenceContext,
  OperatorCost,
  OperatorDefinition,
} from '../definition.ts';
import { mapOfLabels } from '../dimensions/labels.ts';
import { dynamicallyQuantizedMap, gemmMap, matMulMap, packedProductMap } from '../dimensions/products.ts';
import { convolutionMap } from '../dimensions/windows.ts';
import {
  gemmCost,
  inferGemm,
  inferMatMul,
  layoutByAttributes,
  matMulCost,
  matmulCost,
  type OperandLayout,
} from '../math/matmul.ts';
import { convolutionCost, inferConvolution, quantizedInputs } from '../nn/convolution.ts';
import { contradict } from '../vocabulary/broadcast.ts';
import { defineContrib } from '../vocabulary/define.ts';
import { data, detached, operand, weight } from '../vocabulary/facts.ts';
import { pickInputs } from '../vocabulary/pickInputs.ts';
import { elementTypeOf, mismatch, printShape, single, tensor, unknownBecause } from '../vocabulary/types.ts';
import {
  addWork,
  backwardOf,
  cost,
  savedInput,
  trafficOf,
  unknownShapeCost,
  work,
} from '../vocabulary/work.ts';
import { boundWithChannelsSecond, channelsBehind, withChannelsSecond } from './blockedLayouts.ts';

const fusedMatMuls = (['FusedMatMul', 'TransposeMatMul', 'FusedMatMulActivation'] as const).map((type) =>
  defineContrib({
    type,
    documentation: {
      FusedMatMul: 'α·A·B with optional transposes, batch axes too',
      TransposeMatMul: 'α·A·B with optional transposes',
      FusedMatMulActivation: 'α·A·B with optional transposes and an activation behind it',
    }[type],
    inputs: [operand('A'), operand('B')],
    pytorch: { layer: type, autocast: 'half' },
    infer: (context) =>
      inferMatMul(context, elementTypeOf(context, 0), 0, 1, {
        left: layoutOf(context, 'A'),
        right: layoutOf(context, 'B'),
      }),
    dimensions: (context) =>
      matMulMap(context, {
        left: 0,
        right: 1,
        leftLayout: layoutOf(context, 'A'),
        rightLayout: layoutOf(context, 'B'),
        nonlinear: type === 'FusedMatMulActivation',
      }),
    cost: (context) => {
      const left = context.input(0);
      const output = context.output(0);
      if (left === undefined || output === undefined) return unknownShapeCost;
      const inner = layoutOf(context, 'A')(left.dimensions).at(-1);
      return matmulCost(context, 0, 1, output.elements * (typeof inner === 'number' ? inner : 1), {
        layout: layoutByAttributes(context),
      });
    },
  }),
);

const fusedGemm = defineContrib({
  type: 'FusedGemm',
  documentation: 'α·A·B + β·C with an activation behind it',
  inputs: [operand('A'), operand('B'), operand('C')],
  pytorch: { layer: 'FusedGemm', autocast: 'half' },
  infer: inferGemm,
  dimensions: (context) => gemmMap(context, { nonlinear: context.string('activation', '') !== '' }),
  cost: gemmCost,
});

const gemmFastGelu = defineContrib({
  type: 'GemmFastGelu',
  documentation: 'GELU of A·B plus a bias',
  inputs: [operand('X'), operand('W'), operand('bias')],
  pytorch: { layer: 'GemmFastGelu', autocast: 'half' },
  infer: (context) => inferMatMul(context, elementTypeOf(context, 0), 0, 1),
  dimensions: (context) => matMulMap(context, { left: 0, right: 1, bias: 2, nonlinear: true }),
  cost: (context) => biasedMatmulCost(context, 2),
});

const fusedConv = defineContrib({
  type: 'FusedConv',
  documentation: 'convolution, plus a residual, with an activation behind it',
  inputs: [data('X'), weight('W'), weight('B'), data('Z')],
  pytorch: { layer: 'Conv{n}d', autocast: 'half' },
  infer: (context) => inferConvolution(context, elementTypeOf(context, 0), 0, 1),
  dimensions: (context) =>
    convolutionMap(context, { residual: 3, nonlinear: context.string('activation', '') !== '' }),
  cost: (context) => {
    const convolution = convolutionCost(context, 0, 1, 2);
    const residual = context.input(3);
    if (convolution.kind === 'unknown' || residual === undefined) return convolution;
    const { forward } = convolution;
    const sum = work({ operations: residual.elements, traffic: trafficOf(residual), kernels: 0 });
    return { ...convolution, forward: addWork(forward, sum) };
  },
});

const hasChannelsLast = (context: Pick<InferenceContext, 'int'>): boolean =>
  context.int('channels_last', 0) !== 0;

const qLinearConv = defineContrib({
  type: 'QLinearConv',
  documentation: 'convolution of quantized tensors, quantized again',
  inputs: quantizedInputs,
  pytorch: { layer: 'QLinearConv', autocast: 'half' },
  infer: (context) => {
    const isLast = hasChannelsLast(context);
    const inner = isLast ? withChannelsSecond(context) : context;
    const inference = inferConvolution(inner, elementTypeOf(context, 7), 0, 3);
    return isLast ? { ...inference, outputs: inference.outputs.map(channelsBehind) } : inference;
  },
  dimensions: (context) =>
    convolutionMap(context, {
      weight: 3,
      bias: 8,
      perChannel: [4, 5],
      nonlinear: true,
      channelsLast: hasChannelsLast(context),
    }),
  cost: (context) =>
    convolutionCost(hasChannelsLast(context) ? boundWithChannelsSecond(context) : context, 0, 3, 8),
});

const integerMatmuls = [
  defineContrib({
    type: 'DynamicQuantizeMatMul',
    documentation: 'A quantized by its own range, times 8-bit integers',
    inputs: [data('A'), detached('B'), data('b_scale'), detached('b_zero_point'), data('bias')],
    pytorch: { layer: 'DynamicQuantizeMatMul', autocast: 'half' },
    infer: (context) => inferMatMul(context, elementTypeOf(context, 0), 0, 1),
    dimensions: dynamicallyQuantizedMap,
    cost: (context) => biasedMatmulCost(context, 4),
  }),
  defineContrib({
    type: 'MatMulIntegerToFloat',
    documentation: 'product of 8-bit integers, scaled to floating point',
    inputs: [
      detached('A'),
      detached('B'),
      data('a_scale'),
      data('b_scale'),
      detached('a_zero_point'),
      detached('b_zero_point'),
      data('bias'),
    ],
    pytorch: { layer: 'MatMulIntegerToFloat', autocast: 'half' },
    infer: (context) => inferMatMul(context, elementTypeOf(context, 2), 0, 1),
    dimensions: (context) =>
      matMulMap(context, { left: 0, right: 1, perRow: [2, 4], perColumn: [3, 5], bias: 6 }),
    cost: (context) => biasedMatmulCost(context, 6),
  }),
  defineContrib({
    type: 'MatMulInteger16',
    documentation: 'product of 16-bit integers in 32 bits',
    inputs: [detached('A'), detached('B')],
    pytorch: { layer: 'MatMulInteger16', autocast: 'half' },
    infer: (context) => {
      const isUnsigned = [0, 1].every((index) => elementTypeOf(context, index) === 'uint16');
      return inferMatMul(context, isUnsigned ? 'uint32' : 'int32', 0, 1);
    },
    dimensions: (context) => matMulMap(context, { left: 0, right: 1 }),
    cost: (context) => matMulCost(context, 0, 1),
  }),
  defineContrib({
    type: 'QGemm',
    documentation: 'α·A·B + C of quantized matrices',
    inputs: [
      detached('A'),
      data('a_scale'),
      detached('a_zero_point'),
      detached('B'),
      data('b_scale'),
      detached('b_zero_point'),
      detached('C'),
      data('y_scale'),
      detached('y_zero_point'),
    ],
    pytorch: { layer: 'QGemm', autocast: 'half' },
    infer: (context) => {
      const inference = inferGemm(pickInputs(context, [0, 3, 6]));
      const elementType = context.inputElementType(8) ?? 'float32';
      const outputs = inference.outputs.map((type) =>
        type.kind === 'tensor' ? { ...type, elementType } : type,
      );
      return { ...inference, outputs };
    },
    dimensions: (context) => gemmMap(context, { right: 3, bias: 6, perColumn: [4, 5], nonlinear: true }),
    cost: (context) => {
      const left = context.input(0);
      const output = context.output(0);
      if (left === undefined || output === undefined) return unknownShapeCost;
      const inner = left.dimensions[context.int('transA', 0) === 0 ? 1 : 0] ?? 1;
      return matmulCost(context, 0, 3, output.elements * inner, {
        layout: layoutByAttributes(context),
        bias: 6,
      });
    },
  }),
];

/** Operands stand among their scales. */
const scaledMatmuls = [
  defineContrib({
    type: 'QOrderedMatMul',
    documentation: 'product of 8-bit integers in an order of their own, quantized again',
    inputs: [
      detached('A'),
      detached('scale_A'),
      detached('B'),
      detached('scale_B'),
      detached('scale_Y'),
      detached('bias'),
      detached('C'),
      detached('scale_C'),
    ],
    pytorch: { layer: 'QOrderedMatMul', autocast: 'half' },
    infer: (context) => inferMatMul(context, elementTypeOf(context, 0), 0, 2),
    dimensions: (context) => matMulMap(context, { left: 0, right: 2, nonlinear: true }),
    cost: (context) => {
      const left = context.input(0);
      const output = context.output(0);
      if (left === undefined || output === undefined) return unknownShapeCost;
      return matmulCost(context, 0, 2, output.elements * (left.dimensions.at(-1) ?? 1), { bias: 5 });
    },
  }),
  defineContrib({
    type: 'GemmFloat8',
    documentation: 'α·A·B + β·C of 8-bit floating point',
    inputs: [data('A'), data('B'), data('C'), data('scaleA'), data('scaleB'), data('scaleY')],
    pytorch: { layer: 'GemmFloat8', autocast: 'half' },
    infer: (context) => {
      const inference = inferGemm(context);
      const elementType = elementTypeOfNumber(context.int('dtype', 1)) ?? 'float32';
      const outputs = inference.outputs.map((type) =>
        type.kind === 'tensor' ? { ...type, elementType } : type,
      );
      return { ...inference, outputs };
    },
    dimensions: (context) => gemmMap(context, { nonlinear: true }),
    cost: gemmCost,
  }),
  defineContrib({
    type: 'CDist',
    documentation: 'distances between the rows of two matrices',
    inputs: [data('A'), data('B')],
    pytorch: { layer: 'CDist', autocast: 'half' },
    infer: (context) => {
      const left = context.inputShape(0);
      const right = context.inputShape(1);
      if (left === undefined) return unknownBecause(context, 0);
      if (right === undefined) return unknownBecause(context, 1, elementTypeOf(context, 0));
      const [rows, columns] = [left[0], right[0]];
      return rows === undefined || columns === undefined
        ? mismatch(`rows of ${printShape(left)} and ${printShape(right)} cannot be compared`)
        : single(tensor(elementTypeOf(context, 0), [rows, columns]));
    },
    // |a|² + |b|² − 2a·b: one product, and a sum for each pair.
    dimensions: (context) =>
      mapOfLabels(context, { inputs: { 0: ['m', undefined], 1: ['n', undefined] }, outputs: [['m', 'n']] }),
    cost: (context) => {
      const left = context.input(0);
      const output = context.output(0);
      if (left === undefined || output === undefined) return unknownShapeCost;
      return matmulCost(context, 0, 1, output.elements * (left.dimensions[1] ?? 1), {
        layout: 'tn',
      });
    },
  }),
];

/** Weights of N rows and K columns, packed in blocks: N and K are attributes, the stored shape says only bytes. */
const packedWeights = [
  defineContrib({
    type: 'MatMulNBits',
    documentation: 'A times weights of 2 to 8 bits, scaled block by block',
    inputs: [data('A'), detached('B'), data('scales'), data('zero_points'), detached('g_idx'), data('bias')],
    pytorch: { layer: 'MatMulNBits', autocast: 'half' },
    infer: (context) => inferPacked(context, context.int('K', 0), context.int('N', 0)),
    dimensions: (context) => packedProductMap(context, [{ kind: 'attribute', name: 'N' }]),
    cost: (context) => packedCost(context, context.int('K', 0)),
  }),
  defineContrib({
    type: 'MatMulBnb4',
    documentation: 'A times weights of 4-bit floating point, scaled block by block',
    inputs: [data('A'), detached('B'), data('absmax')],
    pytorch: { layer: 'MatMulBnb4', autocast: 'half' },
    infer: (context) => {
      const [inner, columns] = sidesOfBnb4(context);
      return inferPacked(context, inner, columns);
    },
    dimensions: (context) => packedProductMap(context, []),
    cost: (context) => packedCost(context, sidesOfBnb4(context)[0]),
  }),
];

export const contribMatmuls: readonly OperatorDefinition[] = [
  ...fusedMatMuls,
  fusedGemm,
  gemmFastGelu,
  fusedConv,
  qLinearConv,
  ...integerMatmuls,
  ...scaledMatmuls,
  ...packedWeights,
];

/** `transA` swaps the last two axes; `transBatchA` moves the first axis behind the other batch axes before that. */
function layoutOf(context: Pick<InferenceContext, 'int'>, side: 'A' | 'B'): OperandLayout {
  const isTransposed = context.int(`trans${side}`, 0) !== 0;
  const movesBatch = context.int(`transBatch${side}`, 0) !== 0;
  return (shape) => {
    const [first, ...others] = shape;
    const moved =
      movesBatch && first !== undefined && shape.length > 2
        ? [...others.slice(0, -1), first, ...others.slice(-1)]
        : shape;
    return isTransposed && moved.length > 1
      ? [...moved.slice(0, -2), ...moved.slice(-2).toReversed()]
      : moved;
  };
}

/** A·B plus the bias at this input, the inner size being the last of A. */
function biasedMatmulCost(context: CostContext, bias: number): OperatorCost {
  const left = context.input(0);
  const output = context.output(0);
  if (left === undefined || output === undefined) return unknownShapeCost;
  return matmulCost(context, 0, 1, output.elements * (left.dimensions.at(-1) ?? 1), { bias });
}

const sidesOfBnb4 = (context: Pick<InferenceContext, 'int'>): readonly [number, number] => {
  const sides = [context.int('K', 0), context.int('N', 0)] as const;
  return context.int('transB', 1) === 1 ? sides : [sides[1], sides[0]];
};

function inferPacked(context: InferenceContext, inner: number, columns: number): Inference {
  const elementType = elementTypeOf(context, 0);
  if (inner <= 0 || columns <= 0) return mismatch(`K ${inner} and N ${columns} must be positive`);
  const input = context.inputShape(0);
  if (input === undefined) return unknownBecause(context, 0);
  const width: Dimension | undefined = input.at(-1);
  const type = tensor(elementType, [...input.slice(0, -1), columns]);
  return width === undefined || contradict(width, inner)
    ? mismatch(`an input ${printShape(input)} does not fit weights of ${inner} by ${columns}`, type)
    : single(type);
}

function packedCost(context: CostContext, inner: number): OperatorCost {
  const input = context.input(0);
  const output = context.output(0);
  if (input === undefined || output === undefined || inner <= 0) return unknownShapeCost;
  const flops = 2 * output.elements * inner;
  const weights = Array.from({ length: context.inputCount - 1 }, (_, index) => context.input(index + 1));
  const columns = output.dimensions.at(-1);
  if (columns === undefined) return unknownShapeCost;
  const bias = context.hasInput(5) ? output.elements : 0;
  const forward = work({
    flops,
    // Each weight is scaled once.
    operations: 2 * inner * columns + bias,
    traffic: trafficOf(input, ...weights, output),
  });
  const { data, weight } = backwardOf(context, (index) =>
    index === 0
      ? work({ flops, operations: 2 * inner * columns, traffic: trafficOf(output, ...weights, input) })
      : addWork(),
  );
  const saved = context.gradient(0) === 'none' ? [] : [1, 2].map(savedInput);
  return cost('matmul', forward, { data, weight, saved });
}
