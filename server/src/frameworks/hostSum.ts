/** Adding gradients in host memory, or joining their rows, as frameworks do that aggregate on the CPU. */

import type { HostPassOperation } from '../communication/operation.ts';
import { type Bytes, type BytesPerSecond, bytes, bytesPerSecond } from '../model/units.ts';

/**
 * `count` arrays of `size` read once and added by so many threads, each at 10 GB/s, all at no more than 40: an assumption
 * of what a core and the memory of a socket give to a loop that adds.
 */
export const hostSum = (size: Bytes, count: number, threads: number): HostPassOperation => ({
  kind: 'host pass',
  bytes: bytes(count * size),
  rate: rateOf(threads),
  what: `sum of ${count} gradients in host memory by ${threads} threads`,
});

/** `count` lists of rows, of `size` each, are read and written one behind the other. */
export const hostConcat = (size: Bytes, count: number, threads: number): HostPassOperation => ({
  kind: 'host pass',
  bytes: bytes(2 * count * size),
  rate: rateOf(threads),
  what: `rows of ${count} gradients joined in host memory`,
});

const rateOf = (threads: number): BytesPerSecond => bytesPerSecond(Math.min(threads, 4) * 10e9);
