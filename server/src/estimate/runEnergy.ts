/**
 * Energy of the GPUs of a run, as an upper estimate: E = P·u·PUE·N·T, where N GPUs of board power P are busy for the share u
 * of the time T (the method of Lacoste et al., arXiv 1910.09700, and of codecarbon). Hosts, network and storage are not in it.
 */

import type { ClusterProfile } from '../hardware/clusterProfile.ts';
import type { RunEnergy } from '../model/stepCost.ts';
import { joules, type Seconds } from '../model/units.ts';

/** Mean of the Uptime Institute's Global Data Center Survey 2024; those of large clouds say 1.1 to 1.2. */
export const usualPue = 1.56;

/** `waiting` is the part of each `step` in which the GPU has nothing to run; null where it is not known. */
export function runEnergy(
  { gpu }: Pick<ClusterProfile, 'gpu'>,
  gpus: number,
  time: Seconds,
  step: Seconds,
  waiting: Seconds | null,
  pue = usualPue,
): RunEnergy | null {
  const boardPower = gpu.boardPower?.value;
  if (boardPower === undefined || waiting === null || step <= 0) return null;
  const utilisation = Math.min(1, Math.max(0, 1 - waiting / step));
  return { atMost: joules(boardPower * utilisation * pue * gpus * time), boardPower, utilisation, pue };
}
