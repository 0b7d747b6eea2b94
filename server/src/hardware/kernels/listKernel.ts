/**
 * Kernels over lists of tensors, of which a block takes a chunk of one tensor from end to end.
 *
 * A chunk takes a block as long as its loads wait for memory, however few blocks there are. Blocks that are all on the GPU at once
 * end together on the multiprocessors that have most of them; where there are more, the last ones begin when others have ended.
 */

import { listChunks } from '../assumedShares.ts';
import type { GpuProfile } from '../clusterProfile.ts';
import type { KernelWork, ListLaunch } from '../kernelWork.ts';
import { type BodyTime, stretchedTo } from './bodyTime.ts';

export function listKernelTime(gpu: GpuProfile, { lists }: KernelWork, body: BodyTime): BodyTime {
  if (lists === undefined || gpu.architecture === 'cpu') return body;
  const multiprocessors = gpu.multiprocessors.value;
  const elements = lists.launches.reduce((total, { count, elements }) => total + count * elements, 0);
  if (elements === 0) return body;
  const perElement = body.time / elements;
  const launchTime = ({ blocks, elements: own, longest }: ListLaunch): number => {
    const alone = (listChunks.microseconds[lists.kind] * 1e-6 * longest) / listChunks.elements;
    const streamed = own * perElement;
    if (blocks > listChunks.blocksAtOnce * multiprocessors) return streamed + alone;
    const rounds = Math.ceil(blocks / multiprocessors);
    // Short tensors fill up what full chunks leave.
    const fullest = Math.min((rounds * multiprocessors) / blocks, (rounds * longest * multiprocessors) / own);
    return Math.max(alone, streamed * Math.max(1, fullest));
  };
  const time = lists.launches.reduce((total, launch) => total + launch.count * launchTime(launch), 0);
  return stretchedTo(time, body);
}
