/** The curve of matrix products as a list of numbers to fit. */

import type { ProductCurve } from '../../server/src/hardware/curves.ts';
import { rounded } from './fit.ts';

/** Sizes of tiles that cuBLAS and CUTLASS kernels have, in both orientations. */
const tileSizes = [[256, 128], [128, 128], [128, 64], [64, 64], [64, 32], [32, 32]] as const;

export const productStart: readonly number[] = [0.8, 0.75, 0.7, 0.6, 0.4, 0.3, 0.7, 32];
export const productLimits: readonly number[] = [1, 1, 1, 1, 1, 1, 1, 500];

export const productCurveOf = (parameters: readonly number[]): ProductCurve => ({
  tiles: tileSizes.flatMap(([m, n], index) => {
    const share = rounded(parameters[index] ?? 1);
    return m === n ? [[m, n, share] as const] : [[m, n, share] as const, [n, m, share] as const];
  }),
  memory: rounded(parameters[tileSizes.length] ?? 1),
  depth: rounded(parameters[tileSizes.length + 1] ?? 0),
});
