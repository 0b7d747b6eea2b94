/** Time of a kernel that multiplies, by the curves of its matmuls and convolutions. */

import type {
  AttentionShape,
  ConvolutionPass,
  ConvolutionShape,
  MatmulShape,
} from '../../operators/definition.ts';
import { attentionBackward, attentionDropout, tf32Across } from '../assumedShares.ts';
import type { GpuProfile } from '../clusterProfile.ts';
import { type ComputePath, computePath } from '../computePath.ts';
import { type Calibrated, curveLayoutOf, curvesOf, type MaskedAttention } from '../curves.ts';
import { fp32MatmulShare } from '../fp32Matmuls.ts';
import { findGpu } from '../gpus.ts';
import type { AttentionKernel } from '../kernelEnvironment.ts';
import type { KernelWork } from '../kernelWork.ts';
import { attentionTime } from './attentionTime.ts';
import { type BodyTime, joined, ofCycles, scaled, spreadOver } from './bodyTime.ts';
import { convolutionBytes, convolutionTime, type Transposed } from './convolutionTime.ts';
import { countedConvolutionTime } from './countedConvolution.ts';
import { gemmTime, operandBytes, type Rates } from './gemmTime.ts';
import { leastGain, paddedShape } from './paddedMatmul.ts';
import { rowCurveTime } from './rowCurveTime.ts';
import { curveForRows } from './unalignedMatmul.ts';

/** Matmuls of known shape, one after the other, and what is moved beside them; `undefined` without a curve. */
export function matrixKernelTime(gpu: GpuProfile, work: KernelWork): BodyTime | undefined {
  const { matmuls, bytesPerElement } = work;
  if (work.attention !== undefined) return timeOfAttention(gpu, work, work.attention);
  if (matmuls === undefined || bytesPerElement === undefined) return undefined;
  const parts: BodyTime[] = [];
  let moved = 0;
  for (const { shape, count } of matmuls) {
    const part = timeOfMatmul(gpu, work, shape, bytesPerElement);
    if (part === undefined) return undefined;
    parts.push(scaled(part.time, count));
    moved += count * part.bytes;
  }
  const rest = work.bytes - moved;
  if (rest > 0) {
    const { elementwise } = curvesOf(gpu).row;
    if (elementwise === undefined) return undefined;
    const time = rowCurveTime(gpu.memoryBandwidth.value, elementwise.curve, rest, undefined);
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
  return isEarly(gpu) || (actual === 'tf32' && pass === 'forward') ? 'read' : 'all';
}

const isEarly = ({ architecture }: GpuProfile): boolean =>
  architecture === 'volta' || architecture === 'turing';

/**
 * A filter of one element that takes every position is a matmul of channels for each image as it lies, without any change of
 * layout. It needs rows of an even number of elements (H200, PyTorch 2.11, cuDNN 9.19: 56 × 56 and 28 × 28 by
 * `nvjet_sm90_…`, 14 × 14 by `cutlass_80_…_align2`, 7 × 7 by way of channels last).
 */
export const isMatmulOfChannels = (
  gpu: GpuProfile,
  { unit, actual }: ComputePath,
  { kernelElements, positions, spatialSize, groups }: ConvolutionShape,
): boolean =>
  unit === 'tensor' &&
  (actual === 'fp16' || actual === 'bf16' || actual === 'tf32') &&
  !isEarly(gpu) &&
  groups === 1 &&
  kernelElements === 1 &&
  positions === spatialSize &&
  positions % 2 === 0;

/** What a matmul of channels for each image is, in the sizes of a matmul. */
function matmulOfChannels({ pass, images, channels, filters, positions }: ConvolutionShape): MatmulShape {
  const sizes = { kind: 'matmul', batch: images } as const;
  if (pass === 'forward') return { ...sizes, layout: 'nn', m: filters, n: positions, k: channels };
  if (pass === 'data') return { ...sizes, layout: 'nt', m: channels, n: positions, k: filters };
  return { ...sizes, layout: 'tn', m: filters, n: channels, k: positions };
}

/** Rows of whole 16 bytes in fp32; others have kernels of their own (`unalignedMatmul.ts`). */
const hasWholeVectors = ({ m, n, k }: MatmulShape): boolean => [m, n, k].every((side) => side % 4 === 0);

/** Fewer were not measured: a kernel takes blocks of more, and several of them at once. */
const fewestQueries = 64;

/** In half precision on tensor cores; fp32 has other kernels, of which none was measured. */
function timeOfAttention(gpu: GpuProfile, work: KernelWork, shape: AttentionShape): BodyTime | undefined {
  const { actual, unit } = computePath(gpu, work.dtype);
  const kernel = attentionKernel(work.environment?.attention ?? 'newest', shape);
  const curve = curvesOf(gpu).attention[kernel];
  const isHalf = unit === 'tensor' && (actual === 'fp16' || actual === 'bf16');
  if (curve === undefined || !isHalf || shape.queries < fewestQueries) return undefined;
  const body = spreadOver(
    attentionTime(
      ratesBy(gpu, computePath(gpu, work.dtype), curve),
      curve.curve,
      withoutWindow.has(kernel) ? { ...shape, window: shape.keys } : shape,
      work.bytes,
      shape.dropped === true && gpu.clock !== undefined ? attentionDropout[shape.pass] / gpu.clock.value : 0,
    ),
    curve,
  );
  if (shape.pass === 'forward') return body;
  const { middle, low, high } = attentionBackward.share;
  return { ...body, low: (body.low * middle) / high, high: (body.high * middle) / low };
}

/** FlashAttention has windows from 2.3 on; kernels that are given a mask walk through all keys. */
const withoutWindow: ReadonlySet<AttentionKernel | MaskedAttention> = new Set([
  'flash-attention-1',
  'triton',
  'memory-efficient',
  'newest-masked',
]);

function attentionKernel(
  asked: AttentionKernel,
  { mask }: AttentionShape,
): AttentionKernel | MaskedAttention {
  if (mask === undefined) return asked;
  return asked === 'newest' && !mask.trained ? 'newest-masked' : 'memory-efficient';
}

/**
 * Curves are shares of the nominal peak: what a power limit takes away where they were measured is in them, and what lanes of
 * fp32 do not reach.
 */
function ratesBy(gpu: GpuProfile, path: ComputePath, { gpu: source }: Calibrated<unknown>): Rates {
  const measured = source === gpu.name ? gpu : (findGpu(source) ?? gpu);
  const lanes = path.unit === 'vector' ? fp32MatmulShare(gpu) / fp32MatmulShare(measured) : 1;
  return {
    multiprocessors: gpu.multiprocessors.value,
    peak: (path.peak * lanes) / measured.sustainedCompute.value,
    bandwidth: gpu.memoryBandwidth.value,
  };
}

/** As it is, or padded where a compiler takes it so. */
function timeOfMatmul(
  gpu: GpuProfile,
  work: KernelWork,
  shape: MatmulShape | ConvolutionShape,
  bytesPerElement: number,
): TimedMatmul | undefined {
  const asGiven = timeAsGiven(gpu, work, shape, bytesPerElement);
  if (asGiven === undefined || shape.kind !== 'matmul' || work.environment?.padsMatmuls !== true)
    return asGiven;
  const padded = paddedShape(gpu, computePath(gpu, work.dtype), shape, bytesPerElement);
  const part = padded && timeAsGiven(gpu, work, padded, bytesPerElement);
  return part === undefined || part.time.time * leastGain >= asGiven.time.time
    ? asGiven
    : { ...part, bytes: asGiven.bytes };
}

interface TimedMatmul {
  readonly time: BodyTime;
  readonly bytes: number;
}

function timeAsGiven(
  gpu: GpuProfile,
  work: KernelWork,
  shape: MatmulShape | ConvolutionShape,
  bytesPerElement: number,
): TimedMatmul | undefined {
  const { dtype, library, environment } = work;
  const curves = curvesOf(gpu);
  const path = computePath(gpu, dtype);
  if (shape.kind === 'matmul') {
    const isOld = library === 'cuda-8' && path.unit === 'vector';
    const ofUnit = (shape.batch > 1 ? curves.batchedMatmul : curves.matmul)[path.unit];
    const curve = (isOld ? curves.cuda8Matmul : ofUnit)[curveLayoutOf(shape.layout)];
    const bytes = operandBytes(shape, bytesPerElement);
    if (curve === undefined) return undefined;
    const rows = curveForRows(gpu, path, curve.curve, shape, bytesPerElement);
    const { time, bound } = gemmTime(ratesBy(gpu, path, curve), rows, shape, bytes);
    // A GPU that reached more than its limit of power was taken to leave would give others more than their peak.
    const least = (2 * shape.batch * shape.m * shape.n * shape.k * gpu.sustainedCompute.value) / path.peak;
    const isTf32 = path.actual === 'tf32' && gpu.architecture === 'hopper';
    const across = isTf32 && hasWholeVectors(shape) ? tf32Across[shape.layout] : 1;
    return { time: spreadOver({ time: Math.max(time, least) * across, bound }, curve), bytes };
  }
  const bytes = convolutionBytes(shape, bytesPerElement);
  const layout = environment?.layout;
  const counted = layout && countedConvolutionTime(gpu, path, shape, layout, bytesPerElement);
  if (counted !== undefined) return { time: ofCycles(counted, { low: 0.8, high: 1.25 }), bytes };
  if (layout === 'channels-first' && isMatmulOfChannels(gpu, path, shape)) {
    const matmul = matmulOfChannels(shape);
    const part = timeAsGiven(gpu, work, matmul, bytesPerElement);
    return part && { ...part, bytes };
  }
  const depthwise = shape.groups > 1 && shape.groups === shape.channels;
  const curve = depthwise ? undefined : curves.convolution[path.unit][shape.pass];
  const transposed =
    environment?.layout === 'channels-first' ? transposedAround(gpu, path, shape.pass) : undefined;
  const time =
    curve && convolutionTime(ratesBy(gpu, path, curve), curve.curve, shape, bytesPerElement, transposed);
  return time && { time: spreadOver(time, curve), bytes };
}
