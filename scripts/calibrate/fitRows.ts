/** Curves of kernels bound by memory: element-wise ones, and those that work row by row. */

import type { RowCurve } from '../../server/src/hardware/curves.ts';
import { rowTime } from '../../server/src/hardware/kernels/rowTime.ts';
import { descend, logLoss, residuals } from './descend.ts';
import { byGpuAndType, type Fit, rounded, sourcesOf, widthOf } from './fit.ts';
import { halves, type MeasuredRow, numberIn, readMeasured } from './readMeasured.ts';

export function fitRows(folder: string): readonly Fit[] {
  return byGpuAndType(readMeasured(folder, 'rows.csv')).flatMap(({ gpu, type, rows }) =>
    kinds.flatMap(({ kind, operations, knots }) => {
      const own = rows.filter((row) => operations[row.operation ?? ''] !== undefined);
      if (own.length < 20) return [];
      const sources = sourcesOf(own);
      const width = widthOf(type);
      const curveOf = (parameters: readonly number[]): RowCurve => ({
        shares: knots.map((columns, index) => [columns, rounded(parameters[index] ?? 1)] as const),
      });
      const timesOf = (parameters: readonly number[], list: readonly MeasuredRow[]): readonly number[] => {
        const curve = curveOf(parameters);
        return list.map((row) => {
          const columns = numberIn(row, 'columns');
          const bytes = numberIn(row, 'rows') * columns * width * (operations[row.operation ?? ''] ?? 2);
          return (
            rowTime(gpu.memoryBandwidth.value, curve, bytes, columns) +
            (parameters[knots.length + sources.indexOf(row.source ?? '')] ?? 0)
          );
        });
      };
      const timeOf = (row: MeasuredRow): number => numberIn(row, 'microseconds') * 1e-6;
      const { fitted, held } = halves(own);
      const { parameters } = descend(
        [...knots.map(() => 0.7), ...sources.map(() => 5e-6)],
        [...knots.map(() => 1), ...sources.map(() => 60e-6)],
        (candidate) => logLoss(timesOf(candidate, fitted), fitted.map(timeOf)),
      );
      return {
        kind,
        gpu: gpu.name,
        type,
        curve: curveOf(parameters),
        rows: own.length,
        sources,
        left: residuals(timesOf(parameters, held), held.map(timeOf)),
      };
    }),
  );
}

/** Passes over the matrix: tensors read and written, each once. */
const kinds: readonly {
  readonly kind: string;
  readonly operations: Readonly<Record<string, number>>;
  readonly knots: readonly number[];
}[] = [
  {
    kind: 'elementwise',
    operations: {
      add: 3, mul: 3, div: 3, pow: 3, addu: 2, mulu: 2, divu: 2, powu: 2, relu: 2, gelu: 2, tanh: 2, act: 2, 'gated-silu': 3,
    },
    knots: [1],
  },
  { kind: 'softmax', operations: { softmax: 2 }, knots: [512, 1024, 2048, 4096, 8192, 16384] },
  { kind: 'normalization', operations: { 'layer-norm': 2, 'rms-norm': 2 }, knots: [1024, 2048, 4096, 8192, 16384] },
];
