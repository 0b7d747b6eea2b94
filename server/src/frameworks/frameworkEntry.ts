/** A behaviour under its name, with what a person needs to know to choose it and to set its options. */

import type { FrameworkBehaviour } from './behaviour.ts';
import type { LayoutRules } from './layoutRules.ts';
import type { OptimizerRules } from './optimizers/optimizerRules.ts';
import type { FrameworkOption } from './options.ts';

export interface FrameworkEntry {
  readonly name: string;
  /** One line for completions and help. */
  readonly documentation: string;
  /** What runs beside what: input, gradients, update. */
  readonly overlaps: string;
  /** Where its rules come from. */
  readonly sources: readonly string[];
  readonly options: readonly FrameworkOption[];
  /**
   * What people train in with it where nobody says: `half` is mixed precision in the half precision of the GPU, where it
   * has one; the systems of the literature trained in fp32.
   */
  readonly trainsIn: 'half' | 'fp32';
  /** It runs in one process, and so on one node. */
  readonly oneNode?: true;
  /** Left out: GPUs each have a copy of the model; several cannot share one. */
  readonly layout?: LayoutRules;
  /** Linear layers are of its own classes, in whose place no library puts others; left out, they are PyTorch's. */
  readonly ownLinearLayers?: true;
  /** Left out: all optimizers that have kernels for PyTorch, on whole tensors. */
  readonly optimizers?: OptimizerRules;
  /** Options that exclude each other, and what to do; `undefined` where there are none. */
  readonly contradiction?: (options: ReadonlyMap<string, string>) => string | undefined;
  readonly create: (options: ReadonlyMap<string, string>) => FrameworkBehaviour;
}
