/** Timings beside what the profile of a GPU says of their kernels, by kind. */

import type { KernelWork } from '../../hardware/kernelWork.ts';
import { measuredKind } from '../../hardware/measuredKernels.ts';
import type { Seconds } from '../../model/units.ts';
import type { KernelTiming } from './fitKernels.ts';
import { add } from './keyedSums.ts';

/** What a profile says of a kernel. */
export type KnownKernels = (work: KernelWork) => Seconds;

export interface Row {
  readonly model: string;
  readonly of: KernelTiming['of'];
  readonly time: number;
  /** By kind: what the profile says. */
  readonly known: ReadonlyMap<string, number>;
}

export function rowOf(model: string, { kernels, time, of }: KernelTiming, knownTime: KnownKernels): Row {
  const known = new Map<string, number>();
  for (const work of kernels) add(known, measuredKind(work), knownTime(work));
  return { model, of, time, known };
}

/** In how many timings each kind of kernel stands. */
export function countKinds(rows: readonly Row[]): ReadonlyMap<string, number> {
  const counted = new Map<string, number>();
  for (const { known } of rows) for (const kind of known.keys()) add(counted, kind, 1);
  return counted;
}
