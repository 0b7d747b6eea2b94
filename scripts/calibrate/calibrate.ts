/** The fit of every curve, and the table of what it leaves over on rows it has not seen. */

import { findGpu } from '../../server/src/hardware/gpus.ts';
import { fitConvolutions } from './fitConvolutions.ts';
import { fitProducts } from './fitProducts.ts';
import { fitRows } from './fitRows.ts';
import type { Fit } from './fit.ts';

export function calibrate(folder: string) {
  const fits: readonly Fit[] = [...fitProducts(folder), ...fitConvolutions(folder), ...fitRows(folder)];
  return {
    curves: {
      $comment:
        'Written by npm run calibrate from measured/. spread: 10th and 90th percentile of measured / predicted on rows that the fit has not seen.',
      curves: fits.map(({ kind, gpu, type, curve, left, sources, rows }) => ({
        kind,
        gpu,
        type,
        spread: [round(1 / left.ninetieth), round(1 / left.tenth)],
        rows,
        sources,
        ...curve,
      })),
    },
    table: fits.map(lineOf).join('\n'),
  };
}

const round = (value: number): number => Number(value.toPrecision(3));

const percent = (value: number): string => `${(100 * value).toFixed(1)} %`.padStart(7);

const lineOf = ({ kind, gpu, type, rows, left }: Fit): string =>
  `${kind.padEnd(24)} ${(findGpu(gpu)?.title ?? gpu).padEnd(20)} ${type}  ${String(rows).padStart(5)} rows  held out: median ${percent(left.medianError)}  mean ${percent(left.meanError)}  middle ${left.median.toFixed(2)}`;
