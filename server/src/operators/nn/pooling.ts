/**
 * Pools.
 *
 * PyTorch keeps the input and the positions of the maxima of a max pool (`max_pool2d_with_indices`, int64), and the
 * input of an average pool (`avg_pool2d`); a global average is a mean and keeps nothing.
 */

import { countElements } from '../../model/countElements.ts';
import { type Dimension, unknownDimension } from '../../model/dimension.ts';
import type {
  CostContext,
  Inference,
  InferenceContext,
  OperatorCost,
  OperatorDefinition,
  SavedTensor,
} from '../definition.ts';
import { globalPoolMap, poolMap, regionsMap } from '../dimensions/windows.ts';
import { define } from '../vocabulary/define.ts';
import { data, detached, host, noRule } from '../vocabulary/facts.ts';
import {
  elementTypeOf,
  invalid,
  mismatch,
  printShape,
  single,
  tensor,
  unknownBecause,
  whyUnknown,
} from '../vocabulary/types.ts';
import { outputSize, windowProblem, windowsOf } from '../vocabulary/window.ts';
import {
  addTraffic,
  backwardOf,
  byteTraffic,
  cost,
  needsGradient,
  savedInput,
  savedOutput,
  trafficOf,
  unknownShapeCost,
  work,
} from '../vocabulary/work.ts';

const maxPool = define({
  type: 'MaxPool',
  documentation: 'largest element of each window (ONNX Operators, MaxPool-22)',
  inputs: [data('X')],
  pytorch: { layer: 'MaxPool{n}d', autocast: 'widest' },
  runner: { rule: 'MaxPool' },
  infer: (context) => inferPool(context, 1),
  dimensions: (context) => poolMap(context, { countsPositions: context.outputCount > 1 }),
  cost: (context) => {
    const output = context.output(0);
    if (output === undefined) return unknownShapeCost;
    const positions: SavedTensor = {
      kind: 'extra',
      name: 'positions of the maxima',
      traffic: byteTraffic(8 * output.elements),
    };
    const window = countElements(context.ints('kernel_shape') ?? []);
    return poolCost(context, window, [
      savedInput(0),
      context.output(1) === undefined ? positions : savedOutput(1),
    ]);
  },
});

const averagePool = define({
  type: 'AveragePool',
  documentation: 'mean of each window (ONNX Operators, AveragePool-22)',
  inputs: [data('X')],
  pytorch: { layer: 'AvgPool{n}d', autocast: 'widest' },
  runner: { rule: 'AveragePool' },
  infer: (context) => inferPool(context, 0),
  dimensions: (context) => poolMap(context),
  cost: (context) => poolCost(context, countElements(context.ints('kernel_shape') ?? []), [savedInput(0)]),
});

const lpPool = define({
  type: 'LpPool',
  documentation: 'p-norm of each window (ONNX Operators, LpPool-22)',
  inputs: [data('X')],
  pytorch: { layer: 'LpPool', autocast: 'fp32' },
  runner: noRule.unwritten,
  infer: (context) => inferPool(context, 0),
  dimensions: (context) => poolMap(context),
  cost: (context) =>
    poolCost(context, 2 * countElements(context.ints('kernel_shape') ?? []), [savedInput(0), savedOutput(0)]),
});

const globalAveragePool = define({
  type: 'GlobalAveragePool',
  documentation: 'mean over all spatial axes (ONNX Operators, GlobalAveragePool-22)',
  inputs: [data('X')],
  pytorch: { layer: 'AdaptiveAvgPool{n}d', autocast: 'widest' },
  runner: { rule: 'GlobalAveragePool' },
  infer: inferGlobalPool,
  dimensions: (context) => globalPoolMap(context, 'mean'),
  cost: (context) => poolCost(context, spatialElements(context), []),
});

const globalMaxPool = define({
  type: 'GlobalMaxPool',
  documentation: 'maximum over all spatial axes (ONNX Operators, GlobalMaxPool-22)',
  inputs: [data('X')],
  pytorch: { layer: 'AdaptiveMaxPool{n}d', autocast: 'widest' },
  runner: { rule: 'GlobalMaxPool' },
  infer: inferGlobalPool,
  dimensions: (context) => globalPoolMap(context, 'max'),
  cost: (context) => poolCost(context, spatialElements(context), [savedInput(0), savedOutput(0)]),
});

const globalLpPool = define({
  type: 'GlobalLpPool',
  documentation: 'p-norm over all spatial axes (ONNX Operators, GlobalLpPool-22)',
  inputs: [data('X')],
  pytorch: { layer: 'GlobalLpPool', autocast: 'widest' },
  runner: noRule.unwritten,
  infer: inferGlobalPool,
  dimensions: (context) => globalPoolMap(context),
  cost: (context) => poolCost(context, 2 * spatialElements(context), [savedInput(0), savedOutput(0)]),
});

const maxUnpool = define({
  type: 'MaxUnpool',
  since: 9,
  documentation: 'inverse of MaxPool: elements put back at their positions (ONNX Operators, MaxUnpool-22)',
  inputs: [data('X'), detached('I'), host('output_shape')],
  pytorch: { layer: 'MaxUnpool', autocast: 'widest' },
  runner: noRule.unwritten,
  infer: (context) => {
    const input = context.inputShape(0);
    if (input === undefined) return unknownBecause(context, 0);
    const indices = context.inputShape(1);
    if (indices !== undefined && indices.length !== input.length)
      return mismatch(`indices ${printShape(indices)} do not fit the input ${printShape(input)}`);
    const requested = context.inputContent(2)?.elements;
    if (requested !== undefined) return single(tensor(elementTypeOf(context, 0), requested));
    if (context.inputType(2) !== undefined) {
      const unknown = unknownDimension(whyUnknown(context, 2));
      const shape = input.map((size, axis) => (axis < 2 ? size : unknown));
      return single(tensor(elementTypeOf(context, 0), shape));
    }
    const windows = windowsOf(context, context.ints('kernel_shape') ?? []);
    const sizes = windows.map((window, axis): Dimension => {
      const size = input[axis + 2];
      return typeof size === 'number' && typeof window.kernel === 'number'
        ? (size - 1) * window.stride - window.begin - window.end + window.kernel
        : { kind: 'unknown', reason: 'the size of an unpooled symbolic axis' };
    });
    return single(tensor(elementTypeOf(context, 0), [...input.slice(0, 2), ...sizes]));
  },
  dimensions: (context) => poolMap(context, { alike: [1], countsPositions: true }),
  cost: (context) => poolCost(context, 1, [savedInput(1)]),
});

const maxRoiPool = define({
  type: 'MaxRoiPool',
  documentation: 'maximum over each region of interest (ONNX Operators, MaxRoiPool-22)',
  inputs: [data('X'), detached('rois')],
  pytorch: { layer: 'MaxRoiPool', autocast: 'widest' },
  runner: noRule.unwritten,
  infer: (context) => {
    const pooled = context.ints('pooled_shape') ?? [];
    if (pooled.some((size) => size <= 0))
      return invalid(`pooled_shape ${printShape(pooled)} must be positive`);
    return inferRegions(context, pooled);
  },
  dimensions: regionsMap,
  cost: (context) => poolCost(context, 1, [savedInput(0), savedInput(1)]),
});

const roiAlign = define({
  type: 'RoiAlign',
  since: 10,
  documentation: 'bilinear samples of each region of interest (ONNX Operators, RoiAlign-22)',
  inputs: [data('X'), detached('rois'), detached('batch_indices')],
  pytorch: { layer: 'RoiAlign', autocast: 'widest' },
  runner: noRule.unwritten,
  infer: (context) =>
    inferRegions(context, [context.int('output_height', 1), context.int('output_width', 1)]),
  dimensions: regionsMap,
  cost: (context) => {
    const samples = Math.max(1, context.int('sampling_ratio', 0));
    return poolCost(context, 8 * samples * samples, [savedInput(1), savedInput(2)]);
  },
});

export const pools: readonly OperatorDefinition[] = [
  maxPool,
  averagePool,
  lpPool,
  globalAveragePool,
  globalMaxPool,
  globalLpPool,
  maxUnpool,
  maxRoiPool,
  roiAlign,
];

export function inferPool(context: InferenceContext, moreOutputs: number): Inference {
  const elementType = elementTypeOf(context, 0);
  const wrong = windowProblem(context);
  if (wrong !== undefined) return mismatch(wrong);
  const input = context.inputShape(0);
  if (input === undefined) return unknownBecause(context, 0);
  const kernels = context.ints('kernel_shape') ?? [];
  const spatial = input.slice(2);
  if (spatial.length !== kernels.length || kernels.length === 0) {
    return mismatch(
      `a pool with kernel ${printShape(kernels)} takes an input [batch, channels, ${kernels.length} sizes], not ${printShape(input)}`,
    );
  }
  const windows = windowsOf(context, kernels);
  const shape = [
    ...input.slice(0, 2),
    ...windows.map((window, axis) => outputSize(spatial[axis] ?? 1, window)),
  ];
  const type = tensor(elementType, shape);
  // As PyTorch does (pool_shape_check in aten/src/ATen/native/Pool.h).
  if (shape.slice(2).some((dimension) => typeof dimension === 'number' && dimension < 1)) {
    return mismatch(
      `the kernel ${printShape(kernels)} is larger than the padded input ${printShape(spatial)}`,
      type,
    );
  }
  return moreOutputs > 0 && context.outputCount > 1
    ? { outputs: [type, tensor('int64', shape)] }
    : single(type);
}

export function inferGlobalPool(context: InferenceContext): Inference {
  const input = context.inputShape(0);
  if (input === undefined) return unknownBecause(context, 0);
  if (input.length < 2) {
    return mismatch(`a global pool takes an input [batch, channels, sizes…], not ${printShape(input)}`);
  }
  const shape = input.map((dimension, axis): Dimension => (axis < 2 ? dimension : 1));
  return single(tensor(elementTypeOf(context, 0), shape));
}

export function inferRegions(context: InferenceContext, pooled: readonly number[]): Inference {
  const elementType = elementTypeOf(context, 0);
  const input = context.inputShape(0);
  if (input === undefined) return unknownBecause(context, 0);
  const regions = context.inputShape(1);
  if (regions === undefined) return unknownBecause(context, 1, elementType);
  const indices = context.inputShape(2)?.[0];
  const count = typeof indices === 'number' ? indices : regions[0];
  const channels = input[1];
  if (count === undefined || channels === undefined) {
    return mismatch(`regions ${printShape(regions)} cannot be taken from ${printShape(input)}`);
  }
  return single(tensor(elementType, [count, channels, ...pooled]));
}

export const spatialElements = (context: CostContext): number =>
  countElements(context.input(0)?.dimensions.slice(2) ?? []);

export function poolCost(context: CostContext, window: number, saved: readonly SavedTensor[]): OperatorCost {
  const input = context.input(0);
  const output = context.output(0);
  if (input === undefined || output === undefined) return unknownShapeCost;
  const operations = window * output.elements;
  const forward = work({ operations, traffic: trafficOf(input, output, context.output(1)) });
  if (!needsGradient(context)) return cost('pooling', forward);
  const positions = saved.flatMap((tensor) => (tensor.kind === 'extra' ? [tensor.traffic] : []));
  const { data, weight } = backwardOf(context, () =>
    work({ operations, traffic: addTraffic(trafficOf(output, input), ...positions) }),
  );
  return cost('pooling', forward, { data, weight, saved });
}
