/**
 * Steps put together to kernels, as Inductor's scheduler does.
 *
 * Rules, PyTorch 2.13: a value computed element by element is inlined where it is read, and stored only for a library,
 * for a kernel of another level, for backward or for the caller (torch/_inductor/lowering.py, ir.py `StorageBox.mark_reuse`);
 * steps over the same elements that read one another's results or the same tensor become one kernel, unless something
 * that cannot be part of it lies between (torch/_inductor/scheduler.py `can_fuse_vertical`, `can_fuse_horizontal`).
 *
 * A level is a number: what follows a library's kernel, a sum over columns or a window comes a level later. Steps of
 * one level never wait for each other, so that fusing them closes no circle.
 */

import type { KernelWork } from '../../../hardware/kernelWork.ts';
import { entryAt, intAt, itemAt } from '../../../model/at.ts';
import { bytes, flops } from '../../../model/units.ts';
import type { Step } from './step.ts';

export interface FusedKernels {
  /** By the index of the operator that the last step of each belongs to. */
  readonly kernels: ReadonlyMap<number, readonly KernelWork[]>;
  /** Launches of kernels that Inductor generated. */
  readonly generated: number;
}

export interface Storage {
  readonly bytesOf: (value: string) => number;
  /** Needed beyond this pass. */
  readonly isNeeded: (value: string) => boolean;
}

export function fuse(steps: readonly Step[], storage: Storage): FusedKernels {
  const producers = new Map<string, number>();
  const readers = new Map<string, number[]>();
  for (const [index, { reads, writes }] of steps.entries()) {
    for (const value of writes) producers.set(value, index);
    for (const value of reads) {
      const known = readers.get(value);
      if (known === undefined) readers.set(value, [index]);
      else known.push(index);
    }
  }
  const levels = fusionLevelsOf(steps, producers, readers, storage);
  const stored = storedValues(steps, levels, readers, storage);
  const groups = new Groups(steps);
  unite(steps, levels, producers, groups, storage);
  return kernelsOf(steps, groups, { producers, readers }, stored, storage);
}

type Links = {
  readonly producers: ReadonlyMap<string, number>;
  readonly readers: ReadonlyMap<string, readonly number[]>;
};

/**
 * What is written to memory. A value with several readers is computed again in each, unless it takes more than four
 * tensors to compute it (torch/_inductor/config.py, `realize_reads_threshold`).
 */
function storedValues(
  steps: readonly Step[],
  levels: Int32Array,
  readers: Links['readers'],
  storage: Storage,
): ReadonlySet<string> {
  const stored = new Set<string>();
  /** By value that is not stored: tensors that are read to compute it. */
  const tensors = new Map<string, number>();
  for (const [index, step] of steps.entries()) {
    let read = 0;
    for (const value of step.reads) read += tensors.get(value) ?? 1;
    const isInlined = (reader: number): boolean => {
      const next = itemAt(steps, reader);
      if (next.kind === 'extern' || next.kind === 'window') return false;
      if (next.kind === 'rows' && next.domain !== step.domain) return false;
      const isNear = levels[reader] === levels[index] && next.kind !== 'columns';
      return step.kind === 'pointwise' ? isNear || read <= mostReads : levels[reader] === levels[index];
    };
    for (const value of step.writes) {
      const own = readers.get(value) ?? [];
      const isAlone = own.length === 1 && step.kind === 'pointwise';
      const inlined = own.every(
        (reader) => isInlined(reader) || (isAlone && itemAt(steps, reader).kind === 'columns'),
      );
      if (storage.isNeeded(value) || !inlined) stored.add(value);
      else tensors.set(value, read);
    }
  }
  return stored;
}

const mostReads = 4;

const endsLevel = (producer: Step, reader: Step): boolean =>
  producer.kind === 'extern' || producer.kind === 'columns' || reader.kind === 'window';

/** What nobody of its own level reads waits until somebody does: it is inlined there. */
function fusionLevelsOf(
  steps: readonly Step[],
  producers: ReadonlyMap<string, number>,
  readers: ReadonlyMap<string, readonly number[]>,
  storage: Storage,
): Int32Array {
  const levels = new Int32Array(steps.length);
  for (const [index, step] of steps.entries()) {
    let level = 0;
    for (const value of step.reads) {
      const producer = producers.get(value);
      if (producer === undefined) continue;
      const behind = endsLevel(itemAt(steps, producer), step) ? 1 : 0;
      level = Math.max(level, intAt(levels, producer) + behind);
    }
    levels[index] = level;
  }
  for (let index = steps.length - 1; index >= 0; index -= 1) {
    const step = steps[index];
    if (step?.kind !== 'pointwise' || step.writes.some(storage.isNeeded)) continue;
    let earliest = Number.POSITIVE_INFINITY;
    for (const value of step.writes) {
      for (const reader of readers.get(value) ?? []) {
        const behind = itemAt(steps, reader).kind === 'window' ? 1 : 0;
        earliest = Math.min(earliest, intAt(levels, reader) - behind);
      }
    }
    if (earliest !== Number.POSITIVE_INFINITY) levels[index] = Math.max(intAt(levels, index), earliest);
  }
  return levels;
}

/** Steps that become one kernel, by the lowest index of them. */
class Groups {
  private readonly parents: Int32Array;
  private readonly rows: Int32Array;

  constructor(steps: readonly Step[]) {
    this.parents = Int32Array.from(steps, (_, index) => index);
    this.rows = Int32Array.from(steps, ({ rowLength }) => rowLength ?? 0);
  }

  of(index: number): number {
    let root = index;
    while ((this.parents[root] ?? root) !== root) root = this.parents[root] ?? root;
    let at = index;
    while (at !== root) {
      const next = this.parents[at] ?? root;
      this.parents[at] = root;
      at = next;
    }
    return root;
  }

  /** Rows of different length do not share a kernel. */
  unite(left: number, right: number): void {
    const [a, b] = [this.of(left), this.of(right)];
    const [rowsOfA = 0, rowsOfB = 0] = [this.rows[a], this.rows[b]];
    if (a === b || (rowsOfA !== 0 && rowsOfB !== 0 && rowsOfA !== rowsOfB)) return;
    this.parents[Math.max(a, b)] = Math.min(a, b);
    this.rows[Math.min(a, b)] = Math.max(rowsOfA, rowsOfB);
  }
}

function unite(
  steps: readonly Step[],
  levels: Int32Array,
  producers: ReadonlyMap<string, number>,
  groups: Groups,
  storage: Storage,
): void {
  const sharing = new Map<string, number>();
  for (const [index, step] of steps.entries()) {
    if (step.kind === 'extern') continue;
    const isColumns = step.kind === 'columns';
    for (const value of step.reads) {
      const producer = producers.get(value) ?? -1;
      const before = steps[producer];
      const isFused = before !== undefined && before.kind !== 'extern' && before.kind !== 'columns';
      if (isFused && !isColumns && step.kind !== 'window' && before.domain === step.domain) {
        if (levels[producer] === levels[index]) groups.unite(producer, index);
      }
      // Tensors much smaller than what is walked over are no reason to share a kernel.
      if (storage.bytesOf(value) < step.domain) continue;
      const key = `${isColumns ? 'columns' : 'elements'} ${levels[index]} ${step.domain} ${value}`;
      const other = sharing.get(key);
      if (other === undefined) sharing.set(key, index);
      else groups.unite(other, index);
    }
  }
}

function kernelsOf(
  steps: readonly Step[],
  groups: Groups,
  { producers, readers }: Links,
  stored: ReadonlySet<string>,
  storage: Storage,
): FusedKernels {
  const kernels = new Map<number, KernelWork[]>();
  let generated = 0;
  const add = (operator: number, work: readonly KernelWork[]): void => {
    const known = kernels.get(operator);
    if (known === undefined) kernels.set(operator, [...work]);
    else known.push(...work);
  };
  const members = new Map<number, number[]>();
  for (const [index, step] of steps.entries()) {
    if (step.kind === 'extern') {
      add(step.operator, step.kernels ?? []);
      continue;
    }
    if (step.kernels !== undefined) {
      add(step.operator, step.kernels);
      generated += step.kernels.length;
    }
    const group = groups.of(index);
    const known = members.get(group);
    if (known === undefined) members.set(group, [index]);
    else known.push(index);
  }
  /** What an inlined value is read from; its own group reads it for nothing. */
  const inlined = (value: string, group: number, found: Set<string>, hops: number): void => {
    const producer = producers.get(value) ?? -1;
    const step = steps[producer];
    if (step === undefined) {
      found.add(value);
      return;
    }
    if (groups.of(producer) === group) return;
    if (step.kind !== 'pointwise' || stored.has(value) || hops > 16) found.add(value);
    else for (const read of step.reads) inlined(read, group, found, hops + 1);
  };
  const isNeeded = (value: string): boolean => readers.has(value) || storage.isNeeded(value);
  /** Others are computed where they are read, or for nobody. */
  const isKernel = ({ kind, writes }: Step): boolean =>
    kind === 'columns' ||
    (kind !== 'pointwise' && writes.some(isNeeded)) ||
    writes.some((value) => stored.has(value));
  const readBy = new Map<number, ReadonlySet<string>>();
  for (const [group, indices] of members) {
    const own = indices.map((index) => itemAt(steps, index));
    if (!own.some(isKernel)) continue;
    const read = new Set<string>();
    for (const { reads } of own) for (const value of reads) inlined(value, group, read, 0);
    readBy.set(group, read);
  }
  /** What a kernel reads, another has written: also one of its level that it could not be part of. */
  const read = new Set([...readBy.values()].flatMap((own) => [...own]));
  for (const [group, ownReads] of readBy) {
    const indices = entryAt(members, group);
    let size = 0;
    let operations = 0;
    let rowLength: number | undefined;
    let rowClass: Step['rowClass'];
    let stages = 1;
    let domain = 0;
    let isColumns = false;
    for (const index of indices) {
      const step = itemAt(steps, index);
      operations += step.operations;
      domain = Math.max(domain, step.domain);
      rowLength ??= step.rowLength;
      rowClass ??= step.rowClass;
      isColumns ||= step.kind === 'columns';
      stages = Math.max(stages, step.stages ?? 1);
      for (const value of step.writes)
        if (step.kind === 'columns' || stored.has(value) || read.has(value)) size += storage.bytesOf(value);
    }
    if (domain === 0) continue;
    const last = itemAt(steps, itemAt(indices, indices.length - 1));
    for (const value of ownReads) size += storage.bytesOf(value);
    generated += stages;
    add(last.operator, [
      {
        class: rowClass ?? (isColumns ? 'reduction' : 'elementwise'),
        dtype: 'fp32',
        flops: flops(0),
        operations,
        bytes: bytes(size),
        launches: stages,
        ...(rowLength === undefined ? {} : { rowLength }),
      },
    ]);
  }
  return { kernels, generated };
}
