/** Words for what a report says in numbers, shared by the rows of its summary. */

import { atLeast, atMost, formatBytes, formatRate, formatTime } from '../../model/format.ts';
import { markedMemory } from '../../model/gpuMemory.ts';
import { bytes, seconds } from '../../model/units.ts';
import { hasAllParameters } from '../leftOut.ts';
import type { Report } from './report.ts';

export interface SummaryRow {
  readonly name: string;
  /** The number itself. */
  readonly value: string;
  /** What it is made of. */
  readonly detail: string;
}

export const timeText = (value: number | null): string => formatTime(value === null ? null : seconds(value));

/** Marks a lower bound where some operator's work is unknown. */
export const ofWork = ({ totals }: Report, text: string): string => atLeast(text, totals.exact);

/** Marks a lower bound where some weights could not be read. */
export const ofWeights = (report: Report, text: string): string => atLeast(text, hasAllWeights(report));

export const hasAllWeights = ({ model, totals }: Report): boolean => hasAllParameters(model.format, totals);

/** `13.4 GiB`, or `out of memory: 325 GiB`: what a GPU needs. */
export const memoryOfReport = ({ totals: { memory, exact } }: Report): string =>
  markedMemory({ needed: bytes(memory.needed), fits: memory.fits, exact });

/** `of 79.2 GiB`. */
export const ofCapacity = ({ totals: { memory } }: Report): string =>
  `of ${memory.capacity === null ? 'unknown capacity' : formatBytes(bytes(memory.capacity))}`;

/** A decode step gives each sequence a token. */
export const throughputText = ({ totals: { throughput, time }, decoding }: Report): string =>
  throughput === null
    ? '?'
    : atMost(formatRate(throughput, decoding === undefined ? 'samples' : 'tokens'), time.exact);
