/**
 * Convolutions.
 *
 * FLOPs follow `torch.utils.flop_counter.conv_flop_count`: 2·batch·positions·C_in/groups·C_out·∏kernel, where the
 * positions are those of the output, or of the input for a transposed convolution; a bias adds none. The data
 * gradient and the weight gradient each cost the same again, groups included.
 */

import { countElements } from '../../model/countElements.ts';
import {
  addDimensions,
  type Dimension,
  multiplyDimensions,
  subtractDimensions,
} from '../../model/dimension.ts';
import { type ElementType, isFloatingPoint } from '../../model/elementType.ts';
import type {
  BoundTensor,
  ConvolutionPass,
  ConvolutionShape,
  CostContext,
  Inference,
  InferenceContext,
  OperatorCost,
  OperatorDefinition,
} from '../definition.ts';
import { convolutionMap, deformableConvolutionMap } from '../dimensions/windows.ts';
import { define } from '../vocabulary/define.ts';
import { data, detached, noRule, weight } from '../vocabulary/facts.ts';
import {
  elementTypeOf,
  invalid,
  mismatch,
  printShape,
  single,
  tensor,
  tensorOfUnknownShape,
  unknownBecause,
  whyUnknown,
} from '../vocabulary/types.ts';
import { extentOf, outputSize, type Window, windowProblem, windowsOf } from '../vocabulary/window.ts';
import {
  addWork,
  backwardOf,
  cost,
  savedInput,
  trafficOf,
  unknownShapeCost,
  work,
} from '../vocabulary/work.ts';

const conv = define({
  type: 'Conv',
  documentation: 'convolution over any number of spatial axes (ONNX Operators, Conv-22)',
  inputs: [data('X'), weight('W'), weight('B')],
  pytorch: { layer: 'Conv{n}d', autocast: 'half' },
  runner: { rule: 'Conv' },
  infer: (context) => inferConvolution(context, elementTypeOf(context, 0), 0, 1),
  dimensions: (context) => convolutionMap(context),
  cost: (context) => convolutionCost(context, 0, 1, 2),
});

const convInteger = define({
  type: 'ConvInteger',
  since: 10,
  documentation: 'convolution of 8-bit integers, accumulated in int32 (ONNX Operators, ConvInteger-10)',
  inputs: [detached('x'), detached('w'), detached('x_zero_point'), detached('w_zero_point')],
  pytorch: { layer: 'ConvInteger', autocast: 'half' },
  runner: noRule.quantized,
  infer: (context) => inferConvolution(context, 'int32', 0, 1),
  dimensions: (context) => convolutionMap(context, { bias: -1, perChannel: [3] }),
  cost: (context) => convolutionCost(context, 0, 1),
});

/** Of a convolution of quantized tensors: each with its scale and zero point. */
export const quantizedInputs = [
  detached('x'),
  detached('x_scale'),
  detached('x_zero_point'),
  detached('w'),
  detached('w_scale'),
  detached('w_zero_point'),
  detached('y_scale'),
  detached('y_zero_point'),
  detached('B'),
];

const qLinearConv = define({
  type: 'QLinearConv',
  since: 10,
  documentation: 'convolution of quantized tensors, quantized again (ONNX Operators, QLinearConv-10)',
  inputs: quantizedInputs,
  pytorch: { layer: 'QLinearConv', autocast: 'half' },
  runner: noRule.quantized,
  infer: (context) => inferConvolution(context, elementTypeOf(context, 7), 0, 3),
  dimensions: (context) =>
    convolutionMap(context, { weight: 3, bias: 8, perChannel: [4, 5], nonlinear: true }),
  cost: (context) => convolutionCost(context, 0, 3, 8),
});

const deformConv = define({
  type: 'DeformConv',
  since: 19,
  documentation: 'convolution sampling at learned offsets (ONNX Operators, DeformConv-22)',
  inputs: [data('X'), weight('W'), data('offset'), weight('B'), data('mask')],
  pytorch: { layer: 'DeformConv', autocast: 'half' },
  runner: noRule.unwritten,
  infer: (context) => inferConvolution(context, elementTypeOf(context, 0), 0, 1),
  dimensions: deformableConvolutionMap,
  cost: (context) => convolutionCost(context, 0, 1, 3),
});

const convTranspose = define({
  type: 'ConvTranspose',
  documentation: 'transposed convolution, the data gradient of Conv (ONNX Operators, ConvTranspose-22)',
  inputs: [data('X'), weight('W'), weight('B')],
  pytorch: { layer: 'ConvTranspose{n}d', autocast: 'half' },
  runner: { rule: 'ConvTranspose' },
  infer: inferTransposedConvolution,
  dimensions: (context) => convolutionMap(context, { transposed: true }),
  cost: (context) => convolutionCost(context, 0, 1, 2, true),
});

export const convolutions: readonly OperatorDefinition[] = [
  conv,
  convInteger,
  qLinearConv,
  deformConv,
  convTranspose,
];

export function inferConvolution(
  context: InferenceContext,
  elementType: ElementType,
  inputIndex: number,
  weightIndex: number,
): Inference {
  const wrong = windowProblem(context);
  if (wrong !== undefined) return mismatch(wrong);
  const input = context.inputShape(inputIndex);
  if (input === undefined) return unknownBecause(context, inputIndex, elementType);
  const weight = context.inputShape(weightIndex);
  const kernels = context.ints('kernel_shape') ?? weight?.slice(2);
  if (kernels === undefined) return unknownBecause(context, weightIndex, elementType);
  const [batch, channels, ...spatial] = input;
  if (batch === undefined || channels === undefined || spatial.length !== kernels.length) {
    return mismatch(
      `a convolution with ${kernels.length} spatial axes takes an input [batch, channels, ${kernels.length} sizes], not ${printShape(input)}`,
    );
  }
  const windows = windowsOf(context, kernels);
  const outputChannels = weight?.[0];
  if (outputChannels === undefined) {
    return single(tensorOfUnknownShape(elementType, whyUnknown(context, weightIndex)));
  }
  const type = tensor(elementType, [
    batch,
    outputChannels,
    ...windows.map((window, axis) => outputSize(spatial[axis] ?? 1, window)),
  ]);
  const group = context.int('group', 1);
  const perGroup = weight?.[1];
  if (typeof channels === 'number' && typeof perGroup === 'number' && channels !== perGroup * group) {
    return mismatch(
      `the input ${printShape(input)} has ${channels} channels, but the weight ${printShape(weight ?? [])} with ${group} ${group === 1 ? 'group' : 'groups'} takes ${perGroup * group}`,
      type,
    );
  }
  if (type.shape.some((dimension) => typeof dimension === 'number' && dimension < 0)) {
    return mismatch(
      `the kernel ${printShape(kernels)} is larger than the padded input ${printShape(spatial)}`,
      type,
    );
  }
  return single(type);
}

/** ONNX Operators, ConvTranspose-22: stride·(size − 1) + output_padding + extent − pads, unless `output_shape` is given. */
function inferTransposedConvolution(context: InferenceContext): Inference {
  const elementType = elementTypeOf(context, 0);
  const wrong = windowProblem(context);
  if (wrong !== undefined) return mismatch(wrong);
  const input = context.inputShape(0);
  if (input === undefined) return unknownBecause(context, 0);
  const weight = context.inputShape(1);
  if (weight === undefined) return unknownBecause(context, 1, elementType);
  const [batch, channels, ...spatial] = input;
  const [inputChannels, perGroup, ...weightKernels] = weight;
  const kernels = context.ints('kernel_shape') ?? weightKernels;
  if (batch === undefined || perGroup === undefined || spatial.length !== kernels.length) {
    return mismatch(
      `a transposed convolution with ${kernels.length} spatial axes takes an input [batch, channels, ${kernels.length} sizes], not ${printShape(input)}`,
    );
  }
  const outputShape = context.ints('output_shape');
  if (outputShape?.some((size) => size <= 0))
    return invalid(`output_shape ${printShape(outputShape)} must be positive`);
  const outputPadding = context.ints('output_padding');
  const windows = windowsOf(context, kernels);
  const type = tensor(elementType, [
    batch,
    multiplyDimensions(perGroup, context.int('group', 1)),
    ...windows.map(
      (window, axis) =>
        outputShape?.at(axis - windows.length) ??
        transposedSize(spatial[axis] ?? 1, window, outputPadding?.[axis] ?? 0),
    ),
  ]);
  if (typeof channels === 'number' && typeof inputChannels === 'number' && channels !== inputChannels) {
    return mismatch(
      `the input ${printShape(input)} has ${channels} channels, but the weight ${printShape(weight)} takes ${inputChannels}`,
      type,
    );
  }
  return single(type);
}

function transposedSize(size: Dimension, window: Window, outputPadding: number): Dimension {
  if (window.autoPad.startsWith('SAME')) return multiplyDimensions(size, window.stride);
  const padding = window.autoPad === 'VALID' ? 0 : window.begin + window.end;
  const steps = multiplyDimensions(subtractDimensions(size, 1), window.stride);
  return addDimensions(addDimensions(steps, extentOf(window)), outputPadding - padding);
}

export function convolutionCost(
  context: CostContext,
  inputIndex: number,
  weightIndex: number,
  biasIndex?: number,
  transposed = false,
): OperatorCost {
  const input = context.input(inputIndex);
  const weight = context.input(weightIndex);
  const output = context.output(0);
  if (input === undefined || weight === undefined || output === undefined) return unknownShapeCost;
  const bias = biasIndex === undefined ? undefined : context.input(biasIndex);
  const groups = context.int('group', 1);
  const positions =
    countElements((transposed ? input : output).dimensions.slice(2)) * (input.dimensions[0] ?? 1);
  const flops = 2 * positions * weight.elements;
  const shape = convolutionShape(context, input, weight, output, transposed);
  const pass = (own: ConvolutionPass, mirrored: ConvolutionPass): ConvolutionShape => ({
    ...shape,
    pass: transposed ? mirrored : own,
  });
  const forward = work({
    flops,
    matmul: pass('forward', 'data'),
    operations: bias === undefined ? 0 : output.elements,
    traffic: trafficOf(input, weight, bias, output),
  });
  const channels = input.dimensions[1] ?? 1;
  const kernelClass = groups > 1 && groups === channels ? 'depthwise-convolution' : 'convolution';
  if (!isFloatingPoint(input.elementType)) return cost(kernelClass, forward);
  const { data, weight: weightGradient } = backwardOf(context, (index) => {
    if (index === inputIndex) {
      return work({ flops, matmul: pass('data', 'forward'), traffic: trafficOf(output, weight, input) });
    }
    if (index === weightIndex) {
      return work({ flops, matmul: pass('weight', 'weight'), traffic: trafficOf(output, input, weight) });
    }
    if (index !== biasIndex) return addWork();
    return work({ operations: output.elements, traffic: trafficOf(output, bias) });
  });
  return cost(kernelClass, forward, {
    data,
    weight: weightGradient,
    // One function gives both gradients, and is given both tensors whichever is asked for (tools/autograd/derivatives.yaml).
    saved:
      context.gradient(weightIndex) === 'none' && context.gradient(inputIndex) === 'none'
        ? []
        : [savedInput(inputIndex), savedInput(weightIndex)],
  });
}

function convolutionShape(
  context: CostContext,
  input: BoundTensor,
  weight: BoundTensor,
  output: BoundTensor,
  transposed: boolean,
): ConvolutionShape {
  const [wide, narrow] = transposed ? [output, input] : [input, output];
  const kernels = weight.dimensions.slice(2);
  const all = (name: string, value: number): boolean =>
    context.ints(name)?.every((entry) => entry === value) ?? true;
  const isDense = kernels.length === 2 && all('strides', 1) && all('dilations', 1);
  return {
    kind: 'convolution',
    pass: 'forward',
    images: input.dimensions[0] ?? 1,
    channels: wide.dimensions[1] ?? 1,
    filters: narrow.dimensions[1] ?? 1,
    groups: context.int('group', 1),
    positions: countElements(narrow.dimensions.slice(2)),
    spatialSize: countElements(wide.dimensions.slice(2)),
    kernelElements: countElements(kernels),
    winograd: isDense && kernels.every((size) => size === 3),
    fourier: isDense && kernels.every((size) => size >= 5),
  };
}
