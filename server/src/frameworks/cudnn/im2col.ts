/**
 * A convolution without cuDNN: one image after another is unfolded into a matrix, which is multiplied (Jia et al., "Caffe",
 * arXiv 1408.5093; BVLC/caffe, src/caffe/layers/base_conv_layer.cpp and conv_layer.cu; torch/cunn,
 * lib/THCUNN/generic/SpatialConvolutionMM.cu). Each matmul has the positions of one image alone, which are few tiles.
 *
 * - forward: the bias by a matmul of depth 1, unfold, multiply. Without bias cunn fills the output with zeros, which it
 *   adds to; Caffe writes it.
 * - gradient of the input: multiply, fold back.
 * - gradient of the filters: unfold again, multiply; of the bias: a matrix-vector product.
 *
 * Caffe leaves out unfolding where a window of one entry goes to every position; cunn does not. Torch 7 ended with CUDA 8,
 * whose matmuls of few tiles are slower than those of later libraries.
 */

import type { KernelWork } from '../../hardware/kernelWork.ts';
import { bytes, flops } from '../../model/units.ts';
import type { ConvolutionShape, MatmulShape } from '../../operators/definition.ts';

export type UnfoldingLibrary = 'caffe' | 'cunn';

/** The kernels in the place of one pass of a convolution, over all images of the batch. */
export function unfoldConvolution(
  kernel: KernelWork,
  library: UnfoldingLibrary,
  hasBias: boolean,
): readonly KernelWork[] {
  return (kernel.matmuls ?? []).flatMap(({ shape, count }) =>
    shape.kind === 'convolution' ? kernelsOf(kernel, shape, count, library, hasBias) : [],
  );
}

function kernelsOf(
  { dtype, environment, bytesPerElement = 4 }: KernelWork,
  shape: ConvolutionShape,
  count: number,
  library: UnfoldingLibrary,
  hasBias: boolean,
): readonly KernelWork[] {
  const { images, channels, filters, groups, spatialSize, positions, kernelElements, pass } = shape;
  const around = environment === undefined ? {} : { environment };
  const times = images * count;
  const move = (elements: number, kernelClass: KernelWork['class'] = 'movement'): KernelWork => ({
    class: kernelClass,
    dtype,
    flops: flops(0),
    operations: 0,
    bytes: bytes(times * elements * bytesPerElement),
    launches: times,
    ...around,
  });
  const multiply = (matmul: MatmulShape, repeated: number): KernelWork => {
    const { m, n, k } = matmul;
    return {
      class: 'matmul',
      dtype,
      flops: flops(2 * m * n * k * repeated),
      operations: 0,
      bytes: bytes((m * k + k * n + m * n) * repeated * bytesPerElement),
      launches: repeated,
      matmuls: [{ shape: matmul, count: repeated }],
      bytesPerElement,
      ...(library === 'cunn' ? { library: 'cuda-8' as const } : {}),
      ...around,
    };
  };
  const matmul = multiply(productOf(shape), times * groups);
  const isPlain = library === 'caffe' && kernelElements === 1 && positions === spatialSize;
  const unfold = isPlain ? [] : [move(channels * (spatialSize + kernelElements * positions))];
  if (pass === 'data') return [matmul, ...unfold];
  if (pass === 'weight') {
    return [...unfold, matmul, ...(hasBias ? [move(filters * positions, 'reduction')] : [])];
  }
  const bias = multiply({ kind: 'matmul', layout: 'nn', batch: 1, m: filters, n: positions, k: 1 }, times);
  const start = hasBias ? [bias] : library === 'cunn' ? [move(filters * positions, 'elementwise')] : [];
  return [...start, ...unfold, matmul];
}

/** Of one image and group; the unfolded image has a row for each tap of each channel. */
function productOf({
  channels,
  filters,
  groups,
  positions,
  kernelElements,
  pass,
}: ConvolutionShape): MatmulShape {
  const rows = (channels / groups) * kernelElements;
  const own = filters / groups;
  const shape = { kind: 'matmul', batch: 1 } as const;
  if (pass === 'forward') return { ...shape, layout: 'nn', m: own, n: positions, k: rows };
  if (pass === 'weight') return { ...shape, layout: 'tn', m: own, n: rows, k: positions };
  return { ...shape, layout: 'nt', m: rows, n: positions, k: own };
}
