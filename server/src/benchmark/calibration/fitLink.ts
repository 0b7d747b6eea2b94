/** The link of the GPUs of one node, from collectives of several sizes measured over them. */

import type { ClusterFile } from '../../hardware/profileOfFile.ts';
import { busBandwidth, type MeasuredCollective } from '../runCollectives.ts';

export type LinkFile = NonNullable<ClusterFile['link']>;

/**
 * - Bus bandwidth: of the largest all-reduce, as a profile states it.
 * - Latency: one step of a ring, of which an all-reduce takes 2(n − 1), by the smallest all-reduce.
 *
 * `pcieGBs`: what PCIe of this GPU gives; a link that is faster is NVLink. `undefined` where no all-reduce was measured.
 */
export function fitLink(
  rows: readonly MeasuredCollective[],
  pcieGBs: number | undefined,
  source: string,
): LinkFile | undefined {
  const reduces = rows
    .filter(({ operation }) => operation === 'all-reduce')
    .toSorted((one, other) => one.bytes - other.bytes);
  const [smallest, largest] = [reduces[0], reduces.at(-1)];
  if (smallest === undefined || largest === undefined || largest.bytes < leastBytes) return undefined;
  const rate = busBandwidth(largest) / 1e9;
  const steps = 2 * (smallest.ranks - 1);
  return {
    kind: pcieGBs !== undefined && rate > pcieGBs ? 'nvlink' : 'pcie',
    busBandwidthGBs: { value: rounded(rate), source },
    latencyMicroseconds: { value: rounded((smallest.median * 1e6) / steps), source },
  };
}

/** Of smaller messages the start-up is a part. */
const leastBytes = 64 * 2 ** 20;

const rounded = (value: number): number => Number(value.toPrecision(4));
