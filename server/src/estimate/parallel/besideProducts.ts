/**
 * Collectives of tensor parallelism that run beside the products of a worker, as far as these hide them.
 *
 * In pieces: a product of n pieces computes one while the next is copied, so that copies wait for no more than
 * max(0, t − P·(n − 1)/n), of a collective of t and a product of P in pieces. Where a piece can be sent only when it was computed, the
 * last one waits. Pieces are kernels of fewer rows, which take more together than the whole. Whole: t waits for what
 * is longer than the product beside it. Copies take multiprocessors from products while they run; collectives of NCCL slow them as
 * those of gradients do.
 *
 * Source of the pipeline: NVIDIA/TransformerEngine fecb10bd, transformer_engine/common/comm_gemm_overlap, `split_overlap_ag` and
 * `split_overlap_rs`; PyTorch 2.13, torch/distributed/_symmetric_memory.
 */

import { kernelSlowdown } from '../../communication/kernelSlowdown.ts';
import type { LoweredGraph, LoweredOperator } from '../../frameworks/behaviour.ts';
import type { BesideBackward, PieceByPiece, TensorOverlap } from '../../frameworks/layoutRules.ts';
import type { GpuProfile } from '../../hardware/clusterProfile.ts';
import { operandBytes } from '../../hardware/kernels/gemmTime.ts';
import { kernelTime } from '../../hardware/kernelTime.ts';
import type { KernelWork } from '../../hardware/kernelWork.ts';
import { entryAt } from '../../model/at.ts';
import type { Bound } from '../../model/estimate.ts';
import { bytes, flops, seconds } from '../../model/units.ts';
import type { StepPlan } from '../plan/stepPlan.ts';
import type { TimedCollective } from './collectiveTimes.ts';

/** `ways`: GPUs that share each layer. Collectives without a product beside them are given as they are. */
export function besideProducts(
  collectives: readonly TimedCollective[],
  { lowered, training }: Pick<StepPlan, 'lowered' | 'training'>,
  gpu: GpuProfile,
  ways: number,
  overlap: TensorOverlap,
): readonly TimedCollective[] {
  const scattering = new Set(
    collectives.flatMap(({ axis, pass, collective, operator }) =>
      axis === 'tensor' && pass === 'forward' && collective === 'reduce-scatter' ? [operator] : [],
    ),
  );
  const timer = new ProductTimer(gpu, lowered);
  return collectives.map((own) => {
    if (own.axis !== 'tensor') return own;
    const products = productsBeside(own, training, lowered, scattering);
    if (products.length === 0) return own;
    const way = wayOf(own, products, overlap, scattering);
    if (way === undefined) return own;
    const time =
      way.kind === 'bulk'
        ? timer.beside(products, way.part, way.taken)
        : timer.inPieces(products, way.part, way.pieces, ways, own.bytes);
    return {
      ...own,
      time: seconds(time(own.time, 'middle')),
      low: seconds(time(own.low, 'low')),
      high: seconds(time(own.high, 'high')),
      description: `${own.description}, ${way.kind === 'bulk' ? 'beside' : 'in pieces beside'} products`,
    };
  });
}

/** Seconds that a collective of so many adds to a step. */
type AddedTime = (time: number, bound: Bound) => number;

type Part = 'forward' | 'backwardData' | 'backwardWeight';

type Way =
  | { readonly kind: 'bulk'; readonly part: Part; readonly taken: BesideBackward }
  | { readonly kind: 'pieces'; readonly part: Part; readonly pieces: PieceByPiece };

/** Which product hides a collective; `undefined` where it waits. */
function wayOf(
  { pass, collective, operator }: TimedCollective,
  products: readonly number[],
  { gathered, scattered, bulk }: TensorOverlap,
  scattering: ReadonlySet<number>,
): Way | undefined {
  const inPieces = (part: Part, pieces: PieceByPiece | undefined): Way | undefined =>
    pieces && { kind: 'pieces', part, pieces };
  const whole = (part: Part): Way | undefined =>
    bulk === undefined ? undefined : { kind: 'bulk', part, taken: bulk };
  if (collective === 'all-gather') {
    if (pass === 'forward') return inPieces('forward', gathered);
    // The gradient of what was scattered; else what the product read, for the gradient of its weight.
    return scattering.has(operator) ? inPieces('backwardData', gathered) : whole('backwardData');
  }
  if (collective === 'all-reduce') return pass === 'backward' ? whole('backwardWeight') : undefined;
  if (collective !== 'reduce-scatter') return undefined;
  if (pass === 'forward') return inPieces('forward', scattered);
  return whole('backwardWeight') ?? (products.length === 1 ? inPieces('backwardData', scattered) : undefined);
}

/** The products that read what the operator of a collective reads; it alone where the collective is of what it gives. */
function productsBeside(
  { operator, pass, collective }: TimedCollective,
  { analysis: { graph } }: StepPlan['training'],
  lowered: LoweredGraph,
  scattering: ReadonlySet<number>,
): readonly number[] {
  const isOfOutput =
    (pass === 'forward' && collective === 'reduce-scatter') ||
    (pass === 'backward' && collective === 'all-gather' && scattering.has(operator));
  const read = graph.operators[operator]?.inputs.find(
    (name) => graph.values.get(name)?.role === 'activation',
  );
  const readers =
    isOfOutput || read === undefined ? [operator] : (graph.values.get(read)?.consumers ?? [operator]);
  return readers.filter((index) => lowered.operators[index]?.forward.some(isProduct));
}

const isProduct = (kernel: KernelWork): boolean => kernel.class === 'matmul' && kernel.matmuls !== undefined;

/** Each kernel of a worker is timed once. */
class ProductTimer {
  private readonly times = new Map<KernelWork, number>();
  private readonly pieces = new Map<string, KernelWork>();

  constructor(
    private readonly gpu: GpuProfile,
    private readonly lowered: LoweredGraph,
  ) {}

  /** Seconds that a whole collective of `time` seconds adds to a step. */
  beside(products: readonly number[], part: Part, taken: BesideBackward): AddedTime {
    const hiding = this.sum(this.kernelsOf(products, part));
    return (time, bound) => {
      const lost = taken === 'nccl' ? kernelSlowdown[bound] : this.shareOf(taken);
      return withLost(time, Math.max(0, time - hiding), lost);
    };
  }

  /** The same in pieces. `size`: bytes of the whole tensor. */
  inPieces(
    products: readonly number[],
    part: Part,
    { pieces: asked, multiprocessors, sums }: PieceByPiece,
    ways: number,
    size: number,
  ): AddedTime {
    const pieces = asked ?? ways;
    const kernels = this.kernelsOf(products, part);
    const whole = this.sum(kernels);
    const cut = pieces * this.sum(kernels.map((kernel) => this.pieceOf(kernel, pieces)));
    const slower = Math.max(0, cut - whole);
    const added = sums === true ? (size * (1 + 1 / ways)) / this.gpu.memoryBandwidth.value : 0;
    const lost = this.shareOf(multiprocessors);
    // Of as many pieces as GPUs one stays where it is.
    const last = asked === undefined ? 0 : 1 / pieces;
    return (time) => {
      const waits = Math.max(0, time * (1 - last) - (cut * (pieces - 1)) / pieces) + time * last;
      return withLost(time, waits, lost) + slower + added;
    };
  }

  private kernelsOf(products: readonly number[], part: Part): readonly KernelWork[] {
    return products.flatMap((index) => this.operator(index)?.[part].filter(isProduct) ?? []);
  }

  private operator(index: number): LoweredOperator | undefined {
    return this.lowered.operators[index];
  }

  private sum(kernels: readonly KernelWork[]): number {
    return kernels.reduce((total, kernel) => total + this.timeOf(kernel), 0);
  }

  private timeOf(kernel: KernelWork): number {
    if (!this.times.has(kernel)) this.times.set(kernel, kernelTime(this.gpu, kernel).time);
    return entryAt(this.times, kernel);
  }

  /** A product of the first rows. */
  private pieceOf(kernel: KernelWork, pieces: number): KernelWork {
    const matmuls = (kernel.matmuls ?? []).map((each) =>
      each.shape.kind === 'matmul' ? { ...each, shape: { ...each.shape, m: each.shape.m / pieces } } : each,
    );
    const width = kernel.bytesPerElement ?? 2;
    const moved = matmuls.reduce(
      (total, { shape, count }) =>
        total + (shape.kind === 'matmul' ? count * operandBytes(shape, width) : kernel.bytes / pieces),
      0,
    );
    const key = JSON.stringify([matmuls, kernel.dtype, width]);
    const before = this.pieces.get(key);
    if (before !== undefined) return before;
    const piece = { ...kernel, flops: flops(kernel.flops / pieces), bytes: bytes(moved), matmuls };
    this.pieces.set(key, piece);
    return piece;
  }

  private shareOf(multiprocessors: number): number {
    return Math.min(1, multiprocessors / this.gpu.multiprocessors.value);
  }
}

/** `waits`: of a collective of `time`, for which nothing computes; beside the rest products lose a share of the GPU. */
const withLost = (time: number, waits: number, share: number): number => waits + share * (time - waits);
