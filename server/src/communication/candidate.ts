/** One way to run a collective, and what it takes. */

import type { Seconds } from '../model/units.ts';

const algorithms = [
  'ring',
  'tree',
  'nvls',
  'nvls tree',
  'pat',
  'two-level ring',
  'blueconnect',
  'recursive doubling',
  'halving-doubling',
  'segmented ring',
  'pairwise',
] as const;
export type Algorithm = (typeof algorithms)[number];

/** What limits a collective: start-up of its steps, a link inside nodes, the network, the way through host memory. */
export type CollectiveBound = 'none' | 'start-up' | 'link' | 'network' | 'host';

export interface Candidate {
  readonly algorithm: Algorithm;
  /** NCCL's, where the library is NCCL. */
  readonly protocol: 'LL' | 'LL128' | 'Simple' | undefined;
  readonly startup: Seconds;
  /** Until the last rank of a pipeline has its first piece, which grows with the pieces; absent where nothing is passed on. */
  readonly filling?: Seconds;
  /** The part that grows with the message. */
  readonly transfer: Seconds;
  /** What the transfer waits for. */
  readonly slowest: 'link' | 'network' | 'host';
}
