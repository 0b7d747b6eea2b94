/** Ranges of memory beside measured peaks, each with its source left out of what they were fitted to. */

import {
  type KeptModel,
  type MemoryDoubts,
  memoryDoubts,
  neededRange,
  reservedRange,
} from '../../server/src/estimate/memory/neededRange.ts';
import { runtimeReserve } from '../../server/src/estimate/memory/reservedMemory.ts';
import type { Range } from '../../server/src/model/estimate.ts';
import { quantile } from '../calibrate/descend.ts';
import { type DoubtedPeak, fitMemoryDoubt } from '../calibrate/memoryDoubts.ts';
import { percent } from './percent.ts';

export interface RangedPeak {
  readonly source: string;
  /** Of what: tensors alone, what the allocator reserves for them, or all that is in use. */
  readonly kind: string;
  readonly measured: number;
  /** Of the kind. */
  readonly predicted: number;
  readonly peak: number;
  readonly reserved: Range<number>;
  readonly kept: KeptModel;
}

export function rangeOfPeak(
  { kind, peak, reserved, kept }: RangedPeak,
  doubts: MemoryDoubts = memoryDoubts,
): Range<number> {
  const tensors = { low: peak, high: peak };
  const range = reservedRange(peak, kind === 'allocated' ? tensors : reserved, kept, doubts);
  if (kind !== 'in-use') return range;
  const most = neededRange(0, { low: 0, high: 0 }, kept).high;
  return { low: range.low + runtimeReserve, high: range.high + most };
}

export const doubtedPeaks = (peaks: readonly RangedPeak[]): readonly DoubtedPeak[] =>
  peaks.map(({ source, measured, predicted }) => ({ source, error: Math.log(measured / predicted) }));

/** Rows, in range, in range with the source left out, median of √(high / low) − 1. */
export function memoryRangeLine(title: string, peaks: readonly RangedPeak[]): string {
  const without = (source: string): MemoryDoubts => {
    const doubt = fitMemoryDoubt(doubtedPeaks(peaks).filter((peak) => peak.source !== source));
    return { copy: doubt, part: doubt, partAcrossNodes: doubt };
  };
  const held = new Map(peaks.map(({ source }) => [source, without(source)]));
  const share = (rangeOf: (peak: RangedPeak) => Range<number>): number =>
    peaks.filter((peak) => {
      const { low, high } = rangeOf(peak);
      return low <= peak.measured && peak.measured <= high;
    }).length / peaks.length;
  const widths = peaks
    .map((peak) => rangeOfPeak(peak))
    .map(({ low, high }) => Math.sqrt(high / low) - 1)
    .sort((a, b) => a - b);
  const cells = [
    title,
    peaks.length,
    percent(share((peak) => rangeOfPeak(peak))),
    percent(share((peak) => rangeOfPeak(peak, held.get(peak.source)))),
    `±${percent(quantile(widths, 0.5))}`,
  ];
  return `| ${cells.join(' | ')} |`;
}
