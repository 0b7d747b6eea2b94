/**
 * A convolution without cuDNN: one image after another is unfolded into a matrix, which is multiplied (Jia et al., "Caffe",
 * arXiv 1408.5093; BVLC/caffe, src/caffe/layers/base_conv_layer.cpp and conv_layer.cu; torch/cunn,
 * lib/THCUNN/generic/SpatialConvolutionMM.cu). Each product has the positions of one image alone, which are few tiles.
 *
 * - forward: the bias by a product of depth 1, unfold, multiply. Without bias cunn fills the output with zeros, which it
 *   adds to; Caffe writes it.
 * - gradient of the input: multiply, fold back.
 * - gradient of the filters: unfold again, multiply; of the bias: a product of matrix and vector.
 *
 * Caffe leaves out unfolding where a window of one entry goes to every position; cunn does not. Torch 7 ended with CUDA 8,
 * whose products of few tiles are slower than those of later libraries.
 */

import type { KernelWork } from '../../hardware/kernelWork.ts';
import { bytes, flops } from '../../model/units.ts';
import type { ConvolutionShape, ProductShape } from '../../operators/definition.ts';

export type UnfoldingLibrary = 'caffe' | 'cunn';

/** The kernels in the place of one pass of a convolution, over all images of the batch. */
export function unfoldConvolution(
  kernel: KernelWork,
  library: UnfoldingLibrary,
  hasBias: boolean,
): readonly KernelWork[] {
  return (kernel.products ?? []).flatMap(({ shape, count }) =>
    shape.kind === 'convolution' ? kernelsOf(kernel, shape, count, library, hasBias) : [],
  );
}

function kernelsOf(
  { dtype, environment, width = 4 }: KernelWork,
  shape: ConvolutionShape,
  count: number,
  library: UnfoldingLibrary,
  hasBias: boolean,
): readonly KernelWork[] {
  const { images, channels, filters, groups, plane, positions, taps, pass } = shape;
  const around = environment === undefined ? {} : { environment };
  const times = images * count;
  const move = (elements: number, kernelClass: KernelWork['class'] = 'movement'): KernelWork => ({
    class: kernelClass,
    dtype,
    flops: flops(0),
    operations: 0,
    bytes: bytes(times * elements * width),
    launches: times,
    ...around,
  });
  const multiply = (product: ProductShape, repeated: number): KernelWork => {
    const { m, n, k } = product;
    return {
      class: 'matmul',
      dtype,
      flops: flops(2 * m * n * k * repeated),
      operations: 0,
      bytes: bytes((m * k + k * n + m * n) * repeated * width),
      launches: repeated,
      products: [{ shape: product, count: repeated }],
      width,
      ...(library === 'cunn' ? { library: 'cuda-8' as const } : {}),
      ...around,
    };
  };
  const product = multiply(productOf(shape), times * groups);
  const isPlain = library === 'caffe' && taps === 1 && positions === plane;
  const unfold = isPlain ? [] : [move(channels * (plane + taps * positions))];
  if (pass === 'data') return [product, ...unfold];
  if (pass === 'weight') {
    return [...unfold, product, ...(hasBias ? [move(filters * positions, 'reduction')] : [])];
  }
  const bias = multiply({ kind: 'product', layout: 'nn', batch: 1, m: filters, n: positions, k: 1 }, times);
  const start = hasBias ? [bias] : library === 'cunn' ? [move(filters * positions, 'elementwise')] : [];
  return [...start, ...unfold, product];
}

/** Of one image and group; the unfolded image has a row for each tap of each channel. */
function productOf({ channels, filters, groups, positions, taps, pass }: ConvolutionShape): ProductShape {
  const rows = (channels / groups) * taps;
  const own = filters / groups;
  const shape = { kind: 'product', batch: 1 } as const;
  if (pass === 'forward') return { ...shape, layout: 'nn', m: own, n: positions, k: rows };
  if (pass === 'weight') return { ...shape, layout: 'tn', m: own, n: rows, k: positions };
  return { ...shape, layout: 'nt', m: rows, n: positions, k: own };
}
