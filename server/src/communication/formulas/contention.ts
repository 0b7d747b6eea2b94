/**
 * Collectives of several jobs or streams on one link at a time.
 *
 * One all-reduce alone leaves part of a link idle (its ranks wait for one another), so that k of them take less than
 * k times as long. Source of the measurements: DreamDDP scripts/network_benchmark/results.csv, 100 MiB over 2 to 8
 * nodes.
 */

/**
 * How much longer the transfer of each of `concurrent` collectives takes than alone: max(1, occupancy·k), where one
 * alone keeps the link busy for `occupancy` of its time.
 */
export const slowdown = (concurrent: number, occupancy: number): number =>
  Math.max(1, concurrent * occupancy);

/**
 * Of TCP over Ethernet: the mean of T(k)/(k·T(1)) over 2 to 8 jobs and 2 to 8 nodes of the measurements above. RDMA
 * and NVLink are taken to be full with one collective of large messages, which published bus bandwidths bear out.
 */
export const tcpOccupancy = 0.66;
