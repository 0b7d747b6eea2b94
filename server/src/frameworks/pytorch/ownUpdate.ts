/** The part of an update that is the optimizer's own: what it launches, and what it keeps. */

import type { KernelWork } from '../../hardware/kernelWork.ts';
import { totalElements } from '../../model/totalElements.ts';
import { type Bytes, bytes, flops } from '../../model/units.ts';
import type {
  ElementwiseUpdate,
  Pass,
  TensorUpdate,
  UpdatedTensor,
} from '../optimizers/optimizerDefinition.ts';
import { launchesPerParameter } from './eagerLaunch.ts';
import { inWidth, type ListKernels, listPasses } from './listPasses.ts';

export interface OwnUpdate {
  readonly kernels: readonly KernelWork[];
  /** Work of the host beside the launches of kernels, in launches. */
  readonly hostWork: number;
  readonly stateBytesOf: (tensor: UpdatedTensor) => number;
  readonly temporaryBytes: Bytes;
}

/** `over`: kernels of passes over these tensors. */
export function ownUpdate(
  update: ElementwiseUpdate | TensorUpdate,
  lists: ListKernels,
  tensors: readonly UpdatedTensor[],
  over: (passes: readonly Pass[]) => readonly KernelWork[],
): OwnUpdate {
  if (update.kind === 'elementwise') return elementwise(update, lists, tensors, over);
  const { takes, others } = update;
  if (takes === undefined || others === undefined) return byTensor(update, lists, tensors);
  const rest = tensors.filter((tensor) => !takes(tensor));
  const own = byTensor(update, lists, tensors.filter(takes));
  const beside = elementwise(others, lists, rest, listPasses(lists, rest));
  return {
    kernels: [...own.kernels, ...beside.kernels],
    hostWork: own.hostWork + beside.hostWork,
    stateBytesOf: (tensor) => (takes(tensor) ? own : beside).stateBytesOf(tensor),
    // One after the other.
    temporaryBytes: bytes(Math.max(own.temporaryBytes, beside.temporaryBytes)),
  };
}

function elementwise(
  { states, onePass, passes, temporaries }: ElementwiseUpdate,
  { kernels, width, inOne }: ListKernels,
  tensors: readonly UpdatedTensor[],
  over: (passes: readonly Pass[]) => readonly KernelWork[],
): OwnUpdate {
  const elements = totalElements(tensors);
  return {
    kernels: elements === 0 ? [] : over(inWidth(kernels === 'fused' ? onePass : passes, width)),
    hostWork: inOne ? 0 : tensors.length * launchesPerParameter[kernels],
    stateBytesOf: (tensor) => states * width * tensor.elements,
    temporaryBytes: bytes(kernels === 'foreach' ? temporaries * width * elements : 0),
  };
}

/** Tensors of one shape are updated by like kernels, so they are counted together. */
function byTensor(
  update: TensorUpdate,
  { width }: ListKernels,
  tensors: readonly UpdatedTensor[],
): OwnUpdate {
  const alike = new Map<string, { readonly tensor: UpdatedTensor; count: number }>();
  for (const tensor of tensors) {
    const key = `${tensor.elements} ${tensor.shape.join('×')}`;
    const known = alike.get(key);
    if (known === undefined) alike.set(key, { tensor, count: 1 });
    else known.count += 1;
  }
  const groups = [...alike.values()];
  return {
    kernels: groups.flatMap(({ tensor, count }) =>
      update.kernels(tensor, width).map((kernel) => repeated(kernel, count)),
    ),
    // Each wait is for what was launched last, and a launch later the GPU has work again.
    hostWork: update.waits * launchesOfWait * tensors.length,
    stateBytesOf: (tensor) => update.stateBytes(tensor, width),
    temporaryBytes: bytes(Math.max(0, ...groups.map(({ tensor }) => update.temporaryBytes(tensor, width)))),
  };
}

/** A wait takes a copy of one number to the host, and the return of the call: assumed to be as long as two launches. */
const launchesOfWait = 2;

/** As many like it. */
export const repeated = (kernel: KernelWork, count: number): KernelWork =>
  count === 1
    ? kernel
    : {
        ...kernel,
        flops: flops(kernel.flops * count),
        operations: kernel.operations * count,
        bytes: bytes(kernel.bytes * count),
        launches: kernel.launches * count,
        ...(kernel.lists === undefined
          ? {}
          : {
              lists: {
                ...kernel.lists,
                launches: kernel.lists.launches.map((each) => ({ ...each, count: each.count * count })),
              },
            }),
        ...(kernel.matmuls === undefined
          ? {}
          : { matmuls: kernel.matmuls.map((each) => ({ ...each, count: each.count * count })) }),
      };
