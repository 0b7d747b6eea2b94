/**
 * Normalizations and softmax.
 *
 * Passes over memory and saved tensors follow PyTorch 2.x: batch normalization in training reads its input twice
 * (statistics, then application) and keeps input and statistics (`native_batch_norm`); layer, group and RMS
 * normalization read once and keep input, mean and reciprocal deviation (`native_layer_norm`,
 * `native_group_norm`); softmax keeps its result (`_softmax`).
 */

import { countElements } from '../../model/countElements.ts';
import type { Dimension } from '../../model/dimension.ts';
import type { ValueType } from '../../model/graph.ts';
import type {
  BoundTensor,
  CostContext,
  Inference,
  InferenceContext,
  OperatorCost,
  OperatorDefinition,
  SavedTensor,
} from '../definition.ts';
import { likeInputBut, likeInputButAxis } from '../dimensions/elementwise.ts';
import {
  batchNormalizationMap,
  groupNormalizationMap,
  instanceNormalizationMap,
  layerNormalizationMap,
} from '../dimensions/normalizations.ts';
import { softmaxMap } from '../dimensions/reductions.ts';
import { normalizeAxis } from '../vocabulary/axes.ts';
import { define } from '../vocabulary/define.ts';
import { inferLikeInput } from '../vocabulary/elementwise.ts';
import { data, detached, noRule, statistic, weight } from '../vocabulary/facts.ts';
import {
  elementTypeOf,
  mismatch,
  printShape,
  single,
  tensor,
  tensorOfUnknownShape,
  unknownBecause,
  whyUnknown,
} from '../vocabulary/types.ts';
import {
  addTraffic,
  addWork,
  backwardOf,
  cost,
  needsGradient,
  savedInput,
  savedOutput,
  trafficOf,
  trafficOfElements,
  unknownShapeCost,
  work,
} from '../vocabulary/work.ts';

const batchNormalization = define({
  type: 'BatchNormalization',
  documentation:
    'normalization per channel with batch or running statistics (ONNX Operators, BatchNormalization-15)',
  inputs: [data('X'), weight('scale'), weight('B'), statistic('input_mean'), statistic('input_var')],
  // cuDNN's `CUDNN_BATCHNORM_SPATIAL` (PyTorch 1.5 to 2.x aten/src/ATen/native/cudnn/BatchNorm.cpp; `SPATIAL_PERSISTENT` is for
  // channels last alone): a block for each channel reads its elements twice, and backward the gradient's beside them. PyTorch's
  // own kernels for bf16 have blocks of planes too (cuda/Normalization.cuh, `batch_norm_collect_statistics_kernel`).
  traits: ['batch-statistics'],
  pytorch: { layer: 'BatchNorm{n}d', autocast: 'widest', channelReads: { forward: 2, backward: 4 } },
  runner: { rule: 'BatchNormalization' },
  infer: (context) => {
    const input = context.inputShape(0);
    const elementType = elementTypeOf(context, 0);
    if (input === undefined) {
      const unknown = tensorOfUnknownShape(elementType, whyUnknown(context, 0));
      return { outputs: [unknown, ...runningStatistics(context, undefined)] };
    }
    const channels = input[1];
    for (const index of [1, 2, 3, 4]) {
      const shape = context.inputShape(index);
      if (shape !== undefined && shape.length !== 1)
        return mismatch(`input ${index} has one element per channel, not ${printShape(shape)}`);
    }
    const scale = context.inputShape(1)?.[0];
    const type = tensor(elementType, input);
    if (typeof channels === 'number' && typeof scale === 'number' && channels !== scale) {
      return mismatch(
        `the input ${printShape(input)} has ${channels} channels, but the scale has ${scale}`,
        type,
      );
    }
    return { outputs: [type, ...runningStatistics(context, channels)] };
  },
  dimensions: batchNormalizationMap,
  cost: (context) => {
    const input = context.input(0);
    const output = context.output(0);
    if (input === undefined || output === undefined) return unknownShapeCost;
    const channels = input.dimensions[1] ?? 1;
    // A network that is being trained normalizes with the statistics of its batch, however it was exported.
    const inTraining =
      context.int('training_mode', 0) === 1 || (context.opset < 14 && context.outputCount > 1);
    const training = context.training && (inTraining || needsGradient(context));
    return normalizationCost(context, {
      operations: training ? 8 : 2,
      reads: training ? 2 : 1,
      statistics: 2 * channels,
      isAffine: !training,
      oneBackwardKernel: true,
    });
  },
});

/** Mean and variance in turn, each like the one that comes in, or one element per channel. */
function runningStatistics(context: InferenceContext, channels: Dimension | undefined): readonly ValueType[] {
  const elementType = context.inputElementType(3) ?? elementTypeOf(context, 0);
  return Array.from({ length: Math.max(0, context.outputCount - 1) }, (_, index) => {
    const source = index % 2 === 0 ? 3 : 4;
    const shape = context.inputShape(source) ?? (channels === undefined ? undefined : [channels]);
    return shape === undefined
      ? tensorOfUnknownShape(elementType, whyUnknown(context, source))
      : tensor(elementType, shape);
  });
}

const layerNormalization = define({
  type: 'LayerNormalization',
  since: 17,
  documentation: 'normalization over the last axes (ONNX Operators, LayerNormalization-17)',
  inputs: [data('X'), weight('Scale'), weight('B')],
  // Scale and shift are summed over all rows by a kernel with one block for each 32 columns (PyTorch 1.13 to 2.6
  // aten/src/ATen/native/cuda/layer_norm_kernel.cu, `GammaBetaBackwardCUDAKernel_32x32`; pull request 147773: "for large M and
  // small N, we were only using few SMs"). Since 2.8 threads and blocks share rows out (`KernelEnvironment.sharesRows`).
  pytorch: {
    layer: 'LayerNorm',
    autocast: 'fp32',
    blockPerRow: true,
    columnsPerBlock: 32,
    operands: 'contiguous',
  },
  runner: { rule: 'LayerNormalization' },
  infer: (context) => inferWithStatistics(context, -1),
  dimensions: (context) => layerNormalizationMap(context),
  cost: (context) =>
    normalizationCost(context, { operations: 8, reads: 1, statistics: 2 * rowsOf(context, -1) }),
});

const rmsNormalization = define({
  type: 'RMSNormalization',
  since: 23,
  documentation: 'division by the root mean square over the last axes (ONNX Operators, RMSNormalization-23)',
  inputs: [data('X'), weight('scale')],
  pytorch: { layer: 'RMSNorm', autocast: 'fp32' },
  runner: { rule: 'RMSNormalization' },
  infer: (context) => inferLikeInput(context),
  dimensions: (context) => layerNormalizationMap(context, { beside: [1] }),
  cost: (context) => normalizationCost(context, { operations: 4, reads: 1, statistics: rowsOf(context, -1) }),
});

const instanceNormalization = define({
  type: 'InstanceNormalization',
  documentation: 'normalization per sample and channel (ONNX Operators, InstanceNormalization-22)',
  inputs: [data('input'), weight('scale'), weight('B')],
  pytorch: { layer: 'InstanceNorm{n}d', autocast: 'widest' },
  runner: { rule: 'InstanceNormalization' },
  infer: (context) => inferLikeInput(context),
  dimensions: instanceNormalizationMap,
  cost: (context) => {
    const [batch = 1, channels = 1] = context.input(0)?.dimensions ?? [];
    return normalizationCost(context, {
      operations: 8,
      reads: 2,
      statistics: 2 * batch * channels,
      oneBackwardKernel: true,
    });
  },
});

const groupNormalization = define({
  type: 'GroupNormalization',
  since: 18,
  documentation: 'normalization per sample and group of channels (ONNX Operators, GroupNormalization-21)',
  inputs: [data('X'), weight('scale'), weight('bias')],
  pytorch: { layer: 'GroupNorm', autocast: 'fp32' },
  runner: { rule: 'GroupNormalization' },
  infer: (context) => inferLikeInput(context),
  dimensions: (context) => groupNormalizationMap(context, 'num_groups'),
  cost: (context) => {
    const [batch = 1] = context.input(0)?.dimensions ?? [];
    return normalizationCost(context, {
      operations: 8,
      reads: 2,
      statistics: 2 * batch * context.int('num_groups', 1),
    });
  },
});

const meanVarianceNormalization = define({
  type: 'MeanVarianceNormalization',
  since: 9,
  documentation: 'normalization over given axes without scale (ONNX Operators, MeanVarianceNormalization-13)',
  inputs: [data('X')],
  pytorch: { layer: 'MeanVarianceNormalization', autocast: 'widest' },
  runner: noRule.unwritten,
  infer: (context) => inferLikeInput(context),
  dimensions: (context) => likeInputBut(context, context.ints('axes') ?? [0, 2, 3]),
  cost: (context) => normalizationCost(context, { operations: 6, reads: 2, statistics: 0 }),
});

const lpNormalization = define({
  type: 'LpNormalization',
  documentation: 'division by the p-norm along an axis (ONNX Operators, LpNormalization-22)',
  inputs: [data('input')],
  pytorch: { layer: 'LpNormalization', autocast: 'fp32-result' },
  runner: { rule: 'LpNormalization' },
  infer: (context) => inferLikeInput(context),
  dimensions: (context) => likeInputButAxis(context, 'axis', -1),
  cost: (context) => normalizationCost(context, { operations: 3, reads: 2, statistics: 0 }),
});

const localResponseNormalization = define({
  type: 'LRN',
  documentation: 'normalization over neighbouring channels (ONNX Operators, LRN-13)',
  inputs: [data('X')],
  pytorch: { layer: 'LocalResponseNorm', autocast: 'fp32-result' },
  runner: { rule: 'LRN' },
  infer: (context) => inferLikeInput(context),
  dimensions: (context) => likeInputBut(context, [1]),
  cost: (context) =>
    normalizationCost(context, { operations: context.int('size', 1) + 4, reads: 2, statistics: 0 }),
});

/** Axis semantics changed in version 13 (from flattening to one axis); neither shape nor cost depend on it. */
const softmaxes = (['Softmax', 'LogSoftmax', 'Hardmax'] as const).map((type) =>
  define({
    type,
    documentation: {
      Softmax: 'eˣ divided by its sum along an axis (ONNX Operators, Softmax-13)',
      LogSoftmax: 'logarithm of softmax along an axis (ONNX Operators, LogSoftmax-13)',
      Hardmax: '1 at the first maximum along an axis, 0 elsewhere (ONNX Operators, Hardmax-13)',
    }[type],
    inputs: [type === 'Hardmax' ? detached('input') : data('input')],
    pytorch: {
      layer: type,
      autocast: type === 'Hardmax' ? 'widest' : 'fp32-softmax',
      // The gradient times the result before the kernel over rows, the same three tensors twice (PyTorch 2.x
      // aten/src/ATen/native/cuda/SoftMax.cu, `softmax_backward_cuda_out`).
      ...(type === 'Softmax' && {
        backwardKernels: [{ share: 1, elementwise: true }, { share: 1 }] as const,
      }),
    },
    runner: type === 'Hardmax' ? noRule.unwritten : { rule: type },
    infer: (context) => {
      const input = context.inputShape(0);
      const axis = context.int('axis', context.opset < 13 ? 1 : -1);
      // Before version 13 the axis may also equal the rank: everything is then one row.
      const limit = input === undefined ? 0 : input.length + (context.opset < 13 ? 1 : 0);
      // A scalar has no axis; before version 13 it was flattened like everything else.
      const hasAxis = input !== undefined && (input.length > 0 || context.opset >= 13);
      if (hasAxis && normalizeAxis(axis, limit) === undefined) {
        return mismatch(
          `axis ${axis} lies outside the input ${printShape(input)}`,
          tensor(elementTypeOf(context, 0), input),
        );
      }
      return inferLikeInput(context);
    },
    dimensions: softmaxMap,
    cost: (context) => {
      const input = context.input(0);
      const output = context.output(0);
      if (input === undefined || output === undefined) return unknownShapeCost;
      const rowLength = softmaxRow(context, input);
      const forward = work({
        operations: 5 * input.elements,
        traffic: trafficOf(input, output),
        rowLength,
      });
      if (!needsGradient(context) || type === 'Hardmax') return cost('reduction', forward);
      const { data, weight } = backwardOf(context, () =>
        work({
          operations: 4 * input.elements,
          traffic: trafficOf(output, output, input),
          rowLength,
        }),
      );
      return cost('reduction', forward, { data, weight, saved: [savedOutput(0)] });
    },
  }),
);

export const normalizations: readonly OperatorDefinition[] = [
  batchNormalization,
  layerNormalization,
  rmsNormalization,
  instanceNormalization,
  groupNormalization,
  meanVarianceNormalization,
  lpNormalization,
  localResponseNormalization,
  ...softmaxes,
];

/** Outputs after the first are statistics, with the normalized axes reduced to 1. */
export function inferWithStatistics(context: InferenceContext, defaultAxis: number): Inference {
  const input = context.inputShape(0);
  const elementType = elementTypeOf(context, 0);
  if (input === undefined) return unknownBecause(context, 0);
  const type = tensor(elementType, input);
  const axis = normalizeAxis(context.int('axis', defaultAxis), input.length);
  if (axis === undefined) {
    return mismatch(
      `axis ${context.int('axis', defaultAxis)} lies outside the input ${printShape(input)}`,
      type,
    );
  }
  const scale = context.inputShape(1);
  const last = input.at(-1);
  const lastOfScale = scale?.at(-1);
  if (
    typeof last === 'number' &&
    typeof lastOfScale === 'number' &&
    lastOfScale !== 1 &&
    last !== lastOfScale
  ) {
    return mismatch(`the scale ${printShape(scale ?? [])} does not fit the input ${printShape(input)}`, type);
  }
  if (context.outputCount < 2) return single(type);
  const statistics = tensor(
    'float32',
    input.map((dimension, position): Dimension => (position < axis ? dimension : 1)),
  );
  return { outputs: [type, ...Array.from({ length: context.outputCount - 1 }, () => statistics)] };
}

/** Rows that are normalized apart: the product of the axes before `axis`. */
export function rowsOf(context: CostContext, defaultAxis: number): number {
  const dimensions = context.input(0)?.dimensions ?? [];
  return countElements(
    dimensions.slice(0, normalizeAxis(context.int('axis', defaultAxis), dimensions.length) ?? 0),
  );
}

export function normalizationCost(
  context: CostContext,
  kind: {
    /** Per element. */
    readonly operations: number;
    /** Passes over the input in forward. */
    readonly reads: number;
    /** float32 numbers kept beside the input. */
    readonly statistics: number;
    /** Statistics are given, so that forward scales and shifts each element by itself. */
    readonly isAffine?: boolean;
    /**
     * The kernel of the input's gradient sums those of scale and shift (`cudnnBatchNormalizationBackward`; PyTorch
     * aten/src/ATen/native/cuda/Normalization.cuh, `batch_norm_backward_cuda_template`). An instance is a batch of one.
     */
    readonly oneBackwardKernel?: true;
    /** Input that is added before; its gradient is that of input 0, and what is kept is the sum. */
    readonly residual?: number;
  },
): OperatorCost {
  const input = context.input(0);
  const output = context.output(0);
  if (input === undefined || output === undefined) return unknownShapeCost;
  const parameters = trafficOf(
    ...Array.from({ length: Math.max(0, context.inputCount - 1) }, (_, index) => context.input(index + 1)),
  );
  const again = kind.reads > 1 ? trafficOf(input) : trafficOf();
  const more = Array.from({ length: Math.max(0, context.outputCount - 1) }, (_, index) =>
    context.output(index + 1),
  );
  // Statistics over batches and images are gathered in a pass of their own; other normalizations go row by row.
  const rows = kind.reads > 1 || kind.isAffine === true ? {} : { rowLength: rowLengthOf(context, input) };
  const kernelClass = kind.isAffine === true ? 'elementwise' : 'normalization';
  const forward = work({
    operations: kind.operations * input.elements,
    traffic: addTraffic(trafficOf(input, output, ...more), again, parameters),
    ...rows,
  });
  if (!needsGradient(context)) return cost(kernelClass, forward);
  const statistics: SavedTensor = {
    kind: 'extra',
    name: 'statistics',
    traffic: { float32Elements: 0, fixedBytes: 4 * kind.statistics },
  };
  const sumsWithData = kind.oneBackwardKernel === true && context.gradient(0) === 'data';
  const { data, weight } = backwardOf(context, (index) => {
    if (index === kind.residual) return addWork();
    if (index > 0 && sumsWithData)
      return work({ operations: 2 * input.elements, traffic: trafficOf(), kernels: 0 });
    return index === 0
      ? work({
          operations: 2 * kind.operations * input.elements,
          traffic: addTraffic(
            trafficOf(output, input, input),
            kind.reads > 1 ? trafficOf(output, input) : trafficOf(),
          ),
          ...rows,
        })
      : // Scale and shift share one pass over the gradient and the input: each is charged half of it.
        work({
          operations: 2 * input.elements,
          traffic: addTraffic(
            trafficOfElements(input, (output.elements + input.elements) / 2),
            trafficOf(context.input(index)),
          ),
          kernels: index === (kind.residual ?? 0) + 1 ? 1 : 0,
        });
  });
  return cost(kernelClass, forward, {
    data,
    weight,
    saved: [normalized(context, output, kind.residual), ...(kind.statistics > 0 ? [statistics] : [])],
  });
}

/** Elements that are summed: those along the axis, before version 13 from there to the end. A scalar is one. */
function softmaxRow({ int, opset }: CostContext, { dimensions }: BoundTensor): number {
  if (opset < 13) return countElements(dimensions.slice(int('axis', 1)));
  return dimensions.at(int('axis', -1)) ?? 1;
}

/** Elements from the attribute `axis` to the end: what one row of the kernel works on. */
function rowLengthOf(context: CostContext, input: BoundTensor): number {
  const axis = context.int('axis', -1);
  return countElements(input.dimensions.slice(axis));
}

/** What was normalized: the input, or its sum with a residual, which is the last output where that is asked for. */
function normalized(context: CostContext, output: BoundTensor, residual: number | undefined): SavedTensor {
  if (residual === undefined) return savedInput(0);
  return context.output(3) === undefined
    ? { kind: 'extra', name: 'sum with the residual', traffic: trafficOf(output) }
    : savedOutput(3);
}
