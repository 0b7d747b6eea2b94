/** Passes of an update over all tensors: kernels over lists of them, or tensor after tensor. */

import type { KernelWork, ListLaunch } from '../../hardware/kernelWork.ts';
import { totalElements } from '../../model/totalElements.ts';
import { bytes, flops } from '../../model/units.ts';
import type { Pass, UpdatedTensor } from '../optimizers/optimizerDefinition.ts';
import { type KernelArguments, multiTensorLaunches } from './multiTensorLaunches.ts';

export type OptimizerKernels = 'foreach' | 'fused' | 'loop';

/** How an update goes over the tensors. */
export interface ListKernels {
  readonly kernels: OptimizerKernels;
  /** Bytes per element of the weights that are updated, and of their gradients. */
  readonly width: number;
  /** Codes that keep an fp32 copy (Megatron-LM, DeepSpeed) update it as a few long tensors. */
  readonly inOne: boolean;
  /** What a kernel over lists of tensors has for their addresses. */
  readonly kernelArguments: KernelArguments;
}

/** Kernels of passes, whose sizes are those of the tensors as they are. */
export function listPasses(
  { kernels, inOne, kernelArguments }: ListKernels,
  tensors: readonly UpdatedTensor[],
): (passes: readonly Pass[]) => readonly KernelWork[] {
  const elements = totalElements(tensors);
  // In which order a program made the tensors no graph tells, so the longest go first.
  const lengths = inOne ? [elements] : tensors.map((tensor) => tensor.elements).sort((a, b) => b - a);
  const launchesByLists = new Map<number, readonly ListLaunch[]>();
  const launchesOf = (lists: number): readonly ListLaunch[] => {
    const known = launchesByLists.get(lists);
    if (known !== undefined) return known;
    const launches = multiTensorLaunches(lengths, lists, kernelArguments);
    launchesByLists.set(lists, launches);
    return launches;
  };
  const listsOf = ({ kind = 'pass', lists }: Pass): Pick<KernelWork, 'lists' | 'launches'> => {
    if (kernels === 'loop') return { launches: tensors.length };
    const launches = launchesOf(lists);
    const count = launches.reduce((total, launch) => total + launch.count, 0);
    return { launches: Math.max(1, count), lists: { kind, launches } };
  };
  return (passes) =>
    passes.map((each) => ({
      class: 'elementwise' as const,
      dtype: 'fp32' as const,
      flops: flops(0),
      operations: elements * 2,
      bytes: bytes(elements * each.size),
      ...listsOf(each),
    }));
}

/** Passes over tensors of other than four bytes an element. */
export const inWidth = (passes: readonly Pass[], width: number): readonly Pass[] =>
  passes.map((each) => ({ ...each, size: (each.size * width) / 4 }));
