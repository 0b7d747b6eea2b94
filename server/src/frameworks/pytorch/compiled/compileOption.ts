/** The option `compile` of PyTorch's frameworks: `torch.compile` and its modes. */

import type { Estimate } from '../../../model/estimate.ts';
import { microseconds, type Seconds } from '../../../model/units.ts';
import { type FrameworkOption, oneOf } from '../../options.ts';

/** `max-autotune` captures CUDA graphs as `reduce-overhead` does; what its tuned kernels gain is not known. */
export type CompileMode = 'default' | 'reduce-overhead' | 'max-autotune';

export const compileOption: FrameworkOption = {
  name: 'compile',
  default: 'false',
  documentation:
    'torch.compile: false (eager), true or default (fused kernels), reduce-overhead (and CUDA graphs), max-autotune (like reduce-overhead; gains of tuning are not counted)',
  expects: oneOf('false', 'true', 'default', 'reduce-overhead', 'max-autotune'),
};

export const compileLossOption: FrameworkOption = {
  name: 'compile-loss',
  default: 'true',
  documentation:
    'with compile, whether the loss is compiled too: false where a program computes it behind the compiled model, from scores in fp32',
  expects: oneOf('true', 'false'),
};

export function compileMode(options: ReadonlyMap<string, string>): CompileMode | undefined {
  const given = options.get('compile');
  if (given === 'true') return 'default';
  return given === 'default' || given === 'reduce-overhead' || given === 'max-autotune' ? given : undefined;
}

/**
 * Host time per kernel. Inductor's wrapper calls prepared launchers and `out=` variants, without
 * dispatcher and autograd (PyTorch 2.13, torch/_inductor/codegen/wrapper.py): an assumption, below that of eager mode. A CUDA
 * graph is launched as a whole, for at most 0.2 µs a kernel: 200 ns per node in CUDA 11.8, 1 ns in 12.6. Unconfirmed: the
 * page that is said to name them was not at hand (NVIDIA, "Constant Time Launch for Straight-Line CUDA Graphs and Other
 * Performance Enhancements", developer.nvidia.com/blog/constant-time-launch-for-straight-line-graphs-and-other-performance-enhancements).
 */
export const compiledLaunch: Readonly<Record<CompileMode, Estimate<Seconds>>> = {
  default: { middle: microseconds(5), low: microseconds(2.5), high: microseconds(12) },
  'reduce-overhead': { middle: microseconds(0.1), low: microseconds(0.001), high: microseconds(0.2) },
  'max-autotune': { middle: microseconds(0.1), low: microseconds(0.001), high: microseconds(0.2) },
};
