/**
 * The training graph as the kernels of frameworks of 2014 to 2019: cuBLAS and cuDNN calls in fp32 on channels-first tensors,
 * every other operator a kernel of its own, biases added apart, no autocast, no TF32, no fused attention.
 *
 * cuDNN picks Winograd or Fourier transforms where they are faster (its developer guide, cudnnConvolutionFwdAlgo_t): that is
 * in the time of a convolution. Before version 5 it had implicit products alone for training. Caffe without cuDNN unfolds one image after another into a matrix and multiplies it
 * (BVLC/caffe, src/caffe/layers/base_conv_layer.cpp and conv_layer.cu; Jia et al., arXiv 1408.5093).
 */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { RecomputedGroups } from '../../analysis/recomputedGroups.ts';
import type { KernelWork } from '../../hardware/kernelTime.ts';
import type { Mode, Precision } from '../../model/scenario.ts';
import { bytes, flops } from '../../model/units.ts';
import type { ConvolutionShape, ProductShape } from '../../operators/definition.ts';
import type { LoweredGraph, LoweredOperator } from '../behaviour.ts';
import { lowerEager } from '../pytorch/lowerEager.ts';

export interface CudnnEraOptions {
  /** How convolutions are computed: as cuDNN chooses, by its implicit products alone, or by products of unfolded images. */
  readonly convolution: ConvolutionKernels;
}

export type ConvolutionKernels = 'cudnn' | 'implicit' | 'unfolded';

export function lowerCudnnEra(
  training: TrainingGraph,
  precision: Precision,
  mode: Mode,
  { convolution }: CudnnEraOptions,
  recomputed?: RecomputedGroups,
): LoweredGraph {
  const lowered = lowerEager(
    training,
    precision,
    mode,
    { convolutionTf32: false, fusedCalls: false, fusedAttention: false, channelsLast: false },
    recomputed,
  );
  if (convolution === 'cudnn') return lowered;
  const convolve = convolution === 'unfolded' ? unfold : withoutTransforms;
  return {
    ...lowered,
    operators: lowered.operators.map((operator) => operator && replaceConvolutions(operator, convolve)),
  };
}

function replaceConvolutions(
  operator: LoweredOperator,
  convolve: (kernel: KernelWork) => readonly KernelWork[],
): LoweredOperator {
  const replace = (kernels: readonly KernelWork[]): readonly KernelWork[] => {
    if (!kernels.some(isConvolution)) return kernels;
    return kernels.flatMap((kernel) => (isConvolution(kernel) ? convolve(kernel) : [kernel]));
  };
  return {
    ...operator,
    forward: replace(operator.forward),
    backwardData: replace(operator.backwardData),
    backwardWeight: replace(operator.backwardWeight),
  };
}

const isConvolution = (kernel: KernelWork): boolean =>
  kernel.products?.some(({ shape }) => shape.kind === 'convolution') === true;

const withoutTransforms = (kernel: KernelWork): readonly KernelWork[] => [
  {
    ...kernel,
    products: (kernel.products ?? []).map(({ shape, count }) => ({
      shape: shape.kind === 'convolution' ? { ...shape, winograd: false, fourier: false } : shape,
      count,
    })),
  },
];

/** What Caffe does for a convolution. */
function unfold(kernel: KernelWork): readonly KernelWork[] {
  const width = kernel.width ?? 4;
  return (kernel.products ?? []).flatMap(({ shape, count }) =>
    shape.kind === 'convolution' ? ofShape(kernel, shape, count, width) : [],
  );
}

function ofShape(
  { numeric, environment }: KernelWork,
  shape: ConvolutionShape,
  count: number,
  width: number,
): readonly KernelWork[] {
  const { images, channels, groups, plane, positions, taps, pass } = shape;
  const product = productOf(shape);
  const { m, n, k } = product;
  const times = images * groups * count;
  const around = environment === undefined ? {} : { environment };
  const multiply: KernelWork = {
    class: 'matmul',
    numeric,
    flops: flops(2 * m * n * k * times),
    operations: 0,
    bytes: bytes((m * k + k * n + m * n) * times * width),
    launches: times,
    products: [{ shape: product, count: times }],
    width,
    ...around,
  };
  // A window of one entry at every position needs no unfolding.
  if (taps === 1 && positions === plane) return [multiply];
  const move: KernelWork = {
    class: 'movement',
    numeric,
    flops: flops(0),
    operations: 0,
    bytes: bytes(images * count * channels * (plane + taps * positions) * width),
    launches: images * count,
    ...around,
  };
  return pass === 'data' ? [multiply, move] : [move, multiply];
}

/** Of one image and group; the unfolded image has a row for each tap of each channel. */
function productOf({ channels, filters, groups, positions, taps, pass }: ConvolutionShape): ProductShape {
  const rows = (channels / groups) * taps;
  const own = filters / groups;
  const shape = { kind: 'product', batch: 1 } as const;
  if (pass === 'forward') return { ...shape, m: own, n: positions, k: rows };
  if (pass === 'weight') return { ...shape, m: own, n: rows, k: positions };
  return { ...shape, m: rows, n: positions, k: own };
}
