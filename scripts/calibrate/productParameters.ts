/** The entry of a curve of products as a list of numbers to fit. */

import { type ProductEntry, tileSizes } from '../../server/src/hardware/curves.ts';
import { rounded } from './fit.ts';

export const productStart: readonly number[] = [0.8, 0.75, 0.7, 0.6, 0.4, 0.3, 0.7, 32];
export const productLimits: readonly number[] = [1, 1, 1, 1, 1, 1, 1, 500];

export const productEntryOf = (parameters: readonly number[]): ProductEntry => ({
  tiles: tileSizes.map((_, index) => rounded(parameters[index] ?? 1)),
  memory: rounded(parameters[tileSizes.length] ?? 1),
  depth: rounded(parameters[tileSizes.length + 1] ?? 0),
});
