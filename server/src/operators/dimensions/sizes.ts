/** Dimension maps of operators that are told the size of what they make. */

import type { Dimension } from '../../model/dimension.ts';
import { isKnownShape } from '../../model/graph.ts';
import type { InferenceContext } from '../definition.ts';
import { type DimensionMap, type StatedSize, unknownMap } from '../dimensionMap.ts';
import { normalizeAxes } from '../vocabulary/axes.ts';
import { whyUnknown } from '../vocabulary/types.ts';
import { isAlike } from './alikeAxes.ts';
import { fromEnd } from './elementwise.ts';
import { type FactorDetails, labelsOfRank, mapOfLabels } from './labels.ts';

/**
 * Expand: axes of the input that keep their size are kept; where the target names the size it is divided too. An axis that is
 * made larger is made by each worker for itself, as much of it as its target says.
 */
export function expandMap(context: InferenceContext): DimensionMap {
  const input = context.inputShape(0);
  const requested = context.inputContent(1)?.elements;
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  if (requested === undefined) return unknownMap(whyUnknown(context, 1));
  const rank = Math.max(input.length, requested.length);
  const map = mapOfLabels(context, {
    inputs: { 0: fromEnd(input.length) },
    outputs: [fromEnd(rank)],
    details: Object.fromEntries(
      fromEnd(rank).map((label, axis) => {
        const element = axis - rank + requested.length;
        const stated = requested[element];
        const isStated = element >= 0 && stated !== undefined && stated !== 1;
        return [label, { sizes: isStated ? [{ kind: 'content', input: 1, element }] : [] }];
      }),
    ),
  });
  if (map.kind === 'unknown') return map;
  const isMade = (axis: number): boolean => {
    const own = input[axis - rank + input.length];
    return (own === undefined || own === 1) && requested[axis - rank + requested.length] !== 1;
  };
  const kept = map.factors.filter(({ outputs }) => !outputs.some(({ axis }) => isMade(axis)));
  const made = madeMap(
    requested.map((size, element) => ({ size, axis: element + rank - requested.length })),
    (element) => ({ kind: 'content', input: 1, element }),
    ({ axis }) => isMade(axis),
  );
  return { kind: 'known', factors: [...kept, ...(made.kind === 'known' ? made.factors : [])] };
}

/** A constant of the shape that input 0 or an attribute gives. */
export function filledMap(context: InferenceContext, attribute?: string): DimensionMap {
  const given = attribute === undefined ? undefined : context.ints(attribute);
  const sizes = given ?? context.inputContent(0)?.elements;
  if (sizes === undefined) return unknownMap(whyUnknown(context, 0));
  return madeMap(
    sizes.map((size, axis) => ({ size, axis })),
    (element) =>
      given === undefined || attribute === undefined
        ? { kind: 'content', input: 0, element }
        : { kind: 'attribute', name: attribute, element },
  );
}

/** Dimensions that an operator makes by itself: each worker makes its block, by stating a smaller size. */
function madeMap(
  made: readonly { readonly size: Dimension; readonly axis: number }[],
  stated: (element: number) => StatedSize,
  isMade: (dimension: { readonly size: Dimension; readonly axis: number }) => boolean = () => true,
): DimensionMap {
  return {
    kind: 'known',
    factors: made.flatMap((dimension, element) =>
      isMade(dimension)
        ? [
            {
              size: dimension.size,
              inputs: [],
              outputs: [{ tensor: 0, axis: dimension.axis }],
              sizes: [stated(element)],
            },
          ]
        : [],
    ),
  };
}

/**
 * Resampling: axes that keep their size are kept. `inference` is what the shape rule says; where sizes are given (`sizesInput`),
 * they are divided too.
 */
export function resizeMap(
  context: InferenceContext,
  outputs: ReturnType<InferenceContext['inferSubgraph']>,
  sizesInput?: number,
): DimensionMap {
  const input = context.inputShape(0);
  const [type] = outputs;
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  if (type?.kind !== 'tensor' || !isKnownShape(type.shape)) return unknownMap(whyUnknown(context, 1));
  const { shape } = type;
  const crops = context.string('coordinate_transformation_mode', 'half_pixel') === 'tf_crop_and_resize';
  const keepsRatio = context.string('keep_aspect_ratio_policy', 'stretch') !== 'stretch';
  const axes = normalizeAxes(context.ints('axes') ?? input.map((_, axis) => axis), input.length) ?? [];
  const sizes = sizesInput === undefined ? undefined : context.inputContent(sizesInput)?.elements;
  const labels = labelsOfRank(
    input.length,
    (axis) => (axes.includes(axis) && (crops || keepsRatio)) || !isAlike(input[axis], shape[axis]),
  );
  const details = Object.fromEntries(
    labels.map((label, axis): readonly [string, FactorDetails] => {
      const element = axes.indexOf(axis);
      const isStated = sizesInput !== undefined && sizes !== undefined && sizes.length > 0 && element >= 0;
      return [label ?? '', isStated ? { sizes: [{ kind: 'content', input: sizesInput, element }] } : {}];
    }),
  );
  return mapOfLabels(context, { inputs: { 0: labels }, outputs: [labels], details });
}
