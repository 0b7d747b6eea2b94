/**
 * What NVLink SHARP over several nodes handles at a time: a chunk for each channel and each GPU of a node.
 *
 * Source: NVIDIA/nccl src/enqueue.cc, calcCollChunking (NVLS_TREE): chunks of 128 KiB, of 64 KiB from four nodes on and in
 * messages of less than four rounds, of 32 KiB in those of less than one round of 64 KiB.
 */

import { type Bytes, bytes } from '../../model/units.ts';
import type { Links } from '../links.ts';

export function nvlsRound(size: Bytes, { channels, gpusPerNode, nodes }: Links): Bytes {
  const chunks = channels * gpusPerNode;
  const large = nodes < 4 && size >= 4 * chunks * 128 * kibi;
  const chunk = large ? 128 : size >= chunks * 64 * kibi ? 64 : 32;
  return bytes(Math.min(size, chunks * chunk * kibi));
}

const kibi = 1024;
