/** Curves of matrix products. */

import { operandBytes, productTime } from '../../server/src/hardware/kernels/productTime.ts';
import { descend, logLoss, residuals } from './descend.ts';
import { byGpuAndType, type Fit, ratesOf, sourcesOf, widthOf } from './fit.ts';
import { productCurveOf, productLimits, productStart } from './productParameters.ts';
import { halves, type MeasuredRow, numberIn, readMeasured } from './readMeasured.ts';

export function fitProducts(folder: string): readonly Fit[] {
  return byGpuAndType(readMeasured(folder, 'products.csv')).map(({ gpu, type, rows }) => {
    const sources = sourcesOf(rows);
    const rates = ratesOf(gpu, type);
    const width = widthOf(type);
    // What measuring one call adds differs from source to source; it is fitted apart and left out of the curve.
    const timesOf = (parameters: readonly number[], list: readonly Product[]): readonly number[] => {
      const curve = productCurveOf(parameters);
      return list.map(
        ({ shape, source }) =>
          productTime(rates, curve, shape, operandBytes(shape, width)).time +
          (parameters[productStart.length + sources.indexOf(source)] ?? 0),
      );
    };
    const { fitted, held } = halves(rows.map(productOf));
    const { parameters } = descend(
      [...productStart, ...sources.map(() => 5e-6)],
      [...productLimits, ...sources.map(() => 60e-6)],
      (candidate) => logLoss(timesOf(candidate, fitted), fitted.map(({ time }) => time)),
    );
    return {
      kind: 'product',
      gpu: gpu.name,
      type,
      curve: productCurveOf(parameters),
      rows: rows.length,
      sources,
      left: residuals(timesOf(parameters, held), held.map(({ time }) => time)),
    };
  });
}

type Product = ReturnType<typeof productOf>;

const productOf = (row: MeasuredRow) => ({
  source: row.source ?? '',
  shape: {
    batch: numberIn(row, 'batch'),
    m: numberIn(row, 'm'),
    n: numberIn(row, 'n'),
    k: numberIn(row, 'k'),
  },
  time: numberIn(row, 'microseconds') * 1e-6,
});
