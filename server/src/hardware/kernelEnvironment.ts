/** What a step has in common for all its kernels. */
export interface KernelEnvironment {
  readonly layout: Layout;
  /** Matmuls in half precision, as autocast runs them. */
  readonly mixed: boolean;
}

/** How images lie in memory: NCHW, or NHWC. */
export type Layout = 'channels-first' | 'channels-last';
