/**
 * Attention over the positions of several GPUs: a kernel for the keys of each, whose results are merged.
 *
 * With a causal mask each GPU has two pieces of a sequence, one from its begin and one from its end, so that all have as much
 * to do: its own keys under the mask, and of each other GPU half of the scores without one.
 * Source: PyTorch 2.13, torch/distributed/tensor/experimental/_context_parallel/_attention.py, `_templated_ring_attention`.
 */

import type { LoweredGraph, LoweredOperator } from '../../frameworks/behaviour.ts';
import type { GpuProfile } from '../../hardware/clusterProfile.ts';
import type { KernelWork } from '../../hardware/kernelWork.ts';
import { floatAt } from '../../model/at.ts';
import { bytes, flops } from '../../model/units.ts';
import { columnsBy, type OperatorTimes, operatorTimes, type PassTimes } from '../plan/operatorTimes.ts';

/** `times` with those of the blocks in the place of whole kernels; `cores`: operators of attention that is computed so. */
export function timesInBlocks(
  gpu: GpuProfile,
  lowered: LoweredGraph,
  times: OperatorTimes,
  cores: readonly (readonly number[])[],
  ways: number,
): OperatorTimes {
  const own = new Set(cores.flat());
  if (own.size === 0) return times;
  const known = new Map<LoweredOperator, LoweredOperator>();
  const inBlocks = (operator: LoweredOperator | undefined): LoweredOperator | undefined => {
    if (operator === undefined) return undefined;
    const before = known.get(operator);
    if (before !== undefined) return before;
    const cut = (kernels: readonly KernelWork[]) => kernels.flatMap((kernel) => blocksOf(kernel, ways));
    const after = {
      ...operator,
      forward: cut(operator.forward),
      backwardData: cut(operator.backwardData),
      backwardWeight: cut(operator.backwardWeight),
    };
    known.set(operator, after);
    return after;
  };
  const blocks = operatorTimes(gpu, {
    ...lowered,
    operators: lowered.operators.map((operator, index) => (own.has(index) ? inBlocks(operator) : undefined)),
  });
  return {
    forward: replaced(times.forward, blocks.forward, own),
    backward: replaced(times.backward, blocks.backward, own),
    // Attention itself has no weights.
    weight: times.weight,
  };
}

function replaced(before: PassTimes, blocks: PassTimes, own: ReadonlySet<number>): PassTimes {
  return columnsBy((key) =>
    before[key].map((value, index) => (own.has(index) ? floatAt(blocks[key], index) : value)),
  );
}

/** What is not one kernel of attention is as it was: written out, it computes over all keys at once. */
function blocksOf(kernel: KernelWork, ways: number): readonly KernelWork[] {
  if (kernel.class !== 'attention') return [kernel];
  const { attention } = kernel;
  // Under a window a kernel takes those of the gathered keys that its queries see.
  if (attention?.window !== undefined) return [kernel];
  const block = (share: number, shape: KernelWork['attention']): KernelWork => {
    const { attention: _, ...work } = kernel;
    return {
      ...work,
      flops: flops(kernel.flops * share),
      operations: kernel.operations * share,
      bytes: bytes(kernel.bytes / ways),
      ...(shape === undefined ? {} : { attention: shape }),
    };
  };
  const keys = attention && attention.keys / ways;
  const first = block(1 / ways, attention && keys !== undefined ? { ...attention, keys } : undefined);
  const other =
    attention?.causal === true && keys !== undefined
      ? block(1 / (2 * ways), { ...attention, keys: keys / 2, causal: false })
      : first;
  return [first, ...Array.from({ length: ways - 1 }, () => other), merging(kernel, ways)];
}

/** Each result but the first is added to those before, which are read and written. */
function merging(kernel: KernelWork, ways: number): KernelWork {
  const { attention, environment } = kernel;
  const result = attention === undefined ? 0 : attention.sequences * attention.queries * attention.size;
  return {
    class: 'elementwise',
    dtype: kernel.dtype,
    flops: flops(0),
    operations: 0,
    bytes: bytes((ways - 1) * 2 * result * (kernel.bytesPerElement ?? 2)),
    launches: ways - 1,
    ...(environment === undefined ? {} : { environment }),
  };
}
