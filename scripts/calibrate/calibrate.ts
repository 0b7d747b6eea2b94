/** The fit of every curve, and the table of what it leaves over on rows it has not seen. */

import { findGpu } from '../../server/src/hardware/gpus.ts';
import type { Nearness } from '../../server/src/hardware/nearestCurve.ts';
import { readKernels } from '../measured/readKernels.ts';
import { halves, type MeasuredRow, readMeasured } from '../measured/readMeasured.ts';
import { quantile, residuals } from './descend.ts';
import { attentionFamily, convolutionFamily, matmulFamily, measuredSizes, rowFamily } from './families.ts';
import { type Fit, fitFamily, rounded, type Transfer } from './fit.ts';

/** `folder`: where the measured tables are. Gives the file of curves, and a table for people. */
export function calibrate(folder: string) {
  const matmulRows = readMeasured(folder, 'products.csv');
  const matmuls = (['nn', 'tn'] as const).map((layout) => ({
    layout,
    ...fitFamily(matmulFamily(layout), matmulRows),
  }));
  const convolutionRows = [
    ...readMeasured(folder, 'convolutions.csv'),
    ...readKernels(folder, 'convolutions')
      // TF32 follows the curves of half precision.
      .filter(({ measuredType }) => measuredType !== 'tf32')
      .map((row) => ({ ...row, type: halfAs(row.measuredType) })),
  ];
  const convolutions = (['forward', 'data', 'weight'] as const).map((pass) => ({
    pass,
    ...fitFamily(convolutionFamily(pass), convolutionRows),
  }));
  const memoryRows = [
    ...readMeasured(folder, 'rows.csv'),
    ...readKernels(folder, 'rows')
      .filter(({ pass }) => pass === 'forward')
      .map((row) => ({ ...row, type: halfAs(row.measuredType) })),
  ];
  const rows = (['elementwise', 'softmax', 'normalization'] as const).map((kind) => ({
    kind,
    ...fitFamily(rowFamily(kind), memoryRows),
  }));
  const attentionRows: readonly MeasuredRow[] = [
    ...readMeasured(folder, 'attention.csv'),
    ...readKernels(folder, 'attention')
      .filter(({ measuredType, dropout }) => measuredType !== 'fp32' && Number(dropout) === 0)
      // Where nobody asks for a kernel, PyTorch 2.11 runs cuDNN's on Hopper.
      .map((row) => ({ ...row, kernel: row.kernel ?? 'vendor', type: 'fp16' })),
  ];
  const attention = [...new Set(attentionRows.map(({ kernel = '' }) => kernel))].sort().flatMap((kernel) =>
    (['forward', 'backward'] as const).map((pass) => {
      const family = attentionFamily(kernel, pass);
      const own = attentionRows.filter(family.accepts);
      return { kernel, pass, own, ...fitFamily(family, own) };
    }),
  );
  const all = [...matmuls, ...convolutions, ...rows, ...attention].filter(({ fits }) => fits.length > 0);
  const transfers = all.flatMap((family) => family.transfers);
  return {
    curves: {
      $comment:
        'Written by npm run calibrate from measured/. spread: 10th and 90th percentile of measured / predicted, on rows that the fit has not seen. transfer: the same where the curve of another GPU is used, of the same architecture or of another generation.',
      transfer: {
        architecture: spreadOfTransfers(transfers, 'architecture'),
        generation: spreadOfTransfers(transfers, 'generation'),
      },
      matmuls: matmuls.flatMap(({ layout, fits }) =>
        fits.filter(isUsed).map((fit) => ({
          layout,
          ...headOf(fit),
          single: singlesOf(matmulRows.filter(matmulFamily(layout).accepts), fit),
          ...(byCuda8.has(fit.gpu) ? { library: 'cuda-8' } : {}),
          ...fit.entry,
        })),
      ),
      convolutions: convolutions.flatMap(({ pass, fits }) =>
        fits.filter(isUsed).map((fit) => ({ pass, ...headOf(fit), ...fit.entry })),
      ),
      attention: attention.flatMap(({ kernel, pass, own, fits }) =>
        fits.map((fit) => ({
          kernel,
          pass,
          ...headOf(fit),
          ...measuredSizes(fit.entry, halves(own.filter((row) => row.gpu === fit.gpu)).fitted),
        })),
      ),
      rows: rows.flatMap(({ kind, fits }) => fits.map((fit) => ({ kind, ...headOf(fit), ...fit.entry }))),
    },
    summary: all.map(summaryOf),
    held: all.flatMap(({ fits }) =>
      fits.filter(isUsed).flatMap(({ kind, held }) => held.map((row) => ({ kind, ...row }))),
    ),
    table: [...all.flatMap((family) => family.fits.map(lineOf)), '', ...transfers.map(transferLine)].join(
      '\n',
    ),
  };
}

/** The other tables call half precision fp16, whichever of the two it is. */
const halfAs = (type: string | undefined): string => (type === 'bf16' || type === 'fp16' ? 'fp16' : 'fp32');

/** What is left over of one class of kernels, over all GPUs. */
function summaryOf({
  fits,
  transfers,
}: {
  readonly fits: readonly Fit<unknown>[];
  readonly transfers: readonly Transfer[];
}) {
  const three = (values: readonly number[]): readonly [number, number, number] => {
    const sorted = values.toSorted((a, b) => a - b);
    return [sorted[0] ?? Number.NaN, quantile(sorted, 0.5), sorted.at(-1) ?? Number.NaN];
  };
  const median = ({ ratios }: Transfer): number =>
    quantile(
      ratios.map((ratio) => Math.abs(ratio - 1)).sort((a, b) => a - b),
      0.5,
    );
  return {
    kind: fits[0]?.kind ?? '',
    gpus: new Set(fits.map(({ gpu }) => gpu)).size,
    rows: fits.reduce((sum, { rows }) => sum + rows, 0),
    held: three(fits.map(({ left }) => left.medianError)),
    transferred: transfers.length === 0 ? undefined : three(transfers.map(median)),
  };
}

/** Half-precision matmuls without tensor cores are judged but not used: the curves of fp32 stand for them. */
const isUsed = ({ unit, type }: Fit<unknown>): boolean => (unit === 'tensor') === (type === 'fp16');

/**
 * GPUs whose matmuls were measured with the libraries of CUDA 8, in the first release of DeepBench (September 2016): a matmul
 * of 512 × 32 × 512, which takes 7 µs with those of GTX 1080 Ti a year later, takes 47 to 88 µs there.
 */
const byCuda8: ReadonlySet<string> = new Set(['m40', 'titan-x-maxwell', 'titan-x-pascal']);

/** How many of the rows of a fit are of one matmul each. */
const singlesOf = (rows: readonly MeasuredRow[], { gpu, type }: Fit<unknown>): number =>
  rows.filter((row) => row.gpu === gpu && row.type === type && row.batch === '1').length;

const headOf = ({ gpu, unit, rows, sources, left }: Fit<unknown>) => ({
  gpu,
  unit,
  rows,
  sources,
  spread: [rounded(1 / left.ninetieth), rounded(1 / left.tenth)],
});

function spreadOfTransfers(transfers: readonly Transfer[], nearness: Nearness): readonly [number, number] {
  const ratios = transfers
    .filter((transfer) => transfer.nearness === nearness)
    .flatMap((transfer) => transfer.ratios)
    .sort((a, b) => a - b);
  return [rounded(1 / quantile(ratios, 0.9)), rounded(1 / quantile(ratios, 0.1))];
}

const percent = (value: number): string => `${(100 * value).toFixed(1)} %`.padStart(7);
const titleOf = (name: string): string => (findGpu(name)?.title ?? name).padEnd(18);

const lineOf = ({ kind, gpu, type, rows, left }: Fit<unknown>): string =>
  `${kind.padEnd(20)} ${titleOf(gpu)} ${type} ${String(rows).padStart(5)} rows   held out: median ${percent(left.medianError)}  mean ${percent(left.meanError)}  middle ${left.median.toFixed(2)}`;

function transferLine({ kind, gpu, type, from, nearness, ratios }: Transfer): string {
  const left = residuals(
    ratios,
    ratios.map(() => 1),
  );
  return `${kind.padEnd(20)} ${titleOf(gpu)} ${type} by ${titleOf(from)} ${nearness.padEnd(12)} median ${percent(left.medianError)}  middle ${left.median.toFixed(2)}`;
}
