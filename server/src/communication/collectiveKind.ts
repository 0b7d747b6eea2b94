/** The collectives, and what nccl-tests call their bus bandwidth. */

export const collectiveKinds = [
  'all-reduce',
  'reduce-scatter',
  'all-gather',
  'broadcast',
  'reduce',
  'all-to-all',
] as const;
export type CollectiveKind = (typeof collectiveKinds)[number];

/**
 * Bus bandwidth over algorithm bandwidth (bytes/time), for n ranks: what makes the figure of a collective comparable
 * with the rate of the links. Source: nccl-tests, doc/PERFORMANCE.md. "Bytes" are the whole buffer of an all-reduce,
 * a broadcast or a reduce, and n times a rank's share of the others.
 */
export function busFactor(kind: CollectiveKind, ranks: number): number {
  switch (kind) {
    case 'all-reduce':
      return (2 * (ranks - 1)) / ranks;
    case 'reduce-scatter':
    case 'all-gather':
    case 'all-to-all':
      return (ranks - 1) / ranks;
    case 'broadcast':
    case 'reduce':
      return 1;
  }
}
