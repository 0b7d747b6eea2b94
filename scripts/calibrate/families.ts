/** The classes of kernels that are fitted: how a row becomes a shape, and what of a curve is free. */

import { computePath } from '../../server/src/hardware/computePath.ts';
import {
  type AttentionEntry,
  attentionCurveOf,
  attentionSizes,
  type ConvolutionEntry,
  type CurveLayout,
  convolutionCurveOf,
  curveLayoutOf,
  type MatmulEntry,
  matmulCurveOf,
  type RowEntry,
  type RowKind,
  rowCurveOf,
} from '../../server/src/hardware/curves.ts';
import { findGpu } from '../../server/src/hardware/gpus.ts';
import { attentionTime } from '../../server/src/hardware/kernels/attentionTime.ts';
import { convolutionBytes, convolutionTime } from '../../server/src/hardware/kernels/convolutionTime.ts';
import { gemmTime, operandBytes } from '../../server/src/hardware/kernels/gemmTime.ts';
import { isMatmulOfChannels, transposedAround } from '../../server/src/hardware/kernels/matrixKernelTime.ts';
import { rowCurveTime } from '../../server/src/hardware/kernels/rowCurveTime.ts';
import type {
  AttentionShape,
  ConvolutionPass,
  ConvolutionShape,
  MatmulLayout,
} from '../../server/src/operators/definition.ts';
import { type MeasuredRow, numberIn } from '../measured/readMeasured.ts';
import { bytesPerElementOf, type KernelFamily, type NumberType, ratesOf, rounded } from './fit.ts';
import { matmulEntryOf, matmulLimits, matmulStart } from './matmulParameters.ts';

/**
 * Below 2, a library that cuts no matmul along its depth, as that of CUDA 8 appears not to: 512 × 32 × 512 took 47 µs on a
 * TITAN X (Pascal) and 7 µs, a year later, on a GTX 1080 Ti (DeepBench).
 */
const manySplits = 4;

export const matmulFamily = (layout: CurveLayout): KernelFamily<MatmulEntry> => ({
  kind: layout === 'tn' ? 'transposed matmul' : 'matmul',
  accepts: (row) => curveLayoutOf(layoutIn(row)) === layout,
  start: [...matmulStart, manySplits],
  limits: [...matmulLimits, manySplits],
  mostOverhead: 60e-6,
  entryOf: (parameters) => {
    const entry = matmulEntryOf(parameters);
    const splits = parameters[matmulStart.length] ?? manySplits;
    return {
      ...entry,
      memory: Math.max(entry.memory, leastMemory),
      ...(splits < 2 ? { splits: 1 } : {}),
    };
  },
  times: (gpu, type, entry, rows) => {
    const rates = ratesOf(gpu, type);
    const curve = matmulCurveOf(entry);
    return rows.map((row) => {
      const shape = productOf(row);
      return gemmTime(rates, curve, shape, operandBytes(shape, bytesPerElementOf(type))).time;
    });
  },
  least: (gpu, type, row) => {
    const rates = ratesOf(gpu, type);
    const shape = productOf(row);
    const { batch, m, n, k } = shape;
    const moved = operandBytes(shape, bytesPerElementOf(type)) / rates.bandwidth;
    return Math.max((2 * batch * m * n * k) / rates.peak, moved);
  },
});

/**
 * Squares alone (K40) say nothing of the bandwidth that narrow matmuls reach: a fit to them takes it for what small ones
 * lose. No GPU whose narrow matmuls were measured reaches less than this share.
 */
const leastMemory = 0.25;

export const convolutionFamily = (pass: ConvolutionPass): KernelFamily<ConvolutionEntry> => ({
  kind: `convolution ${pass}`,
  accepts: (row) => row.pass === pass && (row.groups ?? '1') === '1' && !hasOwnKernel(row),
  start: [...matmulStart, 0.4, 0.4, 1, 0.4],
  limits: [...matmulLimits, 0.9, 0.9, 4, 0.9],
  mostOverhead: 200e-6,
  entryOf: (parameters, unit) => {
    const [two = 0, four = 0, transforms = 1, fourier = 0] = parameters.slice(matmulStart.length);
    return {
      ...matmulEntryOf(parameters),
      winograd: unit === 'tensor' ? null : [rounded(two), rounded(four)],
      transforms: rounded(transforms),
      fourier: unit === 'tensor' ? null : rounded(fourier),
    };
  },
  times: (gpu, type, entry, rows) => {
    const rates = ratesOf(gpu, type);
    const curve = convolutionCurveOf(entry);
    return rows.map((row) => {
      const shape = convolutionOf(row, pass);
      // DeepBench's tensors are channels first (code/nvidia/conv_bench.cu).
      const isFirst = type === 'fp16' && row.layout !== 'channels-last';
      const transposed = isFirst ? transposedAround(gpu, computePath(gpu, 'fp16'), pass) : undefined;
      return convolutionTime(rates, curve, shape, bytesPerElementOf(type), transposed).time;
    });
  },
  least: (gpu, type, row) => {
    const rates = ratesOf(gpu, type);
    const shape = convolutionOf(row, pass);
    const { images, positions, channels, filters, kernelElements } = shape;
    const moved = convolutionBytes(shape, bytesPerElementOf(type)) / rates.bandwidth;
    return Math.max((2 * images * positions * channels * filters * kernelElements) / rates.peak, moved);
  },
});

/** A pass of attention by one kernel: heads of each size, and what a block of queries starts with. */
export const attentionFamily = (
  kernel: string,
  pass: AttentionShape['pass'],
): KernelFamily<AttentionEntry> => ({
  kind: attentionKind(kernel) + (pass === 'forward' ? '' : ', backward'),
  accepts: (row) => row.kernel === kernel && (row.pass ?? 'forward') === pass,
  fewest: 12,
  start: [...attentionSizes.map(() => 0.5), 100],
  limits: [...attentionSizes.map(() => 1), 1000],
  mostOverhead: 60e-6,
  entryOf: (parameters) => ({
    shares: attentionSizes.map((_, index) => rounded(parameters[index] ?? 1)),
    depth: rounded(parameters[attentionSizes.length] ?? 0),
  }),
  times: (gpu, type, entry, rows) => {
    const rates = ratesOf(gpu, type);
    const own = attentionCurveOf(entry);
    const curve = { ...own, backward: own };
    return rows.map(
      (row) => attentionTime(rates, curve, attentionOf(row, pass), attentionBytes(type, row)).time,
    );
  },
  least: (gpu, type, row) => {
    const { sequences, queries, size, causal } = attentionOf(row, pass);
    const matmuls = (causal ? 2 : 4) * (pass === 'forward' ? 1 : 2.5) * sequences * queries ** 2 * size;
    const rates = ratesOf(gpu, type);
    return Math.max(matmuls / rates.peak, attentionBytes(type, row) / rates.bandwidth);
  },
});

/** `rows`: that were fitted to. Without the shares of sizes that none has, which the fit left as they were. */
export const measuredSizes = (
  { shares, depth }: AttentionEntry,
  rows: readonly MeasuredRow[],
): AttentionEntry => {
  const seen = new Set(rows.map((row) => attentionSizes.findIndex((size) => numberIn(row, 'size') <= size)));
  return { shares: shares.map((share, index) => (seen.has(index) ? share : null)), depth };
};

/** What people call the kernels of a row. */
const attentionKind = (kernel: string): string =>
  kernel === 'vendor' ? 'attention, NVIDIA’s own' : kernel.replace('flash-attention', 'FlashAttention');

const attentionOf = (row: MeasuredRow, pass: AttentionShape['pass']): AttentionShape => ({
  pass,
  sequences: numberIn(row, 'sequences'),
  queries: numberIn(row, 'tokens'),
  keys: numberIn(row, 'tokens'),
  size: numberIn(row, 'size'),
  causal: row.causal === '1',
});

/** Queries and results; keys and values of a few heads stay in the cache. */
const attentionBytes = (type: NumberType, row: MeasuredRow): number =>
  2 * numberIn(row, 'sequences') * numberIn(row, 'tokens') * numberIn(row, 'size') * bytesPerElementOf(type);

export const rowFamily = (kind: RowKind): KernelFamily<RowEntry> => {
  const { operations, columns } = rowKinds[kind];
  const bytesOf = (type: NumberType, row: MeasuredRow): number =>
    numberIn(row, 'rows') *
    numberIn(row, 'columns') *
    (operations[row.operation ?? ''] ?? 2) *
    bytesPerElementOf(type);
  return {
    kind,
    accepts: (row) => {
      const passes = operations[row.operation ?? ''];
      const type = row.type === 'fp16' ? 'fp16' : 'fp32';
      // Caches are flushed before each of these.
      if (row.source === 'layercost') return passes !== undefined && isBoundByMemory(row);
      return passes !== undefined && !staysInCache(row, passes * bytesPerElementOf(type));
    },
    start: columns.map(() => 0.7),
    limits: columns.map(() => 1),
    mostOverhead: 60e-6,
    entryOf: (parameters) => ({
      columns,
      shares: columns.map((_, index) => rounded(parameters[index] ?? 1)),
    }),
    times: (gpu, type, entry, rows) => {
      const curve = rowCurveOf(entry);
      return rows.map((row) =>
        rowCurveTime(gpu.memoryBandwidth.value, curve, bytesOf(type, row), numberIn(row, 'columns')),
      );
    },
    least: (gpu, type, row) => bytesOf(type, row) / gpu.memoryBandwidth.value,
  };
};

/** Functions of halves take longer to compute than to move. */
const isBoundByMemory = ({ measuredType, operation = '' }: MeasuredRow): boolean =>
  measuredType === 'fp32' || !['gelu', 'tanh'].includes(operation);

/** Tensors that fit into the L2 cache may never reach memory: what was measured of them says nothing about it. */
function staysInCache(row: MeasuredRow, bytesPerEntry: number): boolean {
  const cache = findGpu(row.gpu ?? '')?.l2?.value ?? 0;
  return numberIn(row, 'rows') * numberIn(row, 'columns') * bytesPerEntry < 2 * cache;
}

/**
 * Operations of a kind and the tensors they read and write; lengths of rows at which the share is fitted. The
 * activations that vidur measured are kernels of a serving system, not of a training framework, and are left out.
 */
const rowKinds: Readonly<
  Record<
    RowKind,
    { readonly operations: Readonly<Record<string, number>>; readonly columns: readonly number[] }
  >
> = {
  elementwise: {
    operations: {
      add: 3,
      mul: 3,
      div: 3,
      pow: 3,
      addu: 2,
      mulu: 2,
      divu: 2,
      powu: 2,
      relu: 2,
      gelu: 2,
      tanh: 2,
    },
    columns: [1],
  },
  softmax: { operations: { softmax: 2 }, columns: [512, 1024, 2048, 4096, 8192, 16384] },
  normalization: { operations: { 'layer-norm': 2, 'rms-norm': 2 }, columns: [1024, 2048, 4096, 8192, 16384] },
};

function layoutIn({ layout = '' }: MeasuredRow): MatmulLayout {
  if (layout === 'nn' || layout === 'tn' || layout === 'nt') return layout;
  throw new Error(`layout of a matmul: ${layout}`);
}

const productOf = (row: MeasuredRow) => ({
  batch: numberIn(row, 'batch'),
  m: numberIn(row, 'm'),
  n: numberIn(row, 'n'),
  k: numberIn(row, 'k'),
});

/** Of images of three channels, and matmuls of channels as they lie (`countedConvolution.ts`, `matrixKernelTime.ts`). */
function hasOwnKernel(row: MeasuredRow): boolean {
  if (row.source !== 'layercost') return false;
  const gpu = findGpu(row.gpu ?? '');
  const isPadded = numberIn(row, 'channels') < 4;
  return (
    isPadded ||
    (gpu !== undefined &&
      row.layout === 'channels-first' &&
      isMatmulOfChannels(gpu, computePath(gpu, 'fp16'), convolutionOf(row, 'forward')))
  );
}

function convolutionOf(row: MeasuredRow, pass: ConvolutionPass): ConvolutionShape {
  const along = (side: 'h' | 'w'): { size: number; kernel: number; stride: number; outputs: number } => {
    const size = numberIn(row, side === 'h' ? 'height' : 'width');
    const kernel = numberIn(row, `kernel_${side}`);
    const stride = numberIn(row, `stride_${side}`);
    const outputs = Math.floor((size + 2 * numberIn(row, `pad_${side}`) - kernel) / stride) + 1;
    return { size, kernel, stride, outputs };
  };
  const [h, w] = [along('h'), along('w')];
  return {
    kind: 'convolution',
    pass,
    images: numberIn(row, 'images'),
    channels: numberIn(row, 'channels'),
    filters: numberIn(row, 'filters'),
    groups: 1,
    positions: h.outputs * w.outputs,
    spatialSize: h.size * w.size,
    kernelElements: h.kernel * w.kernel,
    winograd: h.kernel === 3 && w.kernel === 3 && h.stride === 1 && w.stride === 1,
    fourier: h.kernel >= 5 && w.kernel >= 5 && h.stride === 1 && w.stride === 1,
  };
}
