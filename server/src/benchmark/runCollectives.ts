/** Measures collectives of torch.distributed over the GPUs of this machine, by size, with nothing beside them. */

import { type Seconds, seconds } from '../model/units.ts';
import { type CollectiveEvent, type CollectiveOperation, collectiveOperations } from './benchmarkEvents.ts';
import { CollectedRun, type MeasuringEvent } from './collectedRun.ts';
import { deviceOf } from './deviceOf.ts';
import type { BenchmarkDevice } from './deviceSchema.ts';
import { followRunner } from './followRunner.ts';
import type { Machine } from './machine.ts';
import type { RunnerOptions } from './runnerOptions.ts';

export interface CollectivesOptions extends RunnerOptions {
  readonly ranks: number;
  /** Seconds to aim at for all of them. */
  readonly budgetSeconds: number;
  /** Bytes of whole tensors; `collectiveSizes` unless given. */
  readonly sizes?: readonly number[];
}

export interface MeasuredCollectives {
  readonly device: BenchmarkDevice;
  readonly rows: readonly MeasuredCollective[];
  readonly notes: readonly string[];
  /** Where a launcher reached it. */
  readonly reached?: Machine;
}

export interface MeasuredCollective {
  readonly operation: CollectiveOperation;
  /** Of the whole tensor. */
  readonly bytes: number;
  readonly ranks: number;
  readonly median: Seconds;
  readonly low: Seconds;
  readonly high: Seconds;
}

/** 1 KiB to 256 MiB, in steps of four. */
const collectiveSizes: readonly number[] = Array.from({ length: 10 }, (_, step) => 1_024 * 4 ** step);

export const runCollectives = ({
  ranks,
  budgetSeconds,
  sizes = collectiveSizes,
  ...options
}: CollectivesOptions) =>
  followRunner(
    { collectives: { operations: collectiveOperations, bytes: sizes, budgetSeconds } },
    new CollectedRows(),
    { ...options, ranks, batch: 1, totalSeconds: Math.max(600, 10 * budgetSeconds) },
  );

class CollectedRows extends CollectedRun<MeasuredCollectives> {
  readonly #rows: MeasuredCollective[] = [];

  protected measured(event: MeasuringEvent): void {
    if (event.event === 'collective') this.#rows.push(rowOf(event));
  }

  get firstReason(): string {
    return this.notes[0] ?? '';
  }

  get measurements(): MeasuredCollectives | undefined {
    if (this.device === undefined || this.#rows.length === 0) return undefined;
    const { machine } = this.device;
    return {
      device: deviceOf(this.device),
      rows: this.#rows,
      notes: this.notes,
      ...(machine === undefined ? {} : { reached: machine }),
    };
  }
}

const rowOf = ({ operation, bytes, ranks, time }: CollectiveEvent): MeasuredCollective => ({
  operation,
  bytes,
  ranks,
  median: seconds(time.median),
  low: seconds(time.low),
  high: seconds(time.high),
});

/**
 * Bytes per second that the slowest link carries, as nccl-tests counts (doc/PERFORMANCE.md): 2(n − 1)/n of an all-reduce's
 * size, (n − 1)/n of the others'.
 */
export const busBandwidth = ({ operation, bytes, ranks, median }: MeasuredCollective): number =>
  (bytes * (operation === 'all-reduce' ? 2 : 1) * (ranks - 1)) / ranks / median;
