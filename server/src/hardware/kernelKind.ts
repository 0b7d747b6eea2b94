/** Kinds of kernels that whole training steps are corrected by: finer than a class where libraries differ within it. */

import type { ConvolutionShape } from '../operators/definition.ts';
import type { KernelWork } from './kernelWork.ts';

/** `convolution 3x3 forward`, `depthwise weight`, `batched gemm`, `pooling`, … */
export type KernelKind = string;

/** The kind of a piece of work; that of its first matmul where it has several. */
export function kernelKind(work: KernelWork): KernelKind {
  if (work.class === 'recurrent') return work.class;
  if (work.dequantizes === true) return 'dequantization';
  const shape = work.matmuls?.[0]?.shape;
  if (shape?.kind === 'convolution') return convolutionKind(shape);
  if (shape !== undefined) return shape.batch > 1 ? 'batched gemm' : 'gemm';
  if (work.columnSums !== undefined) return 'column sums';
  if (work.rowLength !== undefined) {
    if (work.class === 'reduction') return 'softmax';
    if (work.class === 'normalization') return 'row normalization';
  }
  return work.class;
}

/** Whether it is of matmuls, single or batched. */
export const isMatmulKind = (kind: KernelKind): boolean => kind === 'gemm' || kind === 'batched gemm';

function convolutionKind(shape: ConvolutionShape): KernelKind {
  const { groups, channels, kernelElements, winograd, pass } = shape;
  if (groups === 1 && isRagged(shape)) return `ragged convolution ${pass}`;
  if (groups === 1) return `convolution ${kernelElements === 1 ? '1x1' : winograd ? '3x3' : 'other'} ${pass}`;
  if (groups === channels) return `depthwise ${pass}`;
  return `${isPacked(shape) ? 'narrow groups' : 'wide groups'} ${pass}`;
}

/**
 * Whether rows of channels are no whole vectors of 16 bytes in half precision, which tensor-core kernels load: cuDNN pads them
 * or takes slower kernels (NVIDIA, "Convolutional layers user's guide", DU-09794-001, "Channels In And Out"). Images
 * of three channels, which it pads to four, are as in every network.
 */
const isRagged = ({ channels, filters }: ConvolutionShape): boolean =>
  channels > 4 && (channels % 8 > 0 || filters % 8 > 0);

/**
 * Whether tensor-core kernels for channels-last tensors are made for the channels of a group (cuDNN 8 release notes,
 * grouped convolution: 4, 8, 16 or 32 channels per group).
 */
const isPacked = ({ channels, filters, groups }: ConvolutionShape): boolean =>
  packed.has(channels / groups) && packed.has(filters / groups);

const packed: ReadonlySet<number> = new Set([4, 8, 16, 32]);
