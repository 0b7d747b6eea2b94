/**
 * What data parallel training sends in a step, whole or sharded, as collectives with sizes, and what each scheme keeps
 * per rank.
 *
 * Sources: Rajbhandari et al., "ZeRO", SC 2020, sections 5 and 7 (volumes 2Ψ, 2Ψ, 2Ψ, 3Ψ; memory 16Ψ, 4Ψ + 12Ψ/N,
 * 2Ψ + 14Ψ/N, 16Ψ/N for mixed-precision Adam); PyTorch documentation of FullyShardedDataParallel, ShardingStrategy.
 */

import { type Bytes, bytes } from '../model/units.ts';
import type { CollectiveKind } from './collectiveKind.ts';

const shardings = ['none', 'zero-1', 'zero-2', 'zero-3', 'hybrid'] as const;
/** `zero-2` is FSDP's SHARD_GRAD_OP, `zero-3` its FULL_SHARD, `hybrid` its HYBRID_SHARD. */
export type Sharding = (typeof shardings)[number];

export interface ShardedCollective {
  readonly kind: CollectiveKind;
  /** As nccl-tests count: the whole buffer, over all ranks of the group. */
  readonly bytes: Bytes;
  readonly carries: 'gradients' | 'parameters';
  /** What it must precede or follow: parameters come before the pass that uses them, gradients after backward. */
  readonly when: 'before forward' | 'before backward' | 'after backward' | 'after update';
  /** The ranks it joins: all, those of one node, or those of one place in each node. */
  readonly group: 'all' | 'node' | 'across nodes';
}

/**
 * Collectives of one unit (a layer, a bucket, or the whole model). `gradientBytes` and `parameterBytes` are those of
 * the unit in the number types they travel in; `gpusPerNode` is used by `hybrid` alone.
 */
export function collectivesOf(
  sharding: Sharding,
  gradientBytes: Bytes,
  parameterBytes: Bytes,
  gpusPerNode: number,
): readonly ShardedCollective[] {
  const gradients = { bytes: gradientBytes, carries: 'gradients', when: 'after backward' } as const;
  const parameters = { kind: 'all-gather', bytes: parameterBytes, carries: 'parameters' } as const;
  switch (sharding) {
    case 'none':
      return [{ ...gradients, kind: 'all-reduce', group: 'all' }];
    case 'zero-1':
    case 'zero-2':
      return [
        { ...gradients, kind: 'reduce-scatter', group: 'all' },
        { ...parameters, when: 'after update', group: 'all' },
      ];
    case 'zero-3':
      return [
        { ...parameters, when: 'before forward', group: 'all' },
        { ...parameters, when: 'before backward', group: 'all' },
        { ...gradients, kind: 'reduce-scatter', group: 'all' },
      ];
    case 'hybrid':
      return [
        { ...parameters, when: 'before forward', group: 'node' },
        { ...parameters, when: 'before backward', group: 'node' },
        { ...gradients, kind: 'reduce-scatter', group: 'node' },
        {
          ...gradients,
          kind: 'all-reduce',
          bytes: bytes(gradientBytes / gpusPerNode),
          group: 'across nodes',
        },
      ];
  }
}

/**
 * Volume that one rank sends in a step: 2(N−1)/N of an all-reduced buffer, (N−1)/N of a gathered or scattered one.
 * A group of one rank sends nothing.
 */
export function volumePerRank(
  collectives: readonly ShardedCollective[],
  ranks: number,
  gpusPerNode: number,
): Bytes {
  const sizes = { all: ranks, node: gpusPerNode, 'across nodes': ranks / gpusPerNode };
  let total = 0;
  for (const { kind, bytes: size, group } of collectives) {
    const members = sizes[group];
    total += (kind === 'all-reduce' ? 2 : 1) * ((members - 1) / members) * size;
  }
  return bytes(total);
}

/** Bytes of each kind of model state, whole. */
export interface ModelState {
  readonly parameters: Bytes;
  readonly gradients: Bytes;
  /** Optimizer state, master weights included. */
  readonly optimizer: Bytes;
}

/** What one rank keeps of it: `ranks` share it, or for `hybrid` the GPUs of one node. */
export function modelStatePerRank(
  sharding: Sharding,
  state: ModelState,
  ranks: number,
  gpusPerNode: number,
): ModelState {
  const over = sharding === 'hybrid' ? gpusPerNode : ranks;
  const share = (size: Bytes, isSharded: boolean): Bytes => (isSharded ? bytes(size / over) : size);
  const level = { none: 0, 'zero-1': 1, 'zero-2': 2, 'zero-3': 3, hybrid: 3 }[sharding];
  return {
    optimizer: share(state.optimizer, level >= 1),
    gradients: share(state.gradients, level >= 2),
    parameters: share(state.parameters, level >= 3),
  };
}
