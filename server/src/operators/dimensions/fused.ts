/** Dimension maps of operators that ONNX Runtime fuses of several. */

import { divideExactly } from '../../model/dimension.ts';
import type { InferenceContext } from '../definition.ts';
import { type DimensionMap, unknownMap } from '../dimensionMap.ts';
import { normalizeAxis } from '../vocabulary/axes.ts';
import { whyUnknown } from '../vocabulary/types.ts';
import { broadcastMap, fromEnd, rankOf } from './elementwise.ts';
import { mapOfLabels } from './labels.ts';
import { groupNormalizationMap } from './normalizations.ts';

/** The last axis holds a value and a gate of one size each: an element of one goes with that of the other. */
export function splitGeluMap(context: InferenceContext): DimensionMap {
  const input = context.inputShape(0);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  const rows = fromEnd(Math.max(0, input.length - 1));
  const last = input.at(-1);
  const size = last === undefined ? undefined : divideExactly(last, 2);
  const both = [{ label: 'half', outer: 2 }];
  return mapOfLabels(context, {
    inputs: { 0: [...rows, both], 1: [both] },
    outputs: [[...rows, [{ label: 'half' }]]],
    details: size === undefined ? {} : { half: { size } },
  });
}

/** Axes from the given one on are one row. */
export function biasSoftmaxMap(context: InferenceContext): DimensionMap {
  const rank = rankOf(context, 0);
  if (context.inputShape(1)?.length !== rank) return unknownMap('how the bias is broadcast is not known');
  const begin = normalizeAxis(context.int('axis', 1), rank) ?? 0;
  return broadcastMap(context, { likeFirst: true, isPrivate: (axisFromEnd) => axisFromEnd + rank >= begin });
}

/** Each token runs through its experts; weights are read whole. The router has a row for each token. */
export function expertsMap(context: InferenceContext): DimensionMap {
  const input = context.inputShape(0);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  const labels = input.length === 2 ? ['t', undefined] : ['t', undefined, undefined];
  return mapOfLabels(context, {
    inputs: { 0: labels, 1: [[{ label: 't' }], undefined] },
    outputs: [labels],
    details: { t: { size: input[0] ?? 1 } },
  });
}

/** Channels are last unless said; what is added before has a residual of its own form, and then only samples are apart. */
export function contribGroupNormalizationMap(context: InferenceContext): DimensionMap {
  const channelsLast = context.int('channels_last', 1) !== 0;
  if (context.inputType(3) === undefined) return groupNormalizationMap(context, 'groups', { channelsLast });
  const rank = rankOf(context, 0);
  const rest = (index: number): readonly undefined[] =>
    Array.from({ length: Math.max(0, (context.inputShape(index)?.length ?? 1) - 1) }, () => undefined);
  const labels = ['n', ...Array.from({ length: Math.max(0, rank - 1) }, () => undefined)];
  return mapOfLabels(context, { inputs: { 0: labels, 3: ['n', ...rest(3)] }, outputs: [labels, labels] });
}

/** Identifiers [batch, length] of words, segments and positions: positions count through a sequence. */
export const embeddingSumMap = (context: InferenceContext): DimensionMap =>
  mapOfLabels(context, {
    inputs: { 0: ['b', undefined], 1: ['b', undefined], 7: ['b', undefined], 8: ['b', undefined] },
    outputs: [['b', undefined, undefined], ['b'], ['b', undefined, undefined]],
  });
