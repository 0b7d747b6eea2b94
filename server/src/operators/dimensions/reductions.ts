/** Dimension maps of reductions along axes, of running ones, and of losses. */

import type { InferenceContext } from '../definition.ts';
import { type Combination, type DimensionMap, unknownMap } from '../dimensionMap.ts';
import { integersOf, normalizeAxes, normalizeAxis, numbersOf } from '../vocabulary/axes.ts';
import { scalarOf } from '../vocabulary/contents.ts';
import { whyUnknown } from '../vocabulary/types.ts';
import { likeInputBut, rankOf } from './elementwise.ts';
import { type FactorDetails, labelsOfRank, mapOfLabels } from './labels.ts';

/** Reduced axes are contracted where values over equal parts combine, else private. */
export function reductionMap(context: InferenceContext, by: Combination | undefined): DimensionMap {
  const input = context.inputShape(0);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  const given = integersOf(context, 1, 'axes');
  const numbers = given.kind === 'known' ? numbersOf(given.values) : [];
  const axes =
    given.kind === 'unknown' || numbers === undefined ? undefined : normalizeAxes(numbers, input.length);
  if (axes === undefined) return unknownMap(whyUnknown(context, 1));
  const reducesAll = axes.length === 0 && context.int('noop_with_empty_axes', 0) === 0;
  return reducedMap(context, (axis) => reducesAll || axes.includes(axis), by);
}

/** ArgMax and ArgMin. */
export function extremePositionMap(context: InferenceContext): DimensionMap {
  const input = context.inputShape(0);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  const axis = normalizeAxis(context.int('axis', 0), input.length);
  return reducedMap(context, (each) => each === axis, undefined);
}

/** Softmax and its kin: before version 13 all axes from the given one on are one row. */
export function softmaxMap(context: InferenceContext): DimensionMap {
  const rank = rankOf(context, 0);
  const axis = context.int('axis', context.opset < 13 ? 1 : -1);
  if (context.opset >= 13 || rank === 0) return likeInputBut(context, rank === 0 ? [] : [axis]);
  const begin = axis < 0 ? axis + rank : axis;
  return likeInputBut(
    context,
    Array.from({ length: rank }, (_, each) => each).filter((each) => each >= begin),
  );
}

/** CumSum and its kin: the axis is input 1. */
export function runningMap(context: InferenceContext): DimensionMap {
  const axis = scalarOf(context, 1);
  return typeof axis === 'number' ? likeInputBut(context, [axis]) : unknownMap(whyUnknown(context, 1));
}

/** Losses: every score but of its class is by itself; a mean over weighted labels is no mean of means. */
export function lossMap(context: InferenceContext): DimensionMap {
  const scores = context.inputShape(0);
  if (scores === undefined) return unknownMap(whyUnknown(context, 0));
  const labels = labelsOfRank(scores.length, (axis) => axis === 1);
  const perSample = labels.filter((_, axis) => axis !== 1);
  const reduction = context.string('reduction', 'mean');
  const isWeighted = context.inputType(2) !== undefined || context.attribute('ignore_index') !== undefined;
  const details: FactorDetails =
    reduction === 'none'
      ? {}
      : {
          by: reduction === 'sum' ? 'sum' : 'mean',
          ...(reduction === 'mean' && isWeighted
            ? { coupled: 'the mean is over the weights of all labels' }
            : {}),
        };
  return mapOfLabels(context, {
    inputs: { 0: labels, 1: perSample },
    outputs: [reduction === 'none' ? perSample : [], labels],
    details: Object.fromEntries(perSample.map((label) => [label, details])),
  });
}

function reducedMap(
  context: InferenceContext,
  isReduced: (axis: number) => boolean,
  by: Combination | undefined,
): DimensionMap {
  const labels = labelsOfRank(rankOf(context, 0));
  const keeps = context.int('keepdims', 1) !== 0;
  return mapOfLabels(context, {
    inputs: { 0: labels },
    outputs: [labels.flatMap((label, axis) => (!isReduced(axis) ? [label] : keeps ? [undefined] : []))],
    ...(by && { details: Object.fromEntries(labels.flatMap((label) => (label ? [[label, { by }]] : []))) }),
  });
}
