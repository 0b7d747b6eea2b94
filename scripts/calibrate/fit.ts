/** What a fit gives: a curve for one GPU and number type, and how far it is off on rows it has not seen. */

import type { GpuProfile } from '../../server/src/hardware/clusterProfile.ts';
import { findGpu } from '../../server/src/hardware/gpus.ts';
import type { Rates } from '../../server/src/hardware/kernels/productTime.ts';
import type { Residuals } from './descend.ts';
import type { MeasuredRow } from './readMeasured.ts';

export interface Fit {
  readonly kind: string;
  readonly gpu: string;
  readonly type: 'fp32' | 'fp16';
  readonly curve: object;
  readonly rows: number;
  readonly sources: readonly string[];
  readonly left: Residuals;
}

/** Rows by GPU and number type. */
export function byGpuAndType(
  rows: readonly MeasuredRow[],
): readonly { readonly gpu: GpuProfile; readonly type: 'fp32' | 'fp16'; readonly rows: readonly MeasuredRow[] }[] {
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

export const widthOf = (type: 'fp32' | 'fp16'): number => (type === 'fp32' ? 4 : 2);

export const sourcesOf = (rows: readonly MeasuredRow[]): readonly string[] =>
  [...new Set(rows.map((row) => row.source ?? ''))].sort();

/** fp16 runs on tensor cores where a GPU has them, else at the rate of fp32. */
export function ratesOf(gpu: GpuProfile, type: 'fp32' | 'fp16'): Rates {
  const peak = type === 'fp16' && gpu.tensorCores.has('fp16') ? gpu.peak.get('fp16') : gpu.peak.get('fp32');
  return {
    multiprocessors: gpu.multiprocessors.value,
    peak: peak?.value ?? 0,
    bandwidth: gpu.memoryBandwidth.value,
  };
}

/** Three digits carry all that a fit knows. */
export const rounded = (value: number): number => Number(value.toPrecision(3));
