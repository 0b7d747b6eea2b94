/**
 * Which dimensions of an operator's inputs and outputs belong together, and how its work can be divided along them.
 *
 * A map is a list of factors, as a sharding rule of OpenXLA's Shardy (`sdy.op_sharding_rule`): a factor is an index of the
 * operator's loops, such as m, n and k of a matrix product. A dimension is a product of factors, one of them outermost:
 * a Reshape of [batch, length, width] to [batch·length, width] has the factors batch (outermost in both), length (in the
 * output inside batch) and width. What no factor lists is private to the operator: the axis of a softmax, the positions
 * under a window.
 *
 * To divide an operator's work over t workers take one factor: each worker gets an equal block of its indices, that is a
 * block of each input listed and the whole of each other input. Its outputs listed are blocks of the whole; those under
 * `partial` are combined by an all-reduce; any other output is whole on each worker. A batch grows along a factor as it is
 * divided along it.
 */

import type { Dimension } from '../model/dimension.ts';

export type DimensionMap = KnownDimensionMap | UnknownDimensionMap;

export interface KnownDimensionMap {
  readonly kind: 'known';
  /** None where all dimensions are private. */
  readonly factors: readonly Factor[];
}

export interface UnknownDimensionMap {
  readonly kind: 'unknown';
  readonly reason: string;
}

export interface Factor {
  /** How many indices it has. */
  readonly size: Dimension;
  /** Where it is in the inputs, at most once in each. None where the operator makes what it gives. */
  readonly inputs: readonly Place[];
  /** Where it is in the outputs: those dimensions are kept. */
  readonly outputs: readonly Place[];
  /** Outputs over which it is contracted. */
  readonly partial?: PartialOutputs;
  /** Integers that say its size, and are divided with it. */
  readonly sizes?: readonly StatedSize[];
  /**
   * Why workers that exchange nothing compute other values, though work and shapes divide: a batch normalization takes the
   * statistics of its part. Absent where the parts put together are the whole.
   */
  readonly coupled?: string;
}

/** A dimension of an input or output: `outer` · (the factor) · what is left of it. */
export interface Place {
  readonly tensor: number;
  readonly axis: number;
  /** How many times all of the factor's indices repeat in the dimension; absent for once, the outermost factor. */
  readonly outer?: Dimension;
}

/** What combines values over equal parts of a factor. */
export type Combination = 'sum' | 'mean' | 'product' | 'max' | 'min';

export interface PartialOutputs {
  readonly outputs: readonly number[];
  readonly by: Combination;
  /** Inputs that are given to one worker, and as zeros to the others: a bias is added once. */
  readonly once?: readonly number[];
}

/** An attribute, or an element of the contents of an input or of a list attribute. */
export type StatedSize =
  | { readonly kind: 'attribute'; readonly name: string; readonly element?: number }
  | { readonly kind: 'content'; readonly input: number; readonly element: number };

/** What an operator does with a dimension of an input. */
export type DimensionRole = 'kept' | 'contracted' | 'private';

/** The role of dimension `axis` of input `input`; several factors make it kept where one of them is. */
export function roleOf(map: KnownDimensionMap, input: number, axis: number): DimensionRole {
  const own = map.factors.filter(({ inputs }) =>
    inputs.some((place) => place.tensor === input && place.axis === axis),
  );
  if (own.some(({ outputs }) => outputs.length > 0)) return 'kept';
  return own.length > 0 ? 'contracted' : 'private';
}

export const unknownMap = (reason: string): UnknownDimensionMap => ({ kind: 'unknown', reason });

/** Nothing can be divided. */
export const privateMap: KnownDimensionMap = { kind: 'known', factors: [] };
