/**
 * Dimension maps written as an einsum is: a label for each dimension, the same where dimensions belong together.
 */

import { type Dimension, equalDimensions } from '../../model/dimension.ts';
import type { InferenceContext } from '../definition.ts';
import {
  type Combination,
  type DimensionMap,
  type Factor,
  type Place,
  type StatedSize,
  unknownMap,
} from '../dimensionMap.ts';

/** What labels one axis: a factor that is all of it, several that are parts of it, or none where it is private. */
export type AxisLabel = string | readonly PartLabel[] | undefined;
export type AxisLabels = readonly AxisLabel[];

/** A factor that is a part of a dimension; `outer` as of a `Place`. */
export interface PartLabel {
  readonly label: string;
  readonly outer?: Dimension;
}

export interface Labelled {
  /** By position of the input; what is not listed, or has no labels, is private. */
  readonly inputs: Readonly<Record<number, AxisLabels>>;
  readonly outputs: readonly AxisLabels[];
  readonly details?: Readonly<Record<string, FactorDetails>>;
}

/** What labels do not say of a factor. */
export interface FactorDetails {
  /** Needed where the factor is a part of a dimension. */
  readonly size?: Dimension;
  /** Outputs without the label are combined over its parts. Without it, a label that no output has is private. */
  readonly by?: Combination;
  readonly once?: readonly number[];
  readonly sizes?: readonly StatedSize[];
  readonly coupled?: string;
}

/**
 * The map that the labels describe, for the inputs that are present. A dimension of 1 beside another size is broadcast
 * and takes no part. An input of another rank than its labels makes the map unknown. A label whose dimensions may differ in size, or that stands twice in one input, is private.
 */
export function mapOfLabels(context: InferenceContext, { inputs, outputs, details }: Labelled): DimensionMap {
  const places = new Map<string, { readonly inputs: SizedPlace[]; readonly outputs: Place[] }>();
  const placesOf = (label: string) => {
    const known = places.get(label) ?? { inputs: [], outputs: [] };
    places.set(label, known);
    return known;
  };
  for (const [key, labels] of Object.entries(inputs)) {
    const tensor = Number(key);
    const shape = context.inputShape(tensor);
    if (shape === undefined || labels.length === 0) continue;
    if (shape.length !== labels.length)
      return unknownMap(`input ${key} has ${shape.length} axes in the place of ${labels.length}`);
    for (const [axis, part] of partsOf(labels)) {
      const place = placeOf(tensor, axis, part);
      placesOf(part.label).inputs.push({
        place,
        size: shape[axis] ?? 1,
        isPart: Array.isArray(labels[axis]),
      });
    }
  }
  const outputCount = Math.max(1, context.outputCount);
  const given = outputs.slice(0, outputCount);
  for (const [tensor, labels] of given.entries()) {
    for (const [axis, part] of partsOf(labels))
      placesOf(part.label).outputs.push(placeOf(tensor, axis, part));
  }
  const factors = [...places].flatMap(([label, found]): readonly Factor[] => {
    const { size: stated, by, once, sizes, coupled } = details?.[label] ?? {};
    const whole = found.inputs.filter(({ isPart }) => !isPart);
    const size = stated ?? whole.find((each) => each.size !== 1)?.size ?? whole[0]?.size;
    const isOne = size === 1;
    const kept = found.inputs.filter((each) => isOne || each.isPart || each.size !== 1);
    if (size === undefined || kept.length === 0) return [];
    if (kept.some((each) => !each.isPart && each.size !== size && !equalDimensions(each.size, size)))
      return [];
    if (new Set(kept.map(({ place }) => place.tensor)).size < kept.length) return [];
    const partial = by === undefined ? [] : withoutLabel(given, label);
    if (found.outputs.length === 0 && partial.length === 0) return [];
    const present = once?.filter((index) => context.inputType(index) !== undefined) ?? [];
    return [
      {
        size,
        inputs: kept.map(({ place }) => place),
        outputs: found.outputs,
        ...(by === undefined || partial.length === 0
          ? {}
          : { partial: { outputs: partial, by, ...(present.length === 0 ? {} : { once: present }) } }),
        ...(sizes === undefined || sizes.length === 0 ? {} : { sizes }),
        ...(coupled === undefined ? {} : { coupled }),
      },
    ];
  });
  return { kind: 'known', factors };
}

interface SizedPlace {
  readonly place: Place;
  readonly size: Dimension;
  readonly isPart: boolean;
}

function* partsOf(labels: AxisLabels): Iterable<readonly [axis: number, part: PartLabel]> {
  for (const [axis, label] of labels.entries()) {
    if (label === undefined) continue;
    if (typeof label === 'string') yield [axis, { label }];
    else for (const part of label) yield [axis, part];
  }
}

const placeOf = (tensor: number, axis: number, { outer }: PartLabel): Place =>
  outer === undefined || outer === 1 ? { tensor, axis } : { tensor, axis, outer };

const withoutLabel = (outputs: readonly AxisLabels[], label: string): readonly number[] =>
  outputs.flatMap((labels, index) =>
    [...partsOf(labels)].some(([, part]) => part.label === label) ? [] : [index],
  );

/** Labels of a tensor of this rank by axis: 'a0', 'a1', …; private where `isPrivate` says so. */
export const labelsOfRank = (
  rank: number,
  isPrivate: (axis: number) => boolean = () => false,
): readonly (string | undefined)[] =>
  Array.from({ length: rank }, (_, axis) => (isPrivate(axis) ? undefined : `a${axis}`));
