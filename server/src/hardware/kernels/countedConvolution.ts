/**
 * Convolutions whose kernels take a time for each instruction, wherever operands lie: depthwise ones, and those of images of
 * three channels, which tensor cores take only with a fourth one and in TF32.
 *
 *   t = c₀ + a · bytes / bandwidth + (b · multiply-adds + c · entries) / (multiprocessors · clock) + …
 *
 * The factors are data (`efficiency.json`), fitted to an H200; instructions take a multiprocessor as many cycles on others.
 */

import type { ConvolutionShape } from '../../operators/definition.ts';
import { type ConvolutionFactors, countedConvolutions } from '../assumedShares.ts';
import type { GpuProfile } from '../clusterProfile.ts';
import type { ComputePath } from '../computePath.ts';
import type { Layout } from '../kernelEnvironment.ts';
import type { BoundTime } from './gemmTime.ts';

/** `undefined` for other convolutions, and where nothing of the kind was measured. */
export function countedConvolutionTime(
  gpu: GpuProfile,
  path: ComputePath,
  shape: ConvolutionShape,
  layout: Layout,
  bytesPerElement: number,
): BoundTime | undefined {
  const { clock, vendor, multiprocessors, memoryBandwidth } = gpu;
  const factors = factorsOf(gpu, path, shape, layout);
  if (factors === undefined || clock === undefined || vendor !== 'NVIDIA') return undefined;
  const { images, channels, filters, groups, positions, spatialSize, kernelElements } = shape;
  const [inputs, outputs] = [images * channels * spatialSize, images * filters * positions];
  const weights = (filters * channels * kernelElements) / groups;
  const moved = (inputs + outputs) * bytesPerElement;
  const multiplyAdds = (outputs * kernelElements * channels) / groups;
  const cycles =
    factors.multiplyAdds * (factors.ofInputs === true ? inputs * kernelElements : multiplyAdds) +
    factors.outputs * outputs +
    factors.inputs * inputs +
    factors.weights * weights * multiprocessors.value;
  const memory = (factors.memory * moved) / memoryBandwidth.value;
  const least = (moved + weights * bytesPerElement) / memoryBandwidth.value;
  const compute = cycles / multiprocessors.value / clock.value;
  return {
    time: Math.max(factors.microseconds * 1e-6 + memory + compute, least),
    bound: memory > compute ? 'memory' : 'compute',
  };
}

function factorsOf(
  { architecture }: GpuProfile,
  { unit, actual, requested }: ComputePath,
  { channels, groups, pass }: ConvolutionShape,
  layout: Layout,
): ConvolutionFactors | undefined {
  if (groups > 1 && groups === channels) {
    // PyTorch's own kernels, but in fp16, where it may take cuDNN's (aten/src/ATen/native/Convolution.cpp, `use_cudnn_depthwise`).
    if (layout === 'channels-first' && requested === 'fp16') return undefined;
    return countedConvolutions[`depthwise ${layout}`]?.[pass];
  }
  const isHalf = unit === 'tensor' && (actual === 'fp16' || actual === 'bf16');
  const isPadded = isHalf && groups === 1 && channels < 4 && padding.has(architecture);
  return isPadded ? countedConvolutions[`padded ${layout}`]?.[pass] : undefined;
}

/** Whose half precision takes three channels by way of TF32; nothing was measured of others. */
const padding: ReadonlySet<string> = new Set(['hopper', 'blackwell']);
