/** Dimension maps of normalizations: what they average over is whole in each part. */

import type { InferenceContext } from '../definition.ts';
import { type DimensionMap, unknownMap } from '../dimensionMap.ts';
import { normalizeAxis } from '../vocabulary/axes.ts';
import { whyUnknown } from '../vocabulary/types.ts';
import { axisOutside } from './alikeAxes.ts';
import { fromEnd, rankOf } from './elementwise.ts';
import { type AxisLabel, type AxisLabels, type FactorDetails, labelsOfRank, mapOfLabels } from './labels.ts';

/**
 * Layer normalization: axes before the normalized ones are kept, by statistics too. Scale, shift and whatever is added
 * before are broadcast, aligned at the end.
 */
export function layerNormalizationMap(
  context: InferenceContext,
  options: { readonly beside?: readonly number[]; readonly wholeOutputs?: readonly number[] } = {},
): DimensionMap {
  const input = context.inputShape(0);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  const begin = normalizeAxis(context.int('axis', -1), input.length);
  if (begin === undefined) return unknownMap(axisOutside);
  const labels = fromEnd(input.length, (axisFromEnd) => axisFromEnd + input.length >= begin);
  const beside = (options.beside ?? [1, 2]).map((index): readonly [number, AxisLabels] => {
    const rank = rankOf(context, index);
    return [index, rank > labels.length ? [] : labels.slice(labels.length - rank)];
  });
  return mapOfLabels(context, {
    inputs: { 0: labels, ...Object.fromEntries(beside) },
    outputs: Array.from({ length: Math.max(1, context.outputCount) }, () => labels),
  });
}

/** [samples, channels, …]: samples are kept, and groups of channels with their scale and shift. */
export function groupNormalizationMap(
  context: InferenceContext,
  groupsName: string,
  options: { readonly channelsLast?: boolean } = {},
): DimensionMap {
  const input = context.inputShape(0);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  const none = Array.from({ length: Math.max(0, input.length - 2) }, () => undefined);
  const groups: AxisLabel = [{ label: 'g' }];
  const labels = options.channelsLast === true ? ['n', ...none, groups] : ['n', groups, ...none];
  return mapOfLabels(context, {
    inputs: { 0: labels, 1: [groups], 2: [groups] },
    outputs: [labels, labels],
    details: {
      g: { size: context.int(groupsName, 1), sizes: [{ kind: 'attribute', name: groupsName }] },
    },
  });
}

/** Statistics of a batch make the parts of it depend on each other; running ones do not. */
export function batchNormalizationMap(context: InferenceContext): DimensionMap {
  const input = context.inputShape(0);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  const takesStatistics =
    context.int('training_mode', 0) === 1 || (context.opset < 14 && context.outputCount > 1);
  const labels = labelsOfRank(input.length, (axis) => context.int('spatial', 1) === 0 && axis > 0);
  const details: FactorDetails = takesStatistics
    ? { coupled: 'mean and variance are those of all samples and positions' }
    : {};
  const perChannel = (index: number): readonly [number, AxisLabels] => [
    index,
    context.inputShape(index)?.length === 1 ? [labels[1]] : [],
  ];
  return mapOfLabels(context, {
    inputs: { 0: labels, ...Object.fromEntries([1, 2, 3, 4].map(perChannel)) },
    outputs: [labels, ...Array.from({ length: 4 }, () => [labels[1]])],
    details: Object.fromEntries(
      labels.flatMap((label, axis) => (label && axis !== 1 ? [[label, details]] : [])),
    ),
  });
}

/** [samples, channels, …]: each channel of each sample by itself. */
export function instanceNormalizationMap(context: InferenceContext): DimensionMap {
  const input = context.inputShape(0);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  const labels = input.map((_, axis) => ['n', 'c'][axis]);
  return mapOfLabels(context, { inputs: { 0: labels, 1: ['c'], 2: ['c'] }, outputs: [labels] });
}
