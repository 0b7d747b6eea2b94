/**
 * What an MPI library chooses for an all-reduce in host memory, and the way there from a GPU and back.
 *
 * Sources: MPICH, MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZE (recursive doubling up to 2,048 B, Rabenseifner above, which
 * needs an element per rank); Open MPI, coll/tuned fixed decisions (recursive doubling below 10,000 B, then ring,
 * then ring in segments of 1 MB).
 */

import { type Bytes, type BytesPerSecond, type Seconds, seconds } from '../../model/units.ts';
import { halvingDoublingAllReduce, recursiveDoublingAllReduce, ringAllReduce } from './allReduce.ts';
import type { LinkCost } from './linkCost.ts';

export const mpiLibraries = ['mpich', 'open-mpi'] as const;
export type MpiLibrary = (typeof mpiLibraries)[number];

export type MpiAlgorithm = 'recursive doubling' | 'halving-doubling' | 'ring' | 'segmented ring';

/** The library's own choice, by size; real libraries do not compare times, so a switch point can be a step. */
export function mpiAlgorithm(library: MpiLibrary, ranks: number, size: Bytes): MpiAlgorithm {
  if (library === 'mpich') return size <= 2048 ? 'recursive doubling' : 'halving-doubling';
  if (size < 10_000) return 'recursive doubling';
  return size <= ranks * segment ? 'ring' : 'segmented ring';
}

export function mpiAllReduce(
  library: MpiLibrary,
  ranks: number,
  size: Bytes,
  link: LinkCost,
): { readonly time: Seconds; readonly algorithm: MpiAlgorithm } {
  const algorithm = mpiAlgorithm(library, ranks, size);
  return { algorithm, time: mpiAllReduceBy(algorithm, ranks, size, link) };
}

export function mpiAllReduceBy(algorithm: MpiAlgorithm, ranks: number, size: Bytes, link: LinkCost): Seconds {
  switch (algorithm) {
    case 'recursive doubling':
      return recursiveDoublingAllReduce(ranks, size, link);
    case 'halving-doubling':
      return halvingDoublingAllReduce(ranks, size, link);
    case 'ring':
      return ringAllReduce(ranks, size, link);
    case 'segmented ring':
      return segmentedRing(ranks, size, link);
  }
}

const segment = 1_000_000;

/**
 * A ring whose shares go in segments, each reduced while the next is on its way: the reduction of all but the last
 * segment hides, at the price of a start-up for each.
 */
function segmentedRing(ranks: number, size: Bytes, link: LinkCost): Seconds {
  const share = size / ranks;
  const segments = Math.max(1, Math.ceil(share / segment));
  const slower = Math.max(link.secondsPerByte, link.reduceSecondsPerByte);
  const scatter =
    share * slower + (share / segments) * Math.min(link.secondsPerByte, link.reduceSecondsPerByte);
  const steps = ranks - 1;
  return seconds(
    steps * (segments * link.startup + scatter) + steps * (link.startup + share * link.secondsPerByte),
  );
}

/**
 * A collective through host memory: the message of each GPU goes down and comes back over the host link, which
 * `sharing` GPUs of a node use at once. Nothing overlaps within one message (CNTK's aggregator, plain MPI).
 */
export function hostStaging(size: Bytes, hostLink: BytesPerSecond, sharing: number): Seconds {
  return seconds((2 * size * sharing) / hostLink);
}

/** Sum of the gradients of one node's GPUs in its host memory, each of their processes adding a share: (g−1)/g·nγ. */
export const hostReduction = (gpus: number, size: Bytes, reduceSecondsPerByte: number): Seconds =>
  seconds(((gpus - 1) / gpus) * size * reduceSecondsPerByte);
