/**
 * Fitted curves of kernel classes: what `npm run calibrate` learned from the measurements in `measured/`, as data.
 *
 * A GPU that was measured has curves of its own. Another takes those of the nearest measured one: of its
 * architecture first, then of a neighbouring generation, with the wider range that this step costs where it can be
 * checked (each measured GPU predicted with the curves of the others).
 */

import { type Range, rangeOf } from '../model/estimate.ts';
import type { ConvolutionPass, MatmulLayout } from '../operators/definition.ts';
import { olderAttention } from './assumedShares.ts';
import type { GpuProfile } from './clusterProfile.ts';
import file from './curves.json';
import type { AttentionKernel } from './kernelEnvironment.ts';
import { type Nearness, nearestCurve } from './nearestCurve.ts';
import { slowerUnit } from './slowerUnits.ts';
import { hasVendorAttention } from './vendorAttention.ts';

export interface MatmulCurve {
  /** Tiles a library has, [rows, columns, share of a multiprocessor's peak]. */
  readonly tiles: readonly (readonly [m: number, n: number, share: number])[];
  /** Share of the memory bandwidth. */
  readonly memory: number;
  /** What filling and draining a tile costs, as depth. */
  readonly depth: number;
  /** Most parts that the library cuts a deep matmul into; left out, as many as there are. */
  readonly splits?: number;
}

export interface ConvolutionCurve extends MatmulCurve {
  /** [side of a tile of outputs, share of the peak]; absent where libraries do not use it. */
  readonly winograd: readonly (readonly [tile: number, share: number])[] | undefined;
  /** How often transformed tiles pass through memory. */
  readonly transforms: number;
  /** Share of the peak of matmuls between Fourier transforms; absent where libraries do not use them. */
  readonly fourier: number | undefined;
}

export interface RowCurve {
  /** [length of a row, share of the bandwidth], ascending; one entry where rows do not matter. */
  readonly shares: readonly (readonly [columns: number, share: number])[];
}

export interface AttentionCurve {
  /** [elements of a head up to which kernels exist, share of the peak], ascending. */
  readonly shares: readonly (readonly [size: number, share: number])[];
  /** What starting and ending a block of queries costs, as keys. */
  readonly depth: number;
  /** Of the gradients, where they were measured. */
  readonly backward?: Pick<AttentionCurve, 'shares' | 'depth'>;
  /** Rate of the gradients beside what they reach by other kernels of the same forward, where they were not. */
  readonly gradients?: number;
}

export interface Calibrated<Curve> {
  readonly curve: Curve;
  readonly nearness: Nearness;
  /** How unlike the GPU is on which it was measured. */
  readonly distance: number;
  /** The GPU on which it was measured. */
  readonly gpu: string;
  readonly rows: number;
  /** Measured / predicted: 80 % of the rows that the fit has not seen lie between. */
  readonly ratio: Range;
}

/** Attention whose scores something is added to: by the newest PyTorch, and by the kernel that also gives the gradient of what is added. */
export type MaskedAttention = 'newest-masked' | 'memory-efficient';

export type RowKind = 'elementwise' | 'softmax' | 'normalization';

export type CurveUnit = 'vector' | 'tensor';

/** Matmuls of a first operand that is transposed, and all others: matmuls of either kind differ less among themselves. */
export type CurveLayout = 'tn' | 'nn';

export const curveLayoutOf = (layout: MatmulLayout): CurveLayout => (layout === 'tn' ? 'tn' : 'nn');

type ByLayout = Readonly<Record<CurveLayout, Calibrated<MatmulCurve> | undefined>>;

/** All curves that hold for one GPU; `undefined` where nothing of its kind was measured. */
export interface GpuCurves {
  /** Of single matmuls. */
  readonly matmul: Readonly<Record<CurveUnit, ByLayout>>;
  readonly batchedMatmul: Readonly<Record<CurveUnit, ByLayout>>;
  /** By the libraries of CUDA 8, of the nearest GPU that was measured with them. */
  readonly cuda8Matmul: ByLayout;
  readonly convolution: Readonly<
    Record<CurveUnit, Readonly<Record<ConvolutionPass, Calibrated<ConvolutionCurve> | undefined>>>
  >;
  readonly row: Readonly<Record<RowKind, Calibrated<RowCurve> | undefined>>;
  /** Of fused attention in half precision. */
  readonly attention: Readonly<
    Record<AttentionKernel | MaskedAttention, Calibrated<AttentionCurve> | undefined>
  >;
}

/** Looked up once for each profile. */
export function curvesOf(gpu: GpuProfile): GpuCurves {
  let curves = known.get(gpu);
  if (curves === undefined) {
    curves = lookUp(gpu);
    known.set(gpu, curves);
  }
  return curves;
}

const known = new WeakMap<GpuProfile, GpuCurves>();

function lookUp(gpu: GpuProfile): GpuCurves {
  // Of the nearest GPU, by the curve that saw matmuls of the kind, single or batched, and if both did that of the layout: a
  // curve of batched matmuls knows nothing of how few tiles are cut.
  const byLayout = (entries: readonly FileMatmul[], saw: (entry: FileMatmul) => boolean): ByLayout => {
    const of = (layout: CurveLayout) => {
      const fitness = (entry: FileMatmul) => 2 * Number(saw(entry)) + Number(entry.layout === layout);
      return find(
        gpu,
        entries.toSorted((a, b) => fitness(b) - fitness(a)),
        matmulCurveOf,
      );
    };
    return { tn: of('tn'), nn: of('nn') };
  };
  const byUnit = (saw: (entry: FileMatmul) => boolean) => ({
    vector: byLayout(
      file.matmuls.filter(({ unit }) => unit === 'vector'),
      saw,
    ),
    tensor: onTensorCores(
      gpu,
      byLayout(
        file.matmuls.filter(({ unit }) => unit === 'tensor'),
        saw,
      ),
    ),
  });
  const sawSingle = ({ single }: FileMatmul): boolean => single > 0;
  const matmul = byUnit(sawSingle);
  const convolution = (unit: CurveUnit, pass: ConvolutionPass) => {
    const found = find(
      gpu,
      file.convolutions.filter((entry) => entry.unit === unit && entry.pass === pass),
      convolutionCurveOf,
    );
    return unit === 'tensor' ? tilesOn(gpu, found) : scaledByMatmul(matmul.vector.nn, found);
  };
  const passes = (unit: CurveUnit) => ({
    forward: convolution(unit, 'forward'),
    data: convolution(unit, 'data'),
    weight: convolution(unit, 'weight'),
  });
  const row = (kind: RowKind) =>
    find(
      gpu,
      file.rows.filter((entry) => entry.kind === kind),
      rowCurveOf,
    );
  return {
    matmul,
    batchedMatmul: byUnit(({ rows, single }) => rows > single),
    cuda8Matmul: byLayout(
      file.matmuls.filter((entry) => 'library' in entry && entry.library === 'cuda-8'),
      sawSingle,
    ),
    convolution: { vector: passes('vector'), tensor: passes('tensor') },
    row: { elementwise: row('elementwise'), softmax: row('softmax'), normalization: row('normalization') },
    attention: attentionCurves(gpu),
  };
}

/**
 * GPUs without kernels of their own (`vendorAttention.ts`) run FlashAttention-2, written for Ampere; older kernels reach a part of its
 * rate. FlashAttention takes no mask, and NVIDIA's kernels none that has a gradient (PyTorch 2.14
 * aten/src/ATen/native/transformers/cuda/sdp_utils.cpp, `check_for_attn_mask` and `check_attn_mask_shape`): those run on the
 * memory-efficient kernel, and so does all attention on Volta and Turing (`check_flash_attention_hardware_support`).
 */
function attentionCurves(gpu: GpuProfile): GpuCurves['attention'] {
  const found = (kernel: string, pass: string) =>
    attentionOn(
      gpu,
      find(
        gpu,
        file.attention.filter((entry) => entry.kernel === kernel && entry.pass === pass),
        attentionCurveOf,
      ),
    );
  const of = (kernel: string) => {
    const forward = found(kernel, 'forward');
    const backward = found(kernel, 'backward');
    return forward && backward !== undefined && backward.nearness !== 'generation'
      ? { ...forward, curve: { ...forward.curve, backward: backward.curve } }
      : forward;
  };
  const second = of('flash-attention-2');
  const memoryEfficient = slowed(second, olderAttention['memory-efficient']);
  const hasOwn = hasVendorAttention(gpu.architecture);
  if (gpu.architecture === 'volta' || gpu.architecture === 'turing') return byOne(memoryEfficient);
  return {
    newest: hasOwn ? of('vendor') : second,
    'flash-attention-3': hasOwn ? of('flash-attention-3') : second,
    'flash-attention-2': second,
    'flash-attention-1': slowed(second, olderAttention['flash-attention-1']),
    triton: slowed(second, olderAttention.triton),
    'newest-masked': hasOwn ? of('vendor') : memoryEfficient,
    'memory-efficient': memoryEfficient,
  };
}

const byOne = (curve: Calibrated<AttentionCurve> | undefined): GpuCurves['attention'] => ({
  newest: curve,
  'flash-attention-3': curve,
  'flash-attention-2': curve,
  'flash-attention-1': curve,
  triton: curve,
  'newest-masked': curve,
  'memory-efficient': curve,
});

const onTensorCores = (gpu: GpuProfile, { tn, nn }: ByLayout): ByLayout => ({
  tn: tilesOn(gpu, tn),
  nn: tilesOn(gpu, nn),
});

/** As on the tensor cores of the GPU, where they are slower than those of the curve (`slowerUnits.ts`). */
function tilesOn<Curve extends MatmulCurve>(
  gpu: GpuProfile,
  calibrated: Calibrated<Curve> | undefined,
): Calibrated<Curve> | undefined {
  const slower = calibrated && slowerUnit(gpu, calibrated.gpu);
  if (calibrated === undefined || slower === undefined) return calibrated;
  const { curve } = calibrated;
  const tiles = curve.tiles.map(([m, n, share]) => [m, n, slower.share(share)] as const);
  return { ...calibrated, curve: { ...curve, tiles, depth: slower.depth(curve.depth, mostOf(curve)) } };
}

function attentionOn(
  gpu: GpuProfile,
  calibrated: Calibrated<AttentionCurve> | undefined,
): Calibrated<AttentionCurve> | undefined {
  const slower = calibrated && slowerUnit(gpu, calibrated.gpu);
  if (calibrated === undefined || slower === undefined) return calibrated;
  const { curve } = calibrated;
  const shares = curve.shares.map(([size, share]) => [size, slower.share(share)] as const);
  const most = Math.max(...curve.shares.map(([, share]) => share));
  return { ...calibrated, curve: { ...curve, shares, depth: slower.depth(curve.depth, most) } };
}

/** `forward`, `backward`: rates beside those of the curve. */
function slowed(
  calibrated: Calibrated<AttentionCurve> | undefined,
  { forward, backward }: { readonly forward: number; readonly backward: number },
): Calibrated<AttentionCurve> | undefined {
  if (calibrated === undefined) return undefined;
  const { curve } = calibrated;
  const of = (shares: AttentionCurve['shares'], factor: number): AttentionCurve['shares'] =>
    shares.map(([size, share]) => [size, share * factor] as const);
  const { backward: gradients, ...others } = curve;
  const slower = { ...others, shares: of(curve.shares, forward) };
  return {
    ...calibrated,
    curve:
      gradients === undefined
        ? { ...slower, gradients: backward / forward }
        : { ...slower, backward: { ...gradients, shares: of(gradients.shares, backward) } },
  };
}

/**
 * Kernels of matmuls and of convolutions share their inner loop, and what bounds it: on Kepler the registers' bandwidth
 * (Lai, Seznec, "Performance upper bound analysis and optimization of SGEMM on Fermi and Kepler GPUs", CGO 2013). Where
 * matmuls were measured on a nearer GPU than convolutions, those reach less or more of the peak by as much.
 */
function scaledByMatmul(
  matmul: Calibrated<MatmulCurve> | undefined,
  convolution: Calibrated<ConvolutionCurve> | undefined,
): Calibrated<ConvolutionCurve> | undefined {
  if (matmul === undefined || convolution?.nearness !== 'generation') return convolution;
  const there = file.matmuls.find(
    ({ gpu, unit, layout }) => gpu === convolution.gpu && unit === 'vector' && layout === 'nn',
  );
  if (matmul.nearness === 'generation' || there === undefined) return convolution;
  const scale = mostOf(matmul.curve) / mostOf(matmulCurveOf(there));
  const { curve } = convolution;
  return {
    ...convolution,
    curve: {
      ...curve,
      tiles: curve.tiles.map(([m, n, share]) => [m, n, share * scale] as const),
      winograd: curve.winograd?.map(([tile, share]) => [tile, share * scale] as const),
      fourier: curve.fourier === undefined ? undefined : curve.fourier * scale,
    },
  };
}

const mostOf = ({ tiles }: MatmulCurve): number => Math.max(...tiles.map(([, , share]) => share));

function find<Entry extends Fitted, Curve>(
  gpu: GpuProfile,
  entries: readonly Entry[],
  curveOf: (entry: Entry) => Curve,
): Calibrated<Curve> | undefined {
  const found = nearestCurve(gpu, entries);
  if (found === undefined) return undefined;
  const { entry, nearness, distance } = found;
  const ratio = rangeOf(nearness === 'measured' ? entry.spread : file.transfer[nearness]);
  return { curve: curveOf(entry), nearness, distance, gpu: entry.gpu, rows: entry.rows, ratio };
}

type FileMatmul = (typeof file.matmuls)[number];

interface Fitted {
  readonly gpu: string;
  readonly rows: number;
  readonly spread: readonly number[];
}

/** Sizes of tiles that kernels of cuBLAS, cuDNN and CUTLASS have, in both orientations. */
export const tileSizes = [
  [256, 128],
  [128, 128],
  [128, 64],
  [64, 64],
  [64, 32],
  [32, 32],
] as const;

/** A curve as its file has it: one share per size of tile. */
export interface MatmulEntry {
  readonly tiles: readonly number[];
  readonly memory: number;
  readonly depth: number;
  /** 1 where the library that was measured cuts no matmul. */
  readonly splits?: number;
}

export interface ConvolutionEntry extends MatmulEntry {
  /** Shares of F(2×2, 3×3) and F(4×4, 3×3). */
  readonly winograd: readonly number[] | null;
  readonly transforms: number;
  readonly fourier: number | null;
}

export interface AttentionEntry {
  /** One share per size of a head of `attentionSizes`; `null` where none of that size was measured. */
  readonly shares: readonly (number | null)[];
  readonly depth: number;
}

/** Elements of a head that kernels of FlashAttention exist for and that were measured. */
export const attentionSizes = [64, 96, 128, 192, 256] as const;

export interface RowEntry {
  readonly columns: readonly number[];
  readonly shares: readonly number[];
}

export const matmulCurveOf = ({ tiles, memory, depth, splits }: MatmulEntry): MatmulCurve => ({
  tiles: tileSizes.flatMap(([m, n], index) => {
    const share = tiles[index] ?? 1;
    return m === n ? [[m, n, share] as const] : [[m, n, share] as const, [n, m, share] as const];
  }),
  memory,
  depth,
  ...(splits === undefined ? {} : { splits }),
});

export const convolutionCurveOf = (entry: ConvolutionEntry): ConvolutionCurve => ({
  ...matmulCurveOf(entry),
  winograd: entry.winograd?.map((share, index) => [index === 0 ? 2 : 4, share] as const),
  transforms: entry.transforms,
  fourier: entry.fourier ?? undefined,
});

export const attentionCurveOf = ({ shares, depth }: AttentionEntry): AttentionCurve => ({
  shares: attentionSizes.map((size, index) => [size, nearestShare(shares, index)] as const),
  depth,
});

/** Of this size of a head, or of the measured one nearest in the list. */
function nearestShare(shares: AttentionEntry['shares'], index: number): number {
  for (let distance = 0; distance < shares.length; distance += 1) {
    const share = shares[index + distance] ?? shares[index - distance];
    if (share !== undefined && share !== null) return share;
  }
  return 1;
}

export const rowCurveOf = ({ columns, shares }: RowEntry): RowCurve => ({
  shares: shares.map((share, index) => [columns[index] ?? 1, share] as const),
});
