/**
 * Quantizers of networks that are trained with few bits, as QONNX, Brevitas and FINN export them: they keep the shape and
 * carry what they round as floating point.
 *
 * Source: docs/qonnx-custom-ops and src/qonnx/custom_op/general of fastmachinelearning/qonnx; Brevitas exports the same
 * operators in the domain `onnx.brevitas`, and older FINN in `finn.custom_op.general`. Gradients go straight through
 * (Brevitas, brevitas/ops/autograd_ste_ops.py): where a value was clipped they are 0.
 */

import {
  addDimensions,
  type Dimension,
  floorDivideDimensions,
  multiplyDimensions,
} from '../../model/dimension.ts';
import type { Inference, InferenceContext, OperatorDefinition } from '../definition.ts';
import { broadcastMap, leadingMap } from '../dimensions/elementwise.ts';
import { matMulMap } from '../dimensions/products.ts';
import { poolMap } from '../dimensions/windows.ts';
import { inferMatMul, matMulCost } from '../math/matmul.ts';
import { poolCost } from '../nn/pooling.ts';
import { define } from '../vocabulary/define.ts';
import { elementwiseCost, inferLikeInput, passesThrough } from '../vocabulary/elementwise.ts';
import { data, detached, noRule } from '../vocabulary/facts.ts';
import { copyCost } from '../vocabulary/movement.ts';
import {
  elementTypeOf,
  invalid,
  mismatch,
  printShape,
  single,
  tensor,
  unknownBecause,
} from '../vocabulary/types.ts';

/** Type, what it computes, inputs beside the first, operations per element, whether it clips. */
const rows: readonly (readonly [
  type: string,
  documentation: string,
  others: readonly string[],
  operations: number,
  clips: boolean,
])[] = [
  ['Quant', 'rounded to integers of so many bits and scaled back', ['scale', 'zeropt', 'bitwidth'], 7, true],
  [
    'IntQuant',
    'rounded to integers of so many bits and scaled back',
    ['scale', 'zeropt', 'bitwidth'],
    7,
    true,
  ],
  [
    'FloatQuant',
    'rounded to floating point of so many bits',
    ['scale', 'exponent_bitwidth', 'mantissa_bitwidth', 'exponent_bias', 'max_val'],
    10,
    true,
  ],
  ['BipolarQuant', 'the sign, scaled', ['scale'], 3, false],
  ['Trunc', 'least significant bits cut off', ['scale', 'zeropt', 'in_bitwidth', 'out_bitwidth'], 7, false],
];

const domains = ['qonnx.custom_op.general', 'onnx.brevitas', 'finn.custom_op.general'] as const;

const inAllDomains = (definition: Omit<OperatorDefinition, 'domain' | 'since' | 'runner'>) =>
  domains.map((domain) => define({ ...definition, domain, runner: noRule.quantized }));

const quantizer = ([type, documentation, others, operations, clips]: (typeof rows)[number]) =>
  inAllDomains({
    type,
    documentation: `${documentation} (QONNX custom operators, ${type}-1)`,
    inputs: [data('X'), ...others.map(detached)],
    traits: ['passes-elements'],
    pytorch: { layer: type, autocast: 'widest' },
    infer: inferLikeInput,
    dimensions: (context) => broadcastMap(context, { likeFirst: true }),
    cost: (context) =>
      elementwiseCost(context, operations, (index) => {
        if (index !== 0) return undefined;
        return clips ? { reads: ['mask'], operations: 1 } : passesThrough;
      }),
  });

/** How many of the thresholds of its channel an element reaches; [channels, thresholds]. */
const multiThreshold = inAllDomains({
  type: 'MultiThreshold',
  documentation:
    'how many thresholds of its channel each element reaches (QONNX custom operators, MultiThreshold-1)',
  inputs: [detached('v'), detached('thresholds')],
  pytorch: { layer: 'MultiThreshold', autocast: 'widest' },
  infer: inferLikeInput,
  dimensions: (context) => leadingMap(context, ['n']),
  cost: (context) => elementwiseCost(context, 2 * (context.input(1)?.dimensions[1] ?? 1), () => undefined),
});

const xnorPopcount = inAllDomains({
  type: 'XnorPopcountMatMul',
  documentation: 'product of matrices of bits (QONNX custom operators, XnorPopcountMatMul-1)',
  inputs: [detached('A'), detached('B')],
  pytorch: { layer: 'XnorPopcountMatMul', autocast: 'half' },
  infer: (context) => inferMatMul(context, elementTypeOf(context, 0), 0, 1),
  dimensions: (context) => matMulMap(context, { left: 0, right: 1 }),
  cost: (context) => matMulCost(context, 0, 1),
});

/** Positions of windows: ⌊(size + padding − dilation · (kernel − 1) − 1) / stride⌋ + 1 (im2col.py, compute_conv_output_dim). */
const positions = (
  size: Dimension,
  kernel: number,
  stride: number,
  padding: number,
  dilation = 1,
): Dimension =>
  addDimensions(floorDivideDimensions(addDimensions(size, padding - dilation * (kernel - 1) - 1), stride), 1);

const pairOf = (context: InferenceContext, name: string, otherwise: number): readonly [number, number] => {
  const [height = otherwise, width = height] = context.ints(name) ?? [];
  return [height, width];
};

/** [samples, height, width, channels] to [samples, positions, positions, kernel · channels]. */
function inferColumns(context: InferenceContext): Inference {
  const input = context.inputShape(0);
  if (input === undefined) return unknownBecause(context, 0);
  const [samples, height, width, channels] = input;
  if (samples === undefined || height === undefined || width === undefined || channels === undefined) {
    return mismatch(`Im2Col reads [samples, height, width, channels], not ${printShape(input)}`);
  }
  const [kernel, stride] = [pairOf(context, 'kernel_size', 1), pairOf(context, 'stride', 1)];
  const dilation = pairOf(context, 'dilations', 1);
  const [top = 0, left = 0, bottom = 0, right = 0] = context.ints('pad_amount') ?? [];
  if ([...kernel, ...stride, ...dilation].some((each) => each < 1)) {
    return invalid('kernel_size, stride and dilations must be positive');
  }
  return single(
    tensor(elementTypeOf(context, 0), [
      samples,
      positions(height, kernel[0], stride[0], top + bottom, dilation[0]),
      positions(width, kernel[1], stride[1], left + right, dilation[1]),
      multiplyDimensions(channels, kernel[0] * kernel[1]),
    ]),
  );
}

const columns = inAllDomains({
  type: 'Im2Col',
  documentation: 'windows of an image as rows, channels last (QONNX custom operators, Im2Col-1)',
  inputs: [data('X')],
  pytorch: { layer: 'Unfold', autocast: 'widest' },
  infer: inferColumns,
  dimensions: (context) => leadingMap(context, ['n']),
  cost: copyCost,
});

/** A pool whose window is one number, channels first or last. */
function inferQuantizedPool(context: InferenceContext): Inference {
  const input = context.inputShape(0);
  if (input === undefined) return unknownBecause(context, 0);
  const [kernel, stride] = [context.int('kernel', 1), context.int('stride', 1)];
  if (input.length !== 4) return mismatch(`a pool of images reads 4 axes, not ${printShape(input)}`);
  if (kernel < 1 || stride < 1) return invalid('kernel and stride must be positive');
  const spatial = context.string('data_layout', 'NCHW') === 'NHWC' ? [1, 2] : [2, 3];
  const shape = input.map((size, axis) =>
    spatial.includes(axis) ? positions(size, kernel, stride, 0) : size,
  );
  return single(tensor(elementTypeOf(context, 0), shape));
}

const quantizedPool = inAllDomains({
  type: 'QuantAvgPool2d',
  documentation: 'mean of each window, cut to so many bits (QONNX custom operators, QuantAvgPool2d-1)',
  inputs: [data('X')],
  pytorch: { layer: 'AvgPool2d', autocast: 'widest' },
  infer: inferQuantizedPool,
  dimensions: (context) =>
    poolMap(context, { channelsLast: context.string('data_layout', 'NCHW') === 'NHWC' }),
  cost: (context) => poolCost(context, context.int('kernel', 1) ** 2, []),
});

export const quantizers: readonly OperatorDefinition[] = [
  ...rows.flatMap(quantizer),
  ...multiThreshold,
  ...xnorPopcount,
  ...columns,
  ...quantizedPool,
];
