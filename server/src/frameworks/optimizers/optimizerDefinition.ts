/** What an optimizer keeps of each parameter, and the kernels that update it. */

import type { KernelWork, ListKernel } from '../../hardware/kernelWork.ts';

export interface OptimizerDefinition {
  /** As people call it: `AdamW`. */
  readonly title: string;
  /** What it is and keeps, for completions and help. */
  readonly documentation: string;
  /** Of torch.optim, which the benchmark runs; absent where it cannot. */
  readonly torchClass?: string;
  /** Whether PyTorch has a kernel for all of it (`fused=True`). */
  readonly hasFused: boolean;
  /** It needs norms or products of each tensor: no GPU can update a part by itself. */
  readonly needsWholeTensors?: true;
  /** What updates a table whose gradient is rows. PyTorch's Adam and its kin refuse such gradients and leave them to SparseAdam. */
  readonly ofRows: RowOptimizer;
  readonly update: ElementwiseUpdate | TensorUpdate;
}

export type RowOptimizer = 'sgd' | 'momentum' | 'adagrad' | 'adam';

/** Every element is updated alike, so that lists of tensors go through together. */
export interface ElementwiseUpdate {
  readonly kind: 'elementwise';
  /** Values kept for each element, as wide as the weights that are updated. */
  readonly states: number;
  /** One kernel that reads parameter, gradient and states, and writes parameter and states. */
  readonly onePass: readonly Pass[];
  /** One kernel after another over lists of tensors, or tensor after tensor. */
  readonly passes: readonly Pass[];
  /** Values for each element that exist while passes over lists run. */
  readonly temporaries: number;
}

/** One tensor after another, each by kernels of its own. */
export interface TensorUpdate {
  readonly kind: 'by tensor';
  /** It reads the shapes of tensors; left out, their elements alone. */
  readonly readsShapes?: true;
  /** Those of one tensor. `width`: bytes of an element of the weights that are updated, and of their gradients. */
  readonly kernels: (tensor: UpdatedTensor, width: number) => readonly KernelWork[];
  readonly stateBytes: (tensor: UpdatedTensor, width: number) => number;
  /** Memory that exists while one tensor is updated. */
  readonly temporaryBytes: (tensor: UpdatedTensor, width: number) => number;
  /** How often the host waits for a number that the GPU computes, for each tensor. */
  readonly waits: number;
  /** Present where it takes some tensors only: what updates the others. */
  readonly takes?: (tensor: UpdatedTensor) => boolean;
  readonly others?: ElementwiseUpdate;
}

/** A tensor that a GPU updates, or its part of one. */
export interface UpdatedTensor {
  readonly elements: number;
  /** The first dimension is what GPUs share. Empty where it is not known. */
  readonly shape: readonly number[];
  /** The matrix of a layer: not looked up, and not of the shape of a table, as the head of a language model is. */
  readonly isHidden: boolean;
}

/** Bytes that a kernel moves for each element of four bytes, and how many tensors of each parameter it takes. */
export interface Pass {
  readonly size: number;
  readonly lists: number;
  readonly kind?: ListKernel['kind'];
}

/** In place, or with a number for each tensor. */
export const scaled: Pass = { size: 8, lists: 1 };
/** Of one tensor another. */
export const mapped: Pass = { size: 8, lists: 2 };
export const added: Pass = { size: 12, lists: 2 };
/** a += s·b², which reads b twice. */
export const addedSquare: Pass = { size: 12, lists: 3 };
/** a += s·b/c. */
export const addedQuotient: Pass = { size: 16, lists: 3 };
