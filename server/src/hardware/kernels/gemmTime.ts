/**
 * Time of a matmul C[batch][m, n] = A[m, k]·B[k, n] from its shape.
 *
 * A library cuts C into tiles, gives each multiprocessor one tile at a time, and needs ⌈tiles / multiprocessors⌉
 * rounds ("waves"): the last one is rarely full, and a tile at the edge costs as much as a whole one (NVIDIA,
 * "Matrix multiplication background user's guide", DU-09798-001, sections 3.1 and 3.2). A deep matmul of few
 * tiles is cut along k as well (split-K), whose parts are then added. The library picks what is fastest, and so
 * does this model:
 *
 *   t = min over tiles and splits of max(waves · t_tile, bytes / (bandwidth · e_memory))
 *   t_tile = 2 · tile_m · tile_n · (k / split + k₀) / (peak / multiprocessors · e_tile)
 *
 * k₀ is what filling and draining a tile costs, as depth; e_tile and e_memory are fitted shares (`curves.json`).
 */

import type { MatmulShape } from '../../operators/definition.ts';
import type { MatmulCurve } from '../curves.ts';

export type MatmulSizes = Omit<MatmulShape, 'kind' | 'layout'>;

/** Rates of one GPU for one number type. */
export interface Rates {
  readonly multiprocessors: number;
  /** FLOP/s. */
  readonly peak: number;
  /** Bytes/s. */
  readonly bandwidth: number;
}

export interface BoundTime {
  /** Seconds. */
  readonly time: number;
  readonly bound: 'compute' | 'memory';
}

/** `operands`: bytes of the three matrices, each once, as they lie in memory. Without launch. */
export function gemmTime(
  rates: Rates,
  curve: MatmulCurve,
  { batch, m, n, k }: MatmulSizes,
  operands: number,
): BoundTime {
  const perMultiprocessor = rates.peak / rates.multiprocessors;
  const bandwidth = rates.bandwidth * curve.memory;
  const most = Math.min(curve.splits ?? Number.POSITIVE_INFINITY, k / smallestDepth);
  let time = Number.POSITIVE_INFINITY;
  let bound: BoundTime['bound'] = 'compute';
  for (const [tileM, tileN, share] of curve.tiles) {
    const tiles = batch * Math.ceil(m / tileM) * Math.ceil(n / tileN);
    const tileRate = (2 * tileM * tileN) / (perMultiprocessor * share);
    for (const split of splitCounts) {
      if (split > 1 && split > most) break;
      const depth = k / split;
      const waves = Math.ceil((tiles * split) / rates.multiprocessors);
      const compute = waves * tileRate * (Math.ceil(depth / depthStep) * depthStep + curve.depth);
      // Each part is written and read again in fp32 before the parts are added.
      const memory = (operands + (split > 1 ? split * batch * m * n * 4 : 0)) / bandwidth;
      const candidate = Math.max(compute, memory);
      if (candidate >= time) continue;
      time = candidate;
      bound = compute > memory ? 'compute' : 'memory';
    }
  }
  return { time, bound };
}

/** Bytes of the matrices of a matmul at `bytesPerElement` bytes per element. */
export const operandBytes = ({ batch, m, n, k }: MatmulSizes, bytesPerElement: number): number =>
  batch * (m * k + k * n + m * n) * bytesPerElement;

/** Kernels step through k by 8 or more; a ragged end costs a whole step. */
const depthStep = 8;
const smallestDepth = 128;
const splitCounts: readonly number[] = [1, 2, 4, 8, 16, 32];
