/**
 * How the work of a graph is divided over the workers of each axis of a mesh.
 *
 * A tensor is whole on each worker, or each has a block of one of its dimensions; an operator is computed whole by each, or
 * each takes a block of one factor of its dimension map (`operators/dimensionMap.ts`). A contracted factor gives partial sums.
 */

import type { BoundFactor } from './boundMap.ts';

/** Which block of a dimension each worker has: the dimension is `outer` runs of equal blocks, one for each worker. */
export interface Split {
  readonly axis: number;
  readonly outer: number;
  /** Where it has matrices of several sizes side by side: their sizes. A worker has a block of each (`sideBySide.ts`). */
  readonly parts?: readonly number[];
  /** How many neighbours have the same block; left out, each has its own. */
  readonly shared?: number;
}

/** A factor whose indices are divided: `within` runs of it lie outside of the blocks. */
export interface DividedFactor {
  readonly factor: BoundFactor;
  readonly within: number;
  readonly parts?: Split['parts'];
  readonly shared?: Split['shared'];
}

/** An axis of the mesh of GPUs that share a copy of a model. */
export type MeshAxis = 'tensor' | 'context' | 'expert';

/** What is divided over the workers of one axis. */
export interface AxisDivision {
  readonly axis: MeshAxis;
  readonly ways: number;
  /** Workers have the blocks of all of them in the place of a block: rows of all for the experts that each has. */
  readonly joins?: true;
  /** Of experts: how many of the workers add up gradients of other weights with each other (`expertGroups.ts`). */
  readonly overCopies?: number;
  readonly division: Division;
}

/** What a worker has of so many indices or elements; `shared`: how many workers have the same. */
export const shareOf = (
  size: number,
  { ways, joins }: Pick<AxisDivision, 'ways' | 'joins'>,
  shared = 1,
): number => (joins === true ? size * ways : (size * shared) / ways);

export interface Division {
  /** By name of a value; those left out are whole on each worker. */
  readonly values: ReadonlyMap<string, Split>;
  /** By index of an operator; those left out are computed whole by each worker. */
  readonly operators: ReadonlyMap<number, DividedFactor>;
  /** By name of a value: what reads blocks of it that workers share, for which it is gathered first (`sharedHeads.ts`). */
  readonly regrouped?: ReadonlyMap<string, Regrouped>;
}

export interface Regrouped {
  readonly operator: number;
  readonly shared: number;
}
