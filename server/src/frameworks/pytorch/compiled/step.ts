/**
 * The pieces of work that Inductor schedules: what its lowering makes of an operator before anything is fused.
 *
 * Source: PyTorch 2.13, torch/_inductor/ir.py (`Pointwise`, `Reduction`, `ExternKernel`) and lowering.py.
 */

import type { KernelWork } from '../../../hardware/kernelWork.ts';

export interface Step {
  /** Index of the operator that it is part of. */
  readonly operator: number;
  /**
   * - `extern`: a library's kernels, which nothing is fused with;
   * - `pointwise`: computed element by element, inlined into whoever reads it where nobody else needs it;
   * - `rows`: reduces rows that lie together, and fuses with what is computed element by element around it;
   * - `columns`: reduces across rows, a kernel of its own, or several in turn;
   * - `window`: reads neighbours, so that what it reads must be stored.
   */
  readonly kind: 'extern' | 'pointwise' | 'rows' | 'columns' | 'window';
  /** Elements it walks over. */
  readonly domain: number;
  readonly rowLength?: number;
  /** Of a step over rows, whose curve tells its time. */
  readonly rowClass?: 'normalization' | 'reduction';
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  readonly operations: number;
  /** Of an extern step its kernels; of others, kernels beside the fused one, such as filling with zeros. */
  readonly kernels?: readonly KernelWork[];
  /** Launches of a step over columns. */
  readonly stages?: number;
}
