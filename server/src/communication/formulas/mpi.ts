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

const mpiLibraries = ['mpich', 'open-mpi'] as const;
export type MpiLibrary = (typeof mpiLibraries)[number];

export type MpiAlgorithm = 'recursive doubling' | 'halving-doubling' | 'ring' | 'segmented ring';

/** The library's own choice, by size; real libraries do not compare times, so a switch point can be a step. */
export function mpiAlgorithm(library: MpiLibrary, ranks: number, size: Bytes): MpiAlgorithm {
  if (library === 'mpich') return size <= 2048 ? 'recursive doubling' : 'halving-doubling';
  if (size < 10_000) return 'recursive doubling';
  return size <= ranks * segment ? 'ring' : 'segmented ring';
}

/** Ranks of an all-reduce, and what each message costs them. */
export interface MpiRanks {
  /** Rank by rank they pass a ring, whichever node they are on. */
  readonly ranks: number;
  /** Over the network a share crosses as if each node were one rank. */
  readonly nodes: number;
  readonly link: LinkCost;
  /** α of a ring's step that carries so many bytes. */
  readonly ringStep: (share: number) => Seconds;
}

export function mpiAllReduce(
  library: MpiLibrary,
  group: MpiRanks,
  size: Bytes,
): { readonly time: Seconds; readonly algorithm: MpiAlgorithm } {
  const algorithm = mpiAlgorithm(library, group.ranks, size);
  return { algorithm, time: mpiAllReduceBy(algorithm, group, size) };
}

function mpiAllReduceBy(algorithm: MpiAlgorithm, group: MpiRanks, size: Bytes): Seconds {
  const { nodes, link } = group;
  switch (algorithm) {
    case 'recursive doubling':
      return recursiveDoublingAllReduce(nodes, size, link);
    case 'halving-doubling':
      return halvingDoublingAllReduce(nodes, size, link);
    case 'ring':
      return seconds(ringStarts(group, size) + ringAllReduce(nodes, size, withoutStart(link)));
    case 'segmented ring':
      return seconds(segmentedRingStarts(group, size) + segmentedRing(nodes, size, withoutStart(link)));
  }
}

const withoutStart = (link: LinkCost): LinkCost => ({ ...link, startup: seconds(0) });

const segment = 1_000_000;

/** A step is over when the slowest pair of neighbours is done, which is one of two nodes. */
const ringStarts = ({ ranks, ringStep }: MpiRanks, size: Bytes): number =>
  2 * (ranks - 1) * ringStep(size / ranks);

/** Each segment of a share starts anew on the way to its sum; sums go whole. */
function segmentedRingStarts({ ranks, ringStep }: MpiRanks, size: Bytes): number {
  const share = size / ranks;
  const segments = Math.max(1, Math.ceil(share / segment));
  return (ranks - 1) * (segments * ringStep(share / segments) + ringStep(share));
}

/**
 * A ring whose shares go in segments, each reduced while the next is on its way: the reduction of all but the last
 * segment hides.
 */
function segmentedRing(ranks: number, size: Bytes, link: LinkCost): Seconds {
  const share = size / ranks;
  const segments = Math.max(1, Math.ceil(share / segment));
  const slower = Math.max(link.secondsPerByte, link.reduceSecondsPerByte);
  const scatter =
    share * slower + (share / segments) * Math.min(link.secondsPerByte, link.reduceSecondsPerByte);
  const steps = ranks - 1;
  return seconds(steps * (scatter + share * link.secondsPerByte));
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
