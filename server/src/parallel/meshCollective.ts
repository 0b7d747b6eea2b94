/** What the workers that share a copy of a model exchange. */

import type { MeshAxis } from './division.ts';

export interface MeshCollective {
  /** Whose workers exchange. */
  readonly axis: MeshAxis;
  /** Index of the operator that needs it. */
  readonly operator: number;
  readonly pass: 'forward' | 'backward';
  /** `send`: to the next worker of a ring. */
  readonly collective: 'all-reduce' | 'all-gather' | 'reduce-scatter' | 'all-to-all' | 'send';
  /** Of the whole tensor, as the workers together have it; of a send, of the part that goes on. */
  readonly elements: number;
  /** One after another; left out, one. */
  readonly times?: number;
  /** Of rows that a router chose experts for: how many each goes to. */
  readonly chosen?: number;
  /** Where the number type does not follow that of the operator. */
  readonly bytesPerElement?: number;
}
