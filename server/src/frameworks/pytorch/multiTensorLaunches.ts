/**
 * The launches of a kernel over lists of tensors. A block takes a chunk of 65,536 elements of one tensor, and a launch takes as many
 * tensors and blocks as fit into the arguments of a kernel: 4 KiB, or 32 KiB in builds for CUDA 13.
 *
 * Source: PyTorch 2.13 aten/src/ATen/native/cuda/MultiTensorApply.cuh, `depth_to_max_tensors`, `depth_to_max_blocks`, `kChunkSize`.
 */

import type { ListLaunch } from '../../hardware/kernelWork.ts';

export type KernelArguments = '4 KiB' | '32 KiB';

/** `lists`: how many tensors of each parameter the kernel takes, one to five. `lengths`: elements of each parameter. */
export function multiTensorLaunches(
  lengths: readonly number[],
  lists: number,
  room: KernelArguments,
): readonly ListLaunch[] {
  const { tensors, blocks } = limits[room];
  const mostTensors = tensors[lists - 1] ?? Math.min(...tensors);
  const launches: ListLaunch[] = [];
  let open = { tensors: 0, blocks: 0, elements: 0, longest: 0 };
  const close = (): void => {
    const { blocks: taken, elements, longest } = open;
    if (taken > 0) launches.push({ count: 1, blocks: taken, elements, longest });
    open = { tensors: 0, blocks: 0, elements: 0, longest: 0 };
  };
  for (const length of lengths) {
    let left = length;
    while (left > 0) {
      if (open.blocks >= blocks) close();
      // However long a tensor is, launches of it alone are one entry.
      const whole = open.blocks > 0 ? 0 : Math.floor(left / (blocks * chunk));
      if (whole > 0) {
        launches.push({ count: whole, blocks, elements: blocks * chunk, longest: chunk });
        left -= whole * blocks * chunk;
        continue;
      }
      const taken = Math.min(Math.ceil(left / chunk), blocks - open.blocks);
      const elements = Math.min(left, taken * chunk);
      open = {
        tensors: open.tensors + 1,
        blocks: open.blocks + taken,
        elements: open.elements + elements,
        longest: Math.max(open.longest, Math.min(elements, chunk)),
      };
      left -= elements;
    }
    if (open.tensors >= mostTensors) close();
  }
  close();
  return launches;
}

const chunk = 65_536;

const limits: Readonly<
  Record<KernelArguments, { readonly tensors: readonly number[]; readonly blocks: number }>
> = {
  '4 KiB': { tensors: [110, 64, 48, 36, 30], blocks: 320 },
  '32 KiB': { tensors: [770, 448, 336, 252, 210], blocks: 2240 },
};
