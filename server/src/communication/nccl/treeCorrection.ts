/**
 * Share of its bandwidth that a pipelined tree reaches, by message size: small messages do not fill the pipeline.
 *
 * Source: NVIDIA/nccl src/graph/tuning.cc, treeCorrectionFactor, from 2.8: one value per doubling from 64 B. NCCL takes
 * the value below; here values between are interpolated, so that a smaller message is never slower than a larger.
 */

import type { Bytes } from '../../model/units.ts';
import type { Protocol } from './versions.ts';

export function treeCorrection(protocol: Protocol, size: Bytes): number {
  const values = factors[protocol];
  const place = Math.log2(size / 64);
  if (place <= 0) return values[0] ?? 1;
  const index = Math.floor(place);
  const below = values[index];
  if (below === undefined) return 1;
  const above = values[index + 1] ?? 1;
  return below + (above - below) * (place - index);
}

const factors: Readonly<Record<Protocol, readonly number[]>> = {
  LL: [1, 1, 1, 1, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1, 1, 1, 1],
  LL128: [
    1, 1, 1, 1, 1, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 1, 1, 1,
  ],
  Simple: [
    0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5, 0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8,
    0.9, 0.9, 0.9,
  ],
};
