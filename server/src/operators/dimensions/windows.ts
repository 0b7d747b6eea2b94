/** Dimension maps of operators that slide a window: convolutions, pools. Positions are private to them. */

import { divideExactly, productOfDimensions } from '../../model/dimension.ts';
import type { InferenceContext } from '../definition.ts';
import { type DimensionMap, type Place, unknownMap } from '../dimensionMap.ts';
import { lengthOf } from '../vocabulary/axes.ts';
import { whyUnknown } from '../vocabulary/types.ts';
import { rankOf } from './elementwise.ts';
import { type AxisLabel, type AxisLabels, type FactorDetails, mapOfLabels } from './labels.ts';

export interface ConvolutionInputs {
  readonly input?: number;
  readonly weight?: number;
  readonly bias?: number;
  /** Inputs with one element for each output channel, or one for all. */
  readonly perChannel?: readonly number[];
  /** Inputs of the shape of the output that are added. */
  readonly residual?: number;
  /** Inputs with a sample for each of the input's, and nothing else that divides. */
  readonly perSample?: readonly number[];
  readonly transposed?: boolean;
  /** Something that is not linear follows, such as an activation or a rounding: no partial sums. */
  readonly nonlinear?: boolean;
  readonly channelsLast?: boolean;
}

/** Samples and filters are kept, channels of a group contracted, groups kept together with their filters. */
export function convolutionMap(context: InferenceContext, given: ConvolutionInputs = {}): DimensionMap {
  const { input = 0, weight = 1, bias = 2, perChannel = [], residual, perSample = [] } = given;
  const shape = context.inputShape(input);
  const weightShape = context.inputShape(weight);
  if (shape === undefined) return unknownMap(whyUnknown(context, input));
  if (weightShape === undefined) return unknownMap(whyUnknown(context, weight));
  const groups = context.int('group', 1);
  const isGrouped = groups > 1;
  const inGroup = (label: string): AxisLabel =>
    isGrouped ? [{ label: 'g' }, { label, outer: groups }] : label;
  const none = Array.from({ length: Math.max(0, shape.length - 2) }, () => undefined);
  const image = (channels: AxisLabel): AxisLabels =>
    given.channelsLast === true ? ['n', ...none, channels] : ['n', channels, ...none];
  const isTransposed = given.transposed === true;
  const filters = weightShape[isTransposed ? 1 : 0];
  const channels = weightShape[isTransposed ? 0 : 1];
  const filtersInGroup = isTransposed ? filters : dividedBy(filters, groups);
  const channelsInGroup = isTransposed ? dividedBy(channels, groups) : channels;
  const details: Record<string, FactorDetails> = {
    g: { size: groups, sizes: [{ kind: 'attribute', name: 'group' }] },
    ...(isGrouped && filtersInGroup !== undefined ? { m: { size: filtersInGroup } } : {}),
    ...(given.nonlinear === true
      ? {}
      : {
          c: {
            by: 'sum' as const,
            once: [bias, ...(residual === undefined ? [] : [residual])],
            ...(isGrouped && channelsInGroup !== undefined ? { size: channelsInGroup } : {}),
          },
        }),
  };
  const perFilter = (index: number): AxisLabels => {
    const [count] = context.inputShape(index) ?? [];
    return context.inputShape(index)?.length === 1 && count !== 1 ? [inGroup('m')] : [];
  };
  return mapOfLabels(context, {
    inputs: {
      [input]: image(inGroup('c')),
      [weight]: [
        ...(isTransposed ? [inGroup('c'), 'm'] : [inGroup('m'), 'c']),
        ...weightShape.slice(2).map(() => undefined),
      ],
      [bias]: perFilter(bias),
      ...Object.fromEntries(perChannel.map((index) => [index, perFilter(index)])),
      ...Object.fromEntries(perSample.map((index) => [index, ['n', ...restOf(context, index)]])),
      ...(residual === undefined ? {} : { [residual]: image(inGroup('m')) }),
    },
    outputs: [image(inGroup('m'))],
    details,
  });
}

const dividedBy = (size: unknown, parts: number): number | undefined =>
  typeof size === 'number' && parts > 0 && size % parts === 0 ? size / parts : undefined;

const restOf = (context: InferenceContext, index: number): readonly undefined[] =>
  Array.from({ length: Math.max(0, rankOf(context, index) - 1) }, () => undefined);

/**
 * Samples and channels are kept. Positions of maxima count through the whole input, so that those of a part are others.
 */
export function poolMap(
  context: InferenceContext,
  options: {
    readonly channelsLast?: boolean;
    /** Channels lie in blocks and are not divided. */
    readonly samplesOnly?: boolean;
    /** Further inputs [samples, channels, …]. */
    readonly alike?: readonly number[];
    readonly countsPositions?: boolean;
  } = {},
): DimensionMap {
  const input = context.inputShape(0);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  const none = Array.from({ length: Math.max(0, input.length - 2) }, () => undefined);
  const channels = options.samplesOnly === true ? undefined : 'c';
  const labels = options.channelsLast === true ? ['n', ...none, channels] : ['n', channels, ...none];
  const coupled = 'positions count through all samples and channels';
  const details = options.countsPositions === true ? { n: { coupled }, c: { coupled } } : {};
  return mapOfLabels(context, {
    inputs: { 0: labels, ...Object.fromEntries((options.alike ?? []).map((index) => [index, labels])) },
    outputs: [labels, labels],
    details,
  });
}

/** Pools over all positions: of equal parts they combine where the reduction does. */
export function globalPoolMap(context: InferenceContext, by?: FactorDetails['by']): DimensionMap {
  const input = context.inputShape(0);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  const spatial = input.slice(2).map((_, axis) => `s${axis}`);
  return mapOfLabels(context, {
    inputs: { 0: ['n', 'c', ...(by === undefined ? spatial.map(() => undefined) : spatial)] },
    outputs: [['n', 'c', ...spatial.map(() => undefined)]],
    details: by === undefined ? {} : Object.fromEntries(spatial.map((label) => [label, { by }])),
  });
}

/** Regions of images: input 1 has corners for each, input 2 may say its image; channels are those of the image. */
export const regionsMap = (context: InferenceContext): DimensionMap =>
  mapOfLabels(context, {
    inputs: {
      0: [undefined, 'c', undefined, undefined],
      1: ['r', undefined],
      2: ['r'],
    },
    outputs: [['r', 'c', undefined, undefined]],
  });

/** Offsets are given for each sample; groups of offsets tie channels together. */
export function deformableConvolutionMap(context: InferenceContext): DimensionMap {
  const map = convolutionMap(context, {
    bias: 3,
    perSample: [2, 4],
    nonlinear: context.int('offset_group', 1) !== 1,
  });
  if (map.kind === 'unknown' || context.int('offset_group', 1) === 1) return map;
  const isOfChannels = ({ tensor, axis }: Place): boolean => tensor === 0 && axis === 1;
  return { kind: 'known', factors: map.factors.filter(({ inputs }) => !inputs.some(isOfChannels)) };
}

/** Sampling at coordinates: [samples, positions…] of the grid, channels of the image. */
export function gridSampleMap(context: InferenceContext): DimensionMap {
  const grid = context.inputShape(1);
  const image = context.inputShape(0);
  if (image === undefined) return unknownMap(whyUnknown(context, 0));
  if (grid === undefined) return unknownMap(whyUnknown(context, 1));
  const positions = grid.slice(1, -1).map((_, axis) => `s${axis}`);
  return mapOfLabels(context, {
    inputs: { 0: ['n', 'c', ...image.slice(2).map(() => undefined)], 1: ['n', ...positions, undefined] },
    outputs: [['n', 'c', ...positions]],
  });
}

/** Coordinates are relative to the whole image: only samples are apart. */
export function affineGridMap(context: InferenceContext): DimensionMap {
  const rank = lengthOf(context, 1);
  if (rank === undefined) return unknownMap(whyUnknown(context, 1));
  return mapOfLabels(context, {
    inputs: { 0: ['n', undefined, undefined] },
    outputs: [['n', ...Array.from({ length: Math.max(0, rank - 1) }, () => undefined)]],
    details: { n: { sizes: [{ kind: 'content', input: 1, element: 0 }] } },
  });
}

/** Columns hold the windows of one channel after another. */
export function columnsToImageMap(context: InferenceContext): DimensionMap {
  const columns = context.inputShape(0)?.[1];
  const block = context.inputContent(2)?.elements;
  const channels =
    block === undefined || columns === undefined
      ? undefined
      : divideExactly(columns, productOfDimensions(block));
  const spatial = (context.inputContent(1)?.elements ?? []).map(() => undefined);
  return mapOfLabels(context, {
    inputs: { 0: ['n', [{ label: 'c' }], undefined] },
    outputs: [['n', [{ label: 'c' }], ...spatial]],
    details: channels === undefined ? {} : { c: { size: channels } },
  });
}
