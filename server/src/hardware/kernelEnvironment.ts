/** What a step has in common for all its kernels. */
export interface KernelEnvironment {
  readonly layout: Layout;
  /** Matmuls in half precision, as autocast runs them. */
  readonly mixed: boolean;
  /** Tensors of two bytes are bf16; left out, fp16. */
  readonly bf16?: true;
  /** Forward alone, of another release than the training steps that were measured. */
  readonly inference?: true;
  /** Left out, the newest. */
  readonly attention?: AttentionKernel;
  /** Sums of columns share rows out over threads and blocks; left out, a block takes some columns through all rows. */
  readonly sharesRows?: true;
  /** Matmuls by cuBLAS of CUDA 12.4 or older, which use Hopper less well. */
  readonly olderMatmuls?: true;
  /** A compiler pads matmuls of ragged sides where they are faster so. */
  readonly padsMatmuls?: true;
}

/** Which kernels compute attention; `newest` are those that the newest PyTorch takes. */
export const attentionKernels = [
  'newest',
  'flash-attention-3',
  'flash-attention-2',
  'flash-attention-1',
  'triton',
] as const;
export type AttentionKernel = (typeof attentionKernels)[number];

/** How images lie in memory: NCHW, or NHWC. */
export type Layout = 'channels-first' | 'channels-last';
