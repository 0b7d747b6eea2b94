/** Fits a curve to the rows of each GPU, judges it on rows it has not seen, and on the rows of other GPUs. */

import type { GpuProfile } from '../../server/src/hardware/clusterProfile.ts';
import type { CurveUnit } from '../../server/src/hardware/curves.ts';
import { findGpu } from '../../server/src/hardware/gpus.ts';
import type { Rates } from '../../server/src/hardware/kernels/gemmTime.ts';
import { type Nearness, nearestCurve } from '../../server/src/hardware/nearestCurve.ts';
import { halves, type MeasuredRow, numberIn } from '../measured/readMeasured.ts';
import { descend, logLoss, type Residuals, residuals } from './descend.ts';

/** What a class of kernels is, to a fit. */
export interface KernelFamily<Entry> {
  readonly kind: string;
  readonly accepts: (row: MeasuredRow) => boolean;
  /** Rows of a GPU below which it has no curve; left out, 20. */
  readonly fewest?: number;
  readonly start: readonly number[];
  /** Upper bounds, aligned with `start`. */
  readonly limits: readonly number[];
  /** Most that measuring one call may add, in seconds. */
  readonly mostOverhead: number;
  readonly entryOf: (parameters: readonly number[], unit: CurveUnit) => Entry;
  /** Seconds of every row, without launch. */
  readonly times: (
    gpu: GpuProfile,
    type: NumberType,
    entry: Entry,
    rows: readonly MeasuredRow[],
  ) => readonly number[];
  /** Seconds that the row would take at the peak or at the bandwidth, whichever is longer. */
  readonly least: (gpu: GpuProfile, type: NumberType, row: MeasuredRow) => number;
}

export type NumberType = 'fp32' | 'fp16';

export interface Fit<Entry> {
  readonly kind: string;
  readonly gpu: string;
  readonly type: NumberType;
  readonly unit: CurveUnit;
  readonly entry: Entry;
  readonly rows: number;
  readonly sources: readonly string[];
  readonly left: Residuals;
  /** The rows that were kept back. */
  readonly held: readonly HeldRow[];
}

export interface HeldRow {
  readonly source: string;
  /** Seconds. */
  readonly predicted: number;
  readonly measured: number;
  /** Seconds at the peak or at the bandwidth. */
  readonly least: number;
}

export interface Transfer {
  readonly kind: string;
  readonly gpu: string;
  readonly type: NumberType;
  readonly from: string;
  readonly nearness: Nearness;
  /** Of predicted / measured, by the curve of the other GPU. */
  readonly ratios: readonly number[];
}

export function fitFamily<Entry>(
  family: KernelFamily<Entry>,
  rows: readonly MeasuredRow[],
): { readonly fits: readonly Fit<Entry>[]; readonly transfers: readonly Transfer[] } {
  const judged = byGpuAndType(rows.filter(family.accepts))
    .filter((group) => group.rows.length >= (family.fewest ?? fewestRows))
    .map((group) => fitGroup(family, group));
  const transfers = judged.flatMap(({ fit, overheads, held, gpu }) => {
    const others = judged.filter((other) => other.fit.unit === fit.unit && other.fit.gpu !== fit.gpu);
    const found = nearestCurve(
      gpu,
      others.map((other) => other.fit),
    );
    if (found === undefined) return [];
    const times = family.times(gpu, fit.type, found.entry.entry, held);
    return [
      {
        kind: fit.kind,
        gpu: fit.gpu,
        type: fit.type,
        from: found.entry.gpu,
        nearness: found.nearness,
        ratios: times.map((time, index) => {
          const row = held[index];
          return row === undefined ? 1 : (time + (overheads.get(row.source ?? '') ?? 0)) / secondsOf(row);
        }),
      },
    ];
  });
  return { fits: judged.map(({ fit }) => fit), transfers };
}

const fewestRows = 20;

function fitGroup<Entry>(
  family: KernelFamily<Entry>,
  {
    gpu,
    type,
    rows,
  }: { readonly gpu: GpuProfile; readonly type: NumberType; readonly rows: readonly MeasuredRow[] },
) {
  const unit = unitOf(gpu, type);
  const sources = [...new Set(rows.map((row) => row.source ?? ''))].sort();
  const { fitted, held } = halves(rows);
  const own = family.start.length;
  // What measuring one call adds differs from source to source; it is fitted apart and left out of the curve.
  const overheadOf = (parameters: readonly number[], row: MeasuredRow): number =>
    parameters[own + sources.indexOf(row.source ?? '')] ?? 0;
  const timesOf = (parameters: readonly number[], list: readonly MeasuredRow[]): readonly number[] =>
    family
      .times(gpu, type, family.entryOf(parameters, unit), list)
      .map((time, index) => time + overheadOf(parameters, list[index] ?? {}));
  const measured = fitted.map(secondsOf);
  const { parameters } = descend(
    [...family.start, ...sources.map(() => 5e-6)],
    [...family.limits, ...sources.map(() => family.mostOverhead)],
    (candidate) => logLoss(timesOf(candidate, fitted), measured),
  );
  const predicted = timesOf(parameters, held);
  const fit: Fit<Entry> = {
    kind: family.kind,
    gpu: gpu.name,
    type,
    unit,
    entry: family.entryOf(parameters, unit),
    rows: rows.length,
    sources,
    left: residuals(predicted, held.map(secondsOf)),
    held: held.map((row, index) => ({
      source: row.source ?? '',
      predicted: predicted[index] ?? Number.NaN,
      measured: secondsOf(row),
      least: family.least(gpu, type, row),
    })),
  };
  const overheads = new Map(sources.map((source, index) => [source, parameters[own + index] ?? 0]));
  return { fit, overheads, held, gpu };
}

const secondsOf = (row: MeasuredRow): number => numberIn(row, 'microseconds') * 1e-6;

/** Rows by GPU and number type. */
function byGpuAndType(
  rows: readonly MeasuredRow[],
): readonly { readonly gpu: GpuProfile; readonly type: NumberType; readonly rows: readonly MeasuredRow[] }[] {
  const groups = new Map<string, MeasuredRow[]>();
  for (const row of rows) {
    const key = `${row.gpu} ${row.type}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [row]);
    else group.push(row);
  }
  return [...groups].map(([key, group]) => {
    const [name = '', type] = key.split(' ');
    const gpu = findGpu(name);
    if (gpu === undefined || (type !== 'fp32' && type !== 'fp16')) throw new Error(`no profile for ${key}`);
    return { gpu, type, rows: group };
  });
}

export const bytesPerElementOf = (type: NumberType): number => (type === 'fp32' ? 4 : 2);

const unitOf = (gpu: GpuProfile, type: NumberType): CurveUnit =>
  type === 'fp16' && gpu.tensorCores.has('fp16') ? 'tensor' : 'vector';

/** fp16 runs on tensor cores where a GPU has them, else at the rate of fp32. */
export function ratesOf(gpu: GpuProfile, type: NumberType): Rates {
  const peak = unitOf(gpu, type) === 'tensor' ? gpu.peak.get('fp16') : gpu.peak.get('fp32');
  return {
    multiprocessors: gpu.multiprocessors.value,
    peak: peak?.value ?? 0,
    bandwidth: gpu.memoryBandwidth.value,
  };
}

/** Three digits carry all that a fit knows. */
export const rounded = (value: number): number => Number(value.toPrecision(3));
