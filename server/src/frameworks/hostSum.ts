/** Adding gradients in host memory, as frameworks do that aggregate on the CPU. */

import type { HostPassOperation } from '../communication/operation.ts';
import { type Bytes, bytes, bytesPerSecond } from '../model/units.ts';

/**
 * `count` arrays of `size` read once and added by so many threads, each at 10 GB/s, all at no more than 40: an assumption
 * of what a core and the memory of a socket give to a loop that adds.
 */
export const hostSum = (size: Bytes, count: number, threads: number): HostPassOperation => ({
  kind: 'host pass',
  bytes: bytes(count * size),
  rate: bytesPerSecond(Math.min(threads, 4) * 10e9),
  what: `sum of ${count} gradients in host memory by ${threads} threads`,
});
