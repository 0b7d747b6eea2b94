/**
 * What a tree passes on at a time: a chunk for each channel. A message shorter than some rounds is cut into smaller chunks,
 * down to a limit, so that the levels of the tree have something to do at once.
 *
 * Source: NVIDIA/nccl src/enqueue.cc, calcCollChunking (TREE with Simple and with LL128), and the sizes of a step's buffer:
 * 4 MiB / 8 of Simple, 120 · 640 · 8 bytes of LL128 with 15 of 16 lines data, 32 KiB of data of LL.
 */

import { type Bytes, bytes } from '../../model/units.ts';
import { floorLog2 } from '../formulas/allReduce.ts';
import type { Links } from '../links.ts';
import type { Protocol } from './versions.ts';

export function treeRound(protocol: Protocol, size: Bytes, links: Links): Bytes {
  const { channels } = links;
  let chunk = largest[protocol];
  for (const { rounds, least } of limits(protocol, links))
    while (size / (channels * chunk) < rounds && chunk > least * kibi) chunk /= 2;
  return bytes(Math.min(size, channels * chunk));
}

/** Rounds that a message is cut into, and the chunk below which it is not cut for them. */
function limits(
  protocol: Protocol,
  { nodes, gpusPerNode }: Links,
): readonly { readonly rounds: number; readonly least: number }[] {
  if (protocol === 'LL') return [];
  if (protocol === 'LL128') {
    const steps = 1 + floorLog2(nodes) + 0.1 * gpusPerNode;
    return [
      { rounds: (steps * 64) / gpusPerNode, least: 128 },
      { rounds: (steps * 16) / gpusPerNode, least: 32 },
    ];
  }
  const depth = gpusPerNode - 1 + floorLog2(nodes);
  return [
    { rounds: depth * 8, least: 128 },
    { rounds: depth * 4, least: 64 },
    { rounds: depth, least: 32 },
  ];
}

const kibi = 1024;

const largest: Readonly<Record<Protocol, number>> = {
  LL: 32 * kibi,
  LL128: (120 * 640 * 8 * 15) / 16,
  Simple: 512 * kibi,
};
