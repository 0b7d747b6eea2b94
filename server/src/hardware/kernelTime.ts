/**
 * Time of a kernel on a GPU.
 *
 * Products and convolutions of known shape, element-wise kernels and kernels over rows follow curves that were fitted
 * to measurements (`curves.ts`, `kernels/`). The rest is a roofline with the share of each roof that its class reaches:
 *
 *   t = max(FLOPs / (peak · e), operations / (vector peak · e), bytes / (bandwidth · e)) + launches · t_launch
 *
 * after Williams, Waterman, Patterson, "Roofline" (CACM 52(4), 2009); the shares e and the launch time are data
 * with their sources (`efficiency.json`). Every time carries the low and high bound that the spread of its curve on
 * rows it has not seen gives, or the measured spread of its class.
 */

import {
  type Bytes,
  type Flops,
  type FlopsPerSecond,
  flopsPerSecond,
  type Seconds,
  seconds,
} from '../model/units.ts';
import type {
  ConvolutionPass,
  ConvolutionShape,
  KernelClass,
  ProductShape,
  RepeatedProduct,
} from '../operators/definition.ts';
import type { GpuProfile, Numeric } from './clusterProfile.ts';
import {
  type Correction,
  findCorrection,
  type KernelEnvironment,
  type SustainedProducts,
  sustainedProducts,
} from './corrections.ts';
import { type Calibrated, curvesOf, type RowKind } from './curves.ts';
import efficiency from './efficiency.json';
import { findGpu } from './gpus.ts';
import { kernelKind } from './kernelKind.ts';
import {
  convolutionBytes,
  convolutionTime,
  savedByTransforms,
  type Transposed,
} from './kernels/convolutionTime.ts';
import { type BoundTime, operandBytes, productTime, type Rates } from './kernels/productTime.ts';
import { rowTime } from './kernels/rowTime.ts';
import type { Nearness } from './nearestCurve.ts';

/** What is to be done, by one or several launches of one class of kernel. */
export interface KernelWork {
  readonly class: KernelClass;
  /** Number type of the products. */
  readonly numeric: Numeric;
  readonly flops: Flops;
  readonly operations: number;
  readonly bytes: Bytes;
  readonly launches: number;
  /** The products that `flops` are made of, where their shapes are known. */
  readonly products?: readonly RepeatedProduct[];
  /** Bytes per element of the operands of `products`. */
  readonly width?: number;
  readonly rowLength?: number;
  /** Sums over all rows of a matrix, by thread blocks that each take some columns through all rows. */
  readonly columnSums?: ColumnSums;
  /** Sums over all images, by a thread block for each channel. */
  readonly channelSums?: ChannelSums;
  /** Where the products are those of an older library than the GPU was measured with. */
  readonly library?: 'cuda-8';
  /** Absent where nothing is known of the step around it. */
  readonly environment?: KernelEnvironment;
}

export interface ColumnSums {
  readonly blocks: number;
  /** Of each of the matrices read. */
  readonly elements: number;
}

/** What each block of a batch normalization loads before and after its channel's sums are known. */
export interface ChannelSums {
  readonly pass: 'forward' | 'backward';
  readonly channels: number;
  /** Elements that one block loads. */
  readonly loads: number;
}

/** Where a time comes from: a curve and how near it was measured, or assumed shares of a roofline. */
export type TimeBasis = Nearness | 'roofline';

export interface KernelTime {
  readonly time: Seconds;
  readonly low: Seconds;
  readonly high: Seconds;
  readonly bound: 'compute' | 'memory' | 'launch' | 'none';
  readonly basis: TimeBasis;
  /** The measurements it follows; absent for a roofline. */
  readonly origin: TimeOrigin | undefined;
}

/** A curve of kernels by themselves, or what whole steps of models show. */
export type TimeOrigin = Pick<Calibrated<unknown>, 'gpu' | 'rows'> | Pick<Correction, 'gpu' | 'models'>;

/** How a GPU multiplies numbers of a type: on which unit, at what peak, and as which type where it lacks the type. */
export interface ComputePath {
  readonly requested: Numeric;
  readonly actual: Numeric;
  readonly unit: 'vector' | 'tensor';
  readonly peak: FlopsPerSecond;
}

/**
 * What a GPU does when asked for a number type: its tensor cores where they have it, else the next wider type.
 * Half-precision products without tensor cores run at the fp32 rate, because libraries accumulate in fp32
 * (cuBLAS `CUBLAS_COMPUTE_32F`); bf16 falls to fp32, fp8 to bf16, tf32 to fp32.
 */
export function computePath(gpu: GpuProfile, requested: Numeric): ComputePath {
  let actual = requested;
  while (actual !== 'fp32') {
    const peak = gpu.peak.get(actual);
    if (peak !== undefined && gpu.tensorCores.has(actual)) {
      return { requested, actual, unit: 'tensor', peak: sustained(gpu, peak.value) };
    }
    actual = wider[actual];
  }
  const { matrixFp32 } = gpu;
  return matrixFp32 === undefined
    ? { requested, actual, unit: 'vector', peak: sustained(gpu, vectorPeak(gpu)) }
    : { requested, actual, unit: 'tensor', peak: sustained(gpu, matrixFp32.value) };
}

/** Zero for work that launches nothing. */
export function kernelTime(gpu: GpuProfile, work: KernelWork): KernelTime {
  if (work.launches === 0 && work.flops === 0 && work.bytes === 0) return noTime;
  const body = corrected(gpu, work, bodyTime(gpu, work));
  const launches = work.class === 'recurrent' ? recurrentLaunchTimes : launchTimes;
  const launch = launches[0] * work.launches;
  return {
    time: seconds(body.time + launch),
    low: seconds(body.low + launches[1] * work.launches),
    high: seconds(body.high + launches[2] * work.launches),
    bound: launch > body.time ? 'launch' : body.bound,
    basis: body.basis,
    origin: body.origin,
  };
}

/** Without launches, and as if the kernel ran by itself: what corrections are fitted to. */
export const uncorrectedTime = (gpu: GpuProfile, work: KernelWork): Seconds =>
  seconds(bodyTime(gpu, work).time);

/** Products of tensors without elements have no tiles to be timed by; what moves beside them still takes its time. */
const bodyTime = (gpu: GpuProfile, work: KernelWork): BodyTime => {
  const body =
    (work.flops === 0 ? undefined : productsTime(gpu, work)) ??
    rowsTime(gpu, work) ??
    rooflineTime(gpu, work);
  return atLeastChannelSums(gpu, work, atLeastSums(gpu, work, body));
};

/**
 * Few blocks leave most multiprocessors idle, and each of the others loads no faster than its threads wait: what bounds sums
 * of columns is the rows, however many columns there are. AMD's kernels share the rows out.
 */
function atLeastSums(gpu: GpuProfile, { columnSums }: KernelWork, body: BodyTime): BodyTime {
  const { clock, vendor, multiprocessors } = gpu;
  if (columnSums === undefined || clock === undefined || vendor !== 'NVIDIA') return body;
  const { blocks, elements } = columnSums;
  const cycles = elements / Math.min(blocks, multiprocessors.value);
  const at = (index: 0 | 1 | 2): number => cycles / clock.value / columnSumLoads[index];
  if (at(0) <= body.time) return body;
  return { ...body, time: at(0), low: at(2), high: Math.max(at(1), body.high), bound: 'compute' };
}

/**
 * A block that has a channel to itself waits for what its threads loaded before it loads more, and moves no byte meanwhile:
 * of few channels, most of the time is waiting, on a GPU of any bandwidth. Three blocks of 512 threads with 40 registers
 * each are on a multiprocessor at once.
 */
function atLeastChannelSums(gpu: GpuProfile, { channelSums, bytes }: KernelWork, body: BodyTime): BodyTime {
  const { clock, vendor, multiprocessors, memoryBandwidth } = gpu;
  if (channelSums === undefined || clock === undefined || vendor !== 'NVIDIA') return body;
  const { pass, channels, loads } = channelSums;
  const rounds = Math.ceil(channels / (3 * multiprocessors.value));
  const moved = bytes / memoryBandwidth.value;
  const at = (index: 0 | 1 | 2): number => moved + (rounds * loads) / clock.value / channelLoads[pass][index];
  if (at(0) <= body.time) return body;
  return { ...body, time: at(0), low: at(2), high: Math.max(at(1), body.high), bound: 'compute' };
}

/**
 * The time as whole training steps show it, where they were measured on a GPU no less alike than that of the curve: one
 * kernel by itself does not show what its neighbours leave in the caches, or which kernel a library takes.
 */
function corrected(gpu: GpuProfile, work: KernelWork, body: BodyTime): BodyTime {
  const environment = work.environment && environmentOf(gpu, work, work.environment);
  if (environment === undefined) return body;
  const kind = kernelKind(work);
  const correction = findCorrection(gpu, environment);
  if (correction === undefined || correction.distance > body.distance) {
    const products = kind === 'product' ? sustainedOn(gpu, work) : undefined;
    return products === undefined ? body : { ...stretched(gpu, work, body, products), origin: products };
  }
  const factor = correction.factors.get(kind);
  if (factor === undefined) return body;
  return {
    ...stretched(gpu, work, body, { factor, spread: correction.spread }),
    basis: correction.nearness,
    distance: correction.distance,
    origin: correction,
  };
}

function stretched(
  gpu: GpuProfile,
  work: KernelWork,
  body: BodyTime,
  { factor, spread: [low, high] }: Pick<SustainedProducts, 'factor' | 'spread'>,
): BodyTime {
  const least = leastTime(gpu, work);
  const time = Math.max(body.time * factor, least);
  return { ...body, time, low: Math.max(least, time * Math.min(1, low)), high: time * Math.max(1, high) };
}

/**
 * Where a GPU multiplies without a pause it reaches its limit of power and lowers its clock, and what travels beside a
 * product takes from it: one product by itself shows neither.
 */
function sustainedOn(gpu: GpuProfile, { numeric }: KernelWork): SustainedProducts | undefined {
  const { unit } = computePath(gpu, numeric);
  const curve = unit === 'tensor' ? curvesOf(gpu).product.tensor : undefined;
  return curve && sustainedProducts(curve.gpu);
}

/**
 * What no kernel can be faster than: everything multiplied at the peak, everything moved once at the bandwidth. Winograd's
 * F(4×4, 3×3) multiplies a quarter as often (Lavin, Gray, arXiv 1509.09308, section 4.1), Fourier transforms less. Batch normalization is charged
 * with three tensors forward and five backward, of which a persistent kernel moves two and three.
 */
export function leastTime(gpu: GpuProfile, work: KernelWork): Seconds {
  const nominal = computePath(gpu, work.numeric).peak / gpu.sustainedCompute.value;
  let saved = 1;
  for (const { shape } of work.products ?? []) {
    if (shape.kind === 'convolution') saved = Math.max(saved, savedByTransforms(shape));
  }
  const moved = work.class === 'normalization' && work.rowLength === undefined ? 3 / 5 : 1;
  return seconds(Math.max(work.flops / nominal / saved, (work.bytes * moved) / gpu.memoryBandwidth.value));
}

/**
 * TF32 convolutions run on the kernels of half precision at half their rate (cuDNN 8 release notes: the same
 * implicit-GEMM engines), so what steps in mixed precision show of them holds.
 */
function environmentOf(
  gpu: GpuProfile,
  { class: kernelClass, numeric, flops: products }: KernelWork,
  environment: KernelEnvironment,
): KernelEnvironment {
  if (environment.mixed || numeric !== 'tf32' || kernelClass !== 'convolution' || products === 0) {
    return environment;
  }
  return computePath(gpu, numeric).actual === 'tf32' ? { ...environment, mixed: true } : environment;
}

interface BodyTime {
  readonly time: number;
  readonly low: number;
  readonly high: number;
  readonly bound: 'compute' | 'memory' | 'none';
  readonly basis: TimeBasis;
  /** How unlike the GPU is that the basis was measured on. */
  readonly distance: number;
  readonly origin: TimeOrigin | undefined;
}

/** Products of known shape, one after the other, and what is moved beside them; `undefined` without a curve. */
function productsTime(gpu: GpuProfile, work: KernelWork): BodyTime | undefined {
  const { products, width } = work;
  if (products === undefined || width === undefined) return undefined;
  const parts: BodyTime[] = [];
  let moved = 0;
  for (const { shape, count } of products) {
    const part = timeOfProduct(gpu, work, shape, width);
    if (part === undefined) return undefined;
    parts.push(scaled(part.time, count));
    moved += count * part.bytes;
  }
  const rest = work.bytes - moved;
  if (rest > 0) {
    const { elementwise } = curvesOf(gpu).row;
    if (elementwise === undefined) return undefined;
    const time = rowTime(gpu.memoryBandwidth.value, elementwise.curve, rest, undefined);
    parts.push(spreadOver({ time, bound: 'memory' }, elementwise));
  }
  return joined(parts);
}

/**
 * Tensor cores take channels last: around a convolution of channels-first tensors cuDNN changes the layout of what goes
 * in and of what comes out (NVIDIA, "Convolutional layers user's guide", DU-09794-001, section 2.3, "Tensor layout"). Some
 * kernels write channels first: those for Volta and Turing (`volta_fp16_s884cudnn_fp16_256x128_ldg8_relu_f2f_exp_small_nhwc2nchw_tn`),
 * later those for forward in TF32 (`sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw`) but not those for
 * gradients or in half precision (`…_nhwckrsc_nhwc`).
 */
export function transposedAround(
  gpu: GpuProfile,
  { unit, actual }: ComputePath,
  pass: ConvolutionPass,
): Transposed | undefined {
  if (unit !== 'tensor') return undefined;
  const isEarly = gpu.architecture === 'volta' || gpu.architecture === 'turing';
  return isEarly || (actual === 'tf32' && pass === 'forward') ? 'read' : 'all';
}

function timeOfProduct(
  gpu: GpuProfile,
  { numeric, library, environment }: KernelWork,
  shape: ProductShape | ConvolutionShape,
  width: number,
): { readonly time: BodyTime; readonly bytes: number } | undefined {
  const curves = curvesOf(gpu);
  const path = computePath(gpu, numeric);
  // Curves are shares of the nominal peak: what a power limit takes away where they were measured is in them.
  const ratesBy = ({ gpu: source }: Calibrated<unknown>): Rates => ({
    multiprocessors: gpu.multiprocessors.value,
    peak: path.peak / (source === gpu.name ? gpu : (findGpu(source) ?? gpu)).sustainedCompute.value,
    bandwidth: gpu.memoryBandwidth.value,
  });
  if (shape.kind === 'product') {
    const isOld = library === 'cuda-8' && path.unit === 'vector';
    const curve = isOld ? curves.cuda8Product : curves.product[path.unit];
    const bytes = operandBytes(shape, width);
    return (
      curve && { time: spreadOver(productTime(ratesBy(curve), curve.curve, shape, bytes), curve), bytes }
    );
  }
  const depthwise = shape.groups > 1 && shape.groups === shape.channels;
  const curve = depthwise ? undefined : curves.convolution[path.unit][shape.pass];
  const transposed =
    environment?.layout === 'channels-first' ? transposedAround(gpu, path, shape.pass) : undefined;
  const time = curve && convolutionTime(ratesBy(curve), curve.curve, shape, width, transposed);
  return time && { time: spreadOver(time, curve), bytes: convolutionBytes(shape, width) };
}

/** Kernels that memory bounds, by the curve of their kind; `undefined` without one. */
function rowsTime(gpu: GpuProfile, work: KernelWork): BodyTime | undefined {
  const kind = rowKindOf(work);
  const curve = kind && curvesOf(gpu).row[kind];
  if (curve === undefined) return undefined;
  const memory = rowTime(gpu.memoryBandwidth.value, curve.curve, work.bytes, work.rowLength);
  const compute = work.operations / sustained(gpu, vectorPeak(gpu)) / elementwiseCompute[0];
  return compute > memory ? undefined : spreadOver({ time: memory, bound: 'memory' }, curve);
}

function rowKindOf({ class: kernelClass, flops: products, rowLength }: KernelWork): RowKind | undefined {
  if (products > 0) return undefined;
  if (kernelClass === 'elementwise') return 'elementwise';
  if (rowLength === undefined) return undefined;
  if (kernelClass === 'reduction') return 'softmax';
  return kernelClass === 'normalization' ? 'normalization' : undefined;
}

function rooflineTime(gpu: GpuProfile, work: KernelWork): BodyTime {
  const path = computePath(gpu, work.numeric);
  const shares = sharesOf(work.class, gpu);
  const compute = path.unit === 'tensor' ? shares.tensor : shares.vector;
  const computeTime = work.flops / path.peak;
  const operationTime = work.operations / sustained(gpu, vectorPeak(gpu));
  const memoryTime = work.bytes / gpu.memoryBandwidth.value;
  const at = (index: 0 | 1 | 2) =>
    Math.max(
      computeTime / compute[index],
      operationTime / elementwiseCompute[index],
      memoryTime / shares.memory[index],
    );
  const time = at(0);
  return {
    time,
    low: at(2),
    high: at(1),
    bound: time === 0 ? 'none' : time === memoryTime / shares.memory[0] ? 'memory' : 'compute',
    basis: 'roofline',
    distance: Number.POSITIVE_INFINITY,
    origin: undefined,
  };
}

const spreadOver = ({ time, bound }: BoundTime, calibrated: Calibrated<unknown>): BodyTime => ({
  time,
  low: time * Math.min(1, calibrated.spread[0]),
  high: time * Math.max(1, calibrated.spread[1]),
  bound,
  basis: calibrated.nearness,
  distance: calibrated.distance,
  origin: calibrated,
});

const scaled = (part: BodyTime, count: number): BodyTime => ({
  ...part,
  time: part.time * count,
  low: part.low * count,
  high: part.high * count,
});

/**
 * One after the other. The bound is that of the longest; basis and origin are those of the part that is least known, which
 * more bandwidth does not change: what is corrected may not hang on which part is longer.
 */
function joined(parts: readonly BodyTime[]): BodyTime | undefined {
  const [first] = parts;
  if (first === undefined) return undefined;
  let longest = first;
  let farthest = first;
  let [time, low, high] = [0, 0, 0];
  for (const part of parts) {
    if (part.time > longest.time) longest = part;
    if (part.distance > farthest.distance) farthest = part;
    time += part.time;
    low += part.low;
    high += part.high;
  }
  const { basis, distance, origin } = farthest;
  return { time, low, high, bound: longest.bound, basis, distance, origin };
}

/** FLOP per byte at which a GPU's compute roof meets its memory roof, for products of this type. */
export function ridge(gpu: GpuProfile, numeric: Numeric): number {
  return computePath(gpu, numeric).peak / gpu.memoryBandwidth.value;
}

/** [middle, low, high]. */
type Shares = readonly [number, number, number];

interface ClassShares {
  readonly vector: Shares;
  readonly tensor: Shares;
  readonly memory: Shares;
}

const noTime: KernelTime = {
  time: seconds(0),
  low: seconds(0),
  high: seconds(0),
  bound: 'none',
  basis: 'measured',
  origin: undefined,
};

const wider: Readonly<Record<Exclude<Numeric, 'fp32'>, Numeric>> = {
  fp8: 'bf16',
  bf16: 'fp32',
  fp16: 'fp32',
  tf32: 'fp32',
};

function vectorPeak(gpu: GpuProfile): FlopsPerSecond {
  return gpu.peak.get('fp32')?.value ?? flopsPerSecond(0);
}

const sustained = (gpu: GpuProfile, peak: FlopsPerSecond): FlopsPerSecond =>
  flopsPerSecond(peak * gpu.sustainedCompute.value);

const triple = (share: readonly number[]): Shares => [share[0] ?? 1, share[1] ?? 1, share[2] ?? 1];

const elementwiseCompute = triple(efficiency.elementwiseCompute.share);

const columnSumLoads = triple(efficiency.columnSums.elementsPerCycle);

const channelLoads = {
  forward: triple(efficiency.channelSums.forward),
  backward: triple(efficiency.channelSums.backward),
};

const launchTimes = triple(efficiency.launch.microseconds.map((value) => value * 1e-6));

/** What the GPU needs for a kernel that does nothing: no batch makes it longer. */
export const emptyKernelTime = seconds(launchTimes[0]);

const recurrentLaunchTimes = triple(efficiency.recurrentLaunch.microseconds.map((value) => value * 1e-6));

const classShares: ReadonlyMap<string, ClassShares> = new Map(
  Object.entries(efficiency.classes).map(([name, entry]) => [
    name,
    {
      vector: 'vector' in entry ? triple(entry.vector.share) : elementwiseCompute,
      tensor: 'tensor' in entry ? triple(entry.tensor.share) : elementwiseCompute,
      memory: triple(entry.memory.share),
    },
  ]),
);

/** Views and shape arithmetic launch nothing; what they are charged with is treated as movement. */
const otherShares: ClassShares = classShares.get('movement') ?? {
  vector: elementwiseCompute,
  tensor: elementwiseCompute,
  memory: [1, 1, 1],
};

/** Fused attention is written for the tensor cores of one architecture; others reach less of their peak with it. */
const attentionShares: ReadonlyMap<string, Shares> = new Map(
  Object.entries(efficiency.fusedAttention).map(([name, { share }]) => [name, triple(share)]),
);

function sharesOf(kernelClass: KernelClass, gpu: GpuProfile): ClassShares {
  const shares = classShares.get(kernelClass) ?? otherShares;
  const tensor = kernelClass === 'attention' ? attentionShares.get(gpu.architecture) : undefined;
  return tensor === undefined ? shares : { ...shares, tensor };
}
