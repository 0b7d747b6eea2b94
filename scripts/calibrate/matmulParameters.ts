/** The entry of a curve of matmuls as a list of numbers to fit. */

import { type MatmulEntry, tileSizes } from '../../server/src/hardware/curves.ts';
import { rounded } from './fit.ts';

export const matmulStart: readonly number[] = [0.8, 0.75, 0.7, 0.6, 0.4, 0.3, 0.7, 32];
export const matmulLimits: readonly number[] = [1, 1, 1, 1, 1, 1, 1, 500];

export const matmulEntryOf = (parameters: readonly number[]): MatmulEntry => ({
  tiles: tileSizes.map((_, index) => rounded(parameters[index] ?? 1)),
  memory: rounded(parameters[tileSizes.length] ?? 1),
  depth: rounded(parameters[tileSizes.length + 1] ?? 0),
});
