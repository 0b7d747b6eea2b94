/**
 * Time of a convolution from its shape, after what cuDNN chooses between.
 *
 * - Implicit GEMM (cuDNN, Chetlur et al., arXiv 1410.0759, section 3): forward is a GEMM of m = images · outputs,
 *   n = filters, k = channels · kernel elements for each group; the data gradient swaps filters and channels, the weight
 *   gradient sums over images and positions. The unfolded input is never written.
 * - Winograd F(2×2, 3×3) and F(4×4, 3×3) for 3 × 3 filters of stride 1 in fp32 (Lavin, Gray, arXiv 1509.09308,
 *   sections 4.1 and 4.3): (tile + 2)² products for each tile² outputs, and transformed tiles written and read.
 * - Fourier transforms of tiles of 32 × 32 for wider filters of stride 1 in fp32 (cuDNN developer guide,
 *   CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING; Vasilache et al., arXiv 1412.7580, section 3): 32 · 17 complex products for each
 *   tile of (33 − k)² outputs, and transformed tiles and filters written and read.
 *
 * Depthwise convolution has kernels of its own, of which nothing was measured: it is left to the roofline.
 */

import type { ConvolutionPass, ConvolutionShape } from '../../operators/definition.ts';
import { launchTimes } from '../assumedShares.ts';
import type { ConvolutionCurve } from '../curves.ts';
import { type BoundTime, gemmTime, type MatmulSizes, type Rates } from './gemmTime.ts';

/** What cuDNN transposes around a kernel whose images lie otherwise: all of them, or none that the kernel writes itself. */
export type Transposed = 'all' | 'read';

/** Without launch. */
export function convolutionTime(
  rates: Rates,
  curve: ConvolutionCurve,
  shape: ConvolutionShape,
  bytesPerElement: number,
  transposed?: Transposed,
): BoundTime {
  const inside = fastestTime(rates, curve, shape, bytesPerElement);
  if (transposed === undefined) return inside;
  const moved = 2 * bytesPerElement * transposedElements(shape, transposed);
  const change =
    transposed === 'all'
      ? moved / (rates.bandwidth * layoutChangeShare) + transposes * launchTimes.middle
      : moved / (rates.bandwidth * curve.memory);
  return { time: inside.time + change, bound: change > inside.time ? 'memory' : inside.bound };
}

/**
 * Share of the bandwidth, where all is transposed. In a step of ResNet-50 at 64 images on an H200, 3.08 GB into channels last take 2.22 ms by 156 kernels, and
 * 1.54 GB back 0.87 ms by 67 (`nchwToNhwcKernel` and `nhwcToNchwKernel` of cuDNN 9.19), launches of 2 µs among them.
 */
const layoutChangeShare = 0.38;

/** Of a pass: its two tensors of images, and the filter. */
const transposes = 3;

/** Both tensors of images go into the gradient of the filter. */
function transposedElements(
  { images, channels, filters, positions, spatialSize, pass }: ConvolutionShape,
  transposed: Transposed,
): number {
  const [input, output] = [images * channels * spatialSize, images * filters * positions];
  if (transposed === 'all' || pass === 'weight') return input + output;
  return pass === 'forward' ? input : output;
}

function fastestTime(
  rates: Rates,
  curve: ConvolutionCurve,
  shape: ConvolutionShape,
  bytesPerElement: number,
): BoundTime {
  const { pass } = shape;
  const gathered = gemmTime(rates, curve, productOf(shape, pass), convolutionBytes(shape, bytesPerElement));
  if (shape.groups > 1) return gathered;
  // Tensor cores have no kernels for what follows.
  const scattered =
    pass === 'data' && curve.winograd !== undefined
      ? scatteredTime(rates, curve, shape, bytesPerElement)
      : gathered;
  const implicit = scattered.time < gathered.time ? scattered : gathered;
  if (shape.fourier && curve.fourier !== undefined) {
    const transformed = fourierTime(rates, curve, shape, curve.fourier, bytesPerElement);
    return transformed.time < implicit.time ? transformed : implicit;
  }
  if (!shape.winograd || curve.winograd === undefined) return implicit;
  let best = implicit;
  for (const [tile, share] of curve.winograd) {
    const candidate = winogradTime(rates, curve, shape, pass, tile, share, bytesPerElement);
    if (candidate.time < best.time) best = candidate;
  }
  return best;
}

/** The matmul a pass is, all groups as its batch. */
function productOf(shape: ConvolutionShape, pass: ConvolutionPass): MatmulSizes {
  const { images, groups: batch, positions, spatialSize, kernelElements } = shape;
  const outputs = images * positions;
  const channels = shape.channels / batch;
  const filters = shape.filters / batch;
  if (pass === 'forward') return { batch, m: outputs, n: filters, k: channels * kernelElements };
  if (pass === 'weight') return { batch, m: filters, n: channels * kernelElements, k: outputs };
  // A strided window reaches each entry of the image through some of its kernel elements only.
  return {
    batch,
    m: images * spatialSize,
    n: channels,
    k: (filters * kernelElements * positions) / spatialSize,
  };
}

/**
 * The data gradient as a matmul over positions whose rows are added to where their windows lie, by atomic additions, each a
 * read and a write (cuDNN developer guide, CUDNN_CONVOLUTION_BWD_DATA_ALGO_0): of few channels it fills more of a tile.
 */
function scatteredTime(
  rates: Rates,
  curve: ConvolutionCurve,
  shape: ConvolutionShape,
  bytesPerElement: number,
): BoundTime {
  const { images, positions, channels, filters, kernelElements } = shape;
  const sizes = { batch: 1, m: images * positions, n: channels * kernelElements, k: filters };
  return gemmTime(
    rates,
    curve,
    sizes,
    convolutionBytes(shape, bytesPerElement) + 2 * sizes.m * sizes.n * bytesPerElement,
  );
}

/** Input, filter and output once each: implicit GEMM never writes the unfolded input. */
export const convolutionBytes = (
  { images, channels, filters, groups, positions, spatialSize, kernelElements }: ConvolutionShape,
  bytesPerElement: number,
) =>
  bytesPerElement *
  (images * (channels * spatialSize + filters * positions) + (filters * channels * kernelElements) / groups);

function winogradTime(
  rates: Rates,
  curve: ConvolutionCurve,
  shape: ConvolutionShape,
  pass: ConvolutionPass,
  tile: number,
  share: number,
  bytesPerElement: number,
): BoundTime {
  const { images, channels, filters, positions } = shape;
  const side = Math.sqrt(positions);
  const tiles = images * Math.ceil(side / tile) ** 2;
  const points = (tile + 2) ** 2;
  const block = 32;
  const rows = Math.ceil(tiles / block) * block;
  const columns = Math.ceil((pass === 'data' ? channels : filters) / block) * block;
  const inner = pass === 'data' ? filters : channels;
  const compute = (2 * points * rows * columns * inner) / (rates.peak * share);
  const transformed = points * tiles * (channels + filters) * bytesPerElement * curve.transforms;
  const memory = (convolutionBytes(shape, bytesPerElement) + transformed) / (rates.bandwidth * curve.memory);
  return compute > memory ? { time: compute, bound: 'compute' } : { time: memory, bound: 'memory' };
}

/** How many times fewer multiplications a transformed convolution needs than its FLOPs say; 1 where none is used. */
export function savedByTransforms({ winograd, fourier, kernelElements }: ConvolutionShape): number {
  if (winograd) return 4;
  return fourier ? Math.max(1, (2 * kernelElements * outputsOfTile(kernelElements)) / (8 * frequencies)) : 1;
}

/** Of a tile of 32 × 32 real numbers. */
const frequencies = 32 * 17;
const outputsOfTile = (kernelElements: number): number => (33 - Math.min(32, Math.sqrt(kernelElements))) ** 2;

function fourierTime(
  rates: Rates,
  curve: ConvolutionCurve,
  shape: ConvolutionShape,
  share: number,
  bytesPerElement: number,
): BoundTime {
  const { images, channels, filters, positions, kernelElements } = shape;
  const tiles = images * Math.ceil(Math.sqrt(positions / outputsOfTile(kernelElements))) ** 2;
  const compute = (8 * frequencies * tiles * channels * filters) / (rates.peak * share);
  const complex = 2 * bytesPerElement;
  const transformed = frequencies * complex * (tiles * (channels + filters) + channels * filters);
  const moved = convolutionBytes(shape, bytesPerElement) + 2 * transformed;
  const memory = moved / (rates.bandwidth * curve.memory);
  return compute > memory ? { time: compute, bound: 'compute' } : { time: memory, bound: 'memory' };
}
