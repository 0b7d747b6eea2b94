/** Kinds of kernels that whole training steps are corrected by: finer than a class where libraries differ within it. */

import type { ConvolutionShape } from '../operators/definition.ts';
import type { KernelWork } from './kernelTime.ts';

/** `convolution 3x3 forward`, `depthwise weight`, `batched product`, `pooling`, … */
export type KernelKind = string;

/** The kind of a piece of work; that of its first product where it has several. */
export function kernelKind(work: KernelWork): KernelKind {
  if (work.class === 'recurrent') return work.class;
  const shape = work.products?.[0]?.shape;
  if (shape?.kind === 'convolution') return convolutionKind(shape);
  if (shape !== undefined) return shape.batch > 1 ? 'batched product' : 'product';
  if (work.rowLength !== undefined) {
    if (work.class === 'reduction') return 'softmax';
    if (work.class === 'normalization') return 'row normalization';
  }
  return work.class;
}

function convolutionKind({ groups, channels, filters, taps, winograd, pass }: ConvolutionShape): KernelKind {
  if (groups === 1) return `convolution ${taps === 1 ? '1x1' : winograd ? '3x3' : 'other'} ${pass}`;
  if (groups === channels) return `depthwise ${pass}`;
  return `${packs(channels / groups) && packs(filters / groups) ? 'narrow' : 'wide'} groups ${pass}`;
}

/**
 * Channels of a group that tensor-core kernels for channels-last tensors are made for (cuDNN 8 release notes,
 * grouped convolution: 4, 8, 16 or 32 channels per group).
 */
const packs = (channels: number): boolean =>
  channels === 4 || channels === 8 || channels === 16 || channels === 32;
