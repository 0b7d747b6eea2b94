/**
 * How much longer matmuls take one after the other, at the limit of power, than by the curve of a cool GPU. H100 SXM and
 * H200 SXM are one processor with one limit (700 W), so that what was measured on one holds for the curves of both.
 */

import { findGpu } from '../../server/src/hardware/gpus.ts';
import { operandBytes } from '../../server/src/hardware/kernels/gemmTime.ts';
import { uncorrectedTime } from '../../server/src/hardware/kernelTime.ts';
import { bytes, flops } from '../../server/src/model/units.ts';
import { type MeasuredRow, numberIn } from '../measured/readMeasured.ts';
import { quantile } from './descend.ts';
import { rounded } from './fit.ts';

export interface PauselessFit {
  /** Whose curve of matmuls is meant. */
  readonly gpu: string;
  /** Left out, half precision. */
  readonly precision?: 'fp8';
  readonly factor: number;
  readonly rows: number;
  readonly sources: readonly string[];
  /** 10th and 90th percentile of measured / predicted. */
  readonly spread: readonly [low: number, high: number];
}

const processors = ['h100-sxm', 'h200-sxm'];

/** `rows`: of the table `sustained`, by a GPU of `processors`. */
export function fitPauseless(rows: readonly MeasuredRow[]): readonly PauselessFit[] {
  return processors.flatMap((gpu) =>
    (['bf16', 'fp8'] as const).map((precision) => {
      const own = rows.filter(({ measuredType }) => measuredType === precision);
      const ratios = own
        .map((row) => numberIn(row, 'microseconds') / curveTime(gpu, precision, row))
        .sort((a, b) => a - b);
      const factor = quantile(ratios, 0.5);
      return {
        gpu,
        ...(precision === 'fp8' ? { precision } : {}),
        factor: rounded(factor),
        rows: ratios.length,
        sources: [...new Set(own.map(({ source = '' }) => source))],
        spread: [rounded(quantile(ratios, 0.1) / factor), rounded(quantile(ratios, 0.9) / factor)] as const,
      };
    }),
  );
}

/** Microseconds. */
function curveTime(name: string, precision: 'bf16' | 'fp8', row: MeasuredRow): number {
  const gpu = findGpu(name);
  if (gpu === undefined) throw new Error(`no profile for ${name}`);
  const [m, n, k] = [numberIn(row, 'm'), numberIn(row, 'n'), numberIn(row, 'k')];
  const layout = row.layout === 'tn' ? 'tn' : row.layout === 'nt' ? 'nt' : 'nn';
  const shape = { kind: 'matmul', layout, batch: 1, m, n, k } as const;
  const time = uncorrectedTime(gpu, {
    class: 'matmul',
    dtype: precision,
    flops: flops(2 * m * n * k),
    operations: 0,
    bytes: bytes(operandBytes({ batch: 1, m, n, k }, precision === 'fp8' ? 1 : 2)),
    launches: 1,
    bytesPerElement: 2,
    matmuls: [{ shape, count: 1 }],
  });
  return time * 1e6;
}
