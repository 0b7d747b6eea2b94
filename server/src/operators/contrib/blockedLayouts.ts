/**
 * Convolutions and pools of ONNX Runtime over other layouts: channels last, and channels in blocks for one processor.
 *
 * FLOPs are those of the same convolution with channels second: a layout changes no product. Blocked channels
 * (domain `com.microsoft.nchwc`) keep their logical order [batch, channels, …] in shapes. Source:
 * onnxruntime/core/graph/contrib_ops (nhwc_schema_defs.cc, nchwc_schema_defs.cc) of microsoft/onnxruntime.
 */

import { countElements } from '../../model/countElements.ts';
import type { Dimension } from '../../model/dimension.ts';
import { isKnownShape, type ValueType } from '../../model/graph.ts';
import type {
  BoundTensor,
  CostContext,
  Inference,
  InferenceContext,
  OperatorCost,
  OperatorDefinition,
  OperatorInput,
  PyTorchFacts,
} from '../definition.ts';
import { leadingMap } from '../dimensions/elementwise.ts';
import { convolutionMap, poolMap } from '../dimensions/windows.ts';
import { convolutionCost, inferConvolution } from '../nn/convolution.ts';
import { inferGlobalPool, inferPool, poolCost, spatialElements } from '../nn/pooling.ts';
import { resizingOperators } from '../tensor/resizing.ts';
import { define, defineContrib } from '../vocabulary/define.ts';
import { data, detached, noRule, weight } from '../vocabulary/facts.ts';
import { copyCost } from '../vocabulary/movement.ts';
import { elementTypeOf, single, tensor, unknownBecause } from '../vocabulary/types.ts';

const inferConv = (context: InferenceContext): Inference =>
  inferConvolution(context, elementTypeOf(context, 0), 0, 1);
const convCost = (context: CostContext): OperatorCost => convolutionCost(context, 0, 1, 2);
const windowCost = (context: CostContext): OperatorCost =>
  poolCost(context, countElements(context.ints('kernel_shape') ?? []), []);

const channelsLast = (['NhwcConv', 'NhwcFusedConv', 'NhwcMaxPool'] as const).map((type) => {
  const isPool = type === 'NhwcMaxPool';
  return defineContrib({
    type,
    documentation: {
      NhwcConv: 'convolution with channels last',
      NhwcFusedConv: 'convolution with channels last, plus a residual, with an activation behind it',
      NhwcMaxPool: 'largest element of each window, channels last',
    }[type],
    inputs: {
      NhwcConv: [data('X'), weight('W'), weight('B')],
      NhwcFusedConv: [data('X'), weight('W'), weight('B'), data('Z')],
      NhwcMaxPool: [detached('x')],
    }[type],
    pytorch: { layer: type, autocast: isPool ? 'widest' : 'half' },
    infer: (context) => {
      const inner = withChannelsSecond(context);
      const inference = isPool ? inferPool(inner, 0) : inferConv(inner);
      return { ...inference, outputs: inference.outputs.map(channelsBehind) };
    },
    dimensions: (context) =>
      isPool
        ? poolMap(context, { channelsLast: true })
        : convolutionMap(context, {
            channelsLast: true,
            residual: 3,
            nonlinear: context.string('activation', '') !== '',
          }),
    cost: (context) => {
      const inner = boundWithChannelsSecond(context);
      return isPool ? windowCost(inner) : convCost(inner);
    },
  });
});

const nchwc = 'com.microsoft.nchwc';

const blocked = (
  [
    [
      'Conv',
      'convolution of blocked channels',
      [data('X'), weight('W'), weight('B'), data('Sum')],
      { layer: 'Conv{n}d', autocast: 'half' },
      inferConv,
      convCost,
    ],
    [
      'MaxPool',
      'largest element of each window, blocked channels',
      [data('X')],
      { layer: 'MaxPool{n}d', autocast: 'widest' },
      (context) => inferPool(context, 0),
      windowCost,
    ],
    [
      'AveragePool',
      'mean of each window, blocked channels',
      [data('X')],
      { layer: 'AvgPool{n}d', autocast: 'widest' },
      (context) => inferPool(context, 0),
      windowCost,
    ],
    [
      'GlobalMaxPool',
      'largest element over all spatial axes, blocked channels',
      [data('X')],
      { layer: 'AdaptiveMaxPool{n}d', autocast: 'widest' },
      inferGlobalPool,
      (context) => poolCost(context, spatialElements(context), []),
    ],
    [
      'GlobalAveragePool',
      'mean over all spatial axes, blocked channels',
      [data('X')],
      { layer: 'AdaptiveAvgPool{n}d', autocast: 'widest' },
      inferGlobalPool,
      (context) => poolCost(context, spatialElements(context), []),
    ],
    [
      'Upsample',
      'the input enlarged by factors, blocked channels',
      [data('X')],
      { layer: 'Upsample', autocast: 'widest' },
      inferScaled,
      (context) => copyCost(context),
    ],
    [
      'ReorderInput',
      'channels put into blocks',
      [data('X')],
      { layer: 'ReorderInput', autocast: 'widest' },
      inferReordered,
      (context) => copyCost(context),
    ],
    [
      'ReorderOutput',
      'channels taken out of blocks',
      [data('X')],
      { layer: 'ReorderOutput', autocast: 'widest' },
      inferReordered,
      (context) => copyCost(context),
    ],
  ] as const satisfies readonly (readonly [
    string,
    string,
    readonly OperatorInput[],
    PyTorchFacts,
    (context: InferenceContext) => Inference,
    (context: CostContext) => OperatorCost,
  ])[]
).map(([type, documentation, inputs, pytorch, infer, cost]) =>
  define({
    type,
    domain: nchwc,
    documentation: `${documentation} (ONNX Runtime nchwc, ${type}-1)`,
    inputs,
    pytorch,
    runner: noRule.onnxRuntime,
    infer,
    dimensions: (context) => leadingMap(context, ['batch']),
    cost,
  }),
);

export const blockedLayouts: readonly OperatorDefinition[] = [...channelsLast, ...blocked];

const channelsSecond = <Size>([batch, ...rest]: readonly Size[]): readonly Size[] => {
  const channels = rest.at(-1);
  return batch === undefined || channels === undefined ? [] : [batch, channels, ...rest.slice(0, -1)];
};

const channelsToEnd = <Size>([batch, channels, ...spatial]: readonly Size[]): readonly Size[] =>
  batch === undefined || channels === undefined ? [] : [batch, ...spatial, channels];

/** The type of a tensor with its channels moved last. */
export const channelsBehind = (type: ValueType): ValueType =>
  type.kind === 'tensor' && isKnownShape(type.shape) ? { ...type, shape: channelsToEnd(type.shape) } : type;

/** The same operator with the channels of its input, which are last, second. */
export const withChannelsSecond = (context: InferenceContext): InferenceContext => ({
  ...context,
  inputShape: (index) => {
    const shape = context.inputShape(index);
    return index === 0 && shape !== undefined ? channelsSecond(shape) : shape;
  },
});

export function boundWithChannelsSecond(context: CostContext): CostContext {
  const turned = (tensor: BoundTensor | undefined): BoundTensor | undefined =>
    tensor && { ...tensor, dimensions: channelsSecond(tensor.dimensions) };
  return {
    ...context,
    input: (index) => (index === 0 ? turned(context.input(0)) : context.input(index)),
    output: (index) => (index === 0 ? turned(context.output(0)) : context.output(index)),
  };
}

/** The factors are integers in an attribute. */
function inferScaled(context: InferenceContext): Inference {
  const upsample = resizingOperators.find(({ type }) => type === 'Upsample');
  return upsample?.infer({ ...context, opset: 7 }) ?? unknownBecause(context, 0);
}

/** `channels_last` says that the side without blocks has its channels last; `channels` how many there are. */
function inferReordered(context: InferenceContext): Inference {
  const input = context.inputShape(0);
  if (input === undefined) return unknownBecause(context, 0);
  const isLast = context.int('channels_last', 0) !== 0;
  const given = context.int('channels', 0);
  const [batch, channels, ...spatial] = isLast && given === 0 ? channelsSecond(input) : input;
  if (batch === undefined || channels === undefined) return unknownBecause(context, 0);
  const shape: readonly Dimension[] = [batch, given > 0 ? given : channels, ...spatial];
  return single(tensor(elementTypeOf(context, 0), isLast && given > 0 ? channelsToEnd(shape) : shape));
}
