/**
 * What a framework does with a training graph: in which number types, how many launches, which messages when, and how
 * it feeds the GPU. Plain data and pure functions, so that the step is timed and drawn by others.
 *
 * One file per behaviour, each rule with its source; behaviours are found by name in `registry.ts`.
 */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import type { RecomputedGroups } from '../analysis/recomputedGroups.ts';
import type { KernelWork } from '../hardware/kernelWork.ts';
import type { Dtype } from '../model/dtype.ts';
import type { Estimate } from '../model/estimate.ts';
import type { Mode, Optimizer, Precision } from '../model/scenario.ts';
import type { Bytes, Seconds } from '../model/units.ts';
import type { EmbeddingHandling } from './embeddingTables.ts';
import type { Exchange, InputHandling, ProfiledStep, WorkerGroup } from './exchange.ts';
import type { Gradient } from './gradient.ts';
import type { UpdatedTensor } from './optimizers/optimizerDefinition.ts';
import type { SparseGradients } from './sparseGradients.ts';

export interface FrameworkBehaviour {
  readonly name: string;
  /** Time of the host per kernel launch. */
  readonly launch: Estimate<Seconds>;
  /** The host launches a kernel when the one before has ended. */
  readonly launchBlocking?: true;
  /** Of the host, per call of a collective between GPUs of a copy; left out, as a launch. */
  readonly collectiveCall?: Seconds;
  /** Of the host before each pass forward of a GPU, which waits for it: a batch is read and handed out; left out, nothing. */
  readonly passWait?: Estimate<Seconds>;
  /** On a GPU, what passes around each kernel of the update, for which the host waits before it launches the next; left out, nothing. */
  readonly updateWait?: Estimate<Seconds>;
  /** Of 2015 to 2019, of which no measured step has set anything; left out, not. */
  readonly isOld?: true;
  /**
   * Kernels of every operator, forward and backward, with the number types they run in; what backward computes again
   * is part of its work.
   */
  readonly lower: (
    training: TrainingGraph,
    precision: Precision,
    mode: Mode,
    recomputed?: RecomputedGroups,
  ) => LoweredGraph;
  /** What a step of training sends, given the gradients in the order they become ready. */
  readonly exchange: (gradients: readonly Gradient[], group: WorkerGroup, profiled: ProfiledStep) => Exchange;
  /** What a step of inference sends, for the parameters as they are used in backward order; left out, nothing. */
  readonly exchangeInInference?: (parameters: readonly Gradient[], group: WorkerGroup) => Exchange;
  readonly input: InputHandling;
  /** What it makes of embedding tables; left out, gradients of whole tables, whatever their layers say. */
  readonly embeddings?: EmbeddingHandling;
  /** Left out, PyTorch's. */
  readonly sparseGradients?: SparseGradients;
  /** Bytes per element of weights, their gradients and what the optimizer keeps of them; left out, 4 (fp32). */
  readonly weightBytesPerElement?: (precision: Precision) => number;
  /** Gradients of the step before stay, filled with zeros, and new ones are added to them. */
  readonly addsGradients?: boolean;
  /** Bytes per element of sums that passes add their gradients to; left out, as wide as gradients. */
  readonly gradientSumBytesPerElement?: (precision: Precision) => number;
  /** On one GPU, a parameter is updated when its gradient is complete, which is freed; left out, after backward. */
  readonly updatesInBackward?: true;
  /** What a pass of backward does with its gradients beside computing them; left out, nothing. */
  readonly handleGradients?: (
    group: WorkerGroup,
    pass: GradientPass,
    precision: Precision,
  ) => GradientHandling;
  /** The optimizer's kernels, over the elements that one GPU updates. */
  readonly update: (optimizer: Optimizer, precision: Precision, sizes: UpdateSizes) => Update;
  /** On CPUs, time of its kernels over that of eager PyTorch's, where averages of measurements say no more; left out, 1. */
  readonly slowdownOnCpus?: number;
  /** Gradients go in parts of at most so many bytes; left out, none is cut. */
  readonly partBytes?: number;
  /** Where each rule comes from, for notes. */
  readonly notes: readonly string[];
}

/** A pass of backward: whether it finds gradients to add to, and whether its gradients are sent. */
export interface GradientPass {
  readonly adds: boolean;
  readonly sends: boolean;
}

export interface GradientHandling {
  /** Read and written on the GPU, per element of the gradients. */
  readonly bytesPerElement: number;
  /** By the host, per gradient. */
  readonly launches: number;
}

/** The training graph as kernels. Aligned with the operators of the graph; unknown costs give `undefined`. */
export interface LoweredGraph {
  readonly operators: readonly (LoweredOperator | undefined)[];
  /** A program runs it that calls modules, whose frames hold what modules were given until they return. */
  readonly callsModules?: true;
}

export interface LoweredOperator {
  /** The number type its matmuls are computed in. */
  readonly dtype: Dtype;
  /** Bytes per element that the float32 tensors of the file have here. */
  readonly bytesPerElement: number;
  /** Its outputs share the memory of its first input. */
  readonly view: boolean;
  /** Part of a kernel that a later operator stands for: its outputs are never stored. */
  readonly inside?: true;
  readonly forward: readonly KernelWork[];
  /** Those of `forward` that cast weights. */
  readonly weightCasts?: readonly KernelWork[];
  readonly backwardData: readonly KernelWork[];
  readonly backwardWeight: readonly KernelWork[];
  /** Its backward writes gradients in the types of the values they belong to: casts are part of its kernels. */
  readonly gradientsAsStored?: true;
  /** Kept from forward to backward. The same `key` is the same memory. */
  readonly saved: readonly KeptTensor[];
  /** One kernel by assumption: what it is, and the kernels where the model writes it out. */
  readonly assumed?: AssumedKernel;
  /** Made by its forward for itself, beside its outputs and what it keeps, and gone when it has run. */
  readonly forwardTemporary?: Bytes;
  /** Made by its backward for itself, beside the gradients that it hands on, and gone when it has run. */
  readonly backwardTemporary?: Bytes;
  /** Made again in backward, and held until backward has passed the operator. */
  readonly recomputed?: RecomputedTensors;
}

export interface AssumedKernel {
  /** In PyTorch's words: `GELU`. */
  readonly name: string;
  readonly forward: readonly KernelWork[];
  readonly backward: readonly KernelWork[];
}

export interface RecomputedTensors {
  /** Operators of one group are computed again together. */
  readonly group: number;
  readonly tensors: readonly KeptTensor[];
}

export interface KeptTensor {
  /** `12/mask` for what operator 12 alone makes, else the value's name and bytes per element. */
  readonly key: string;
  readonly bytes: Bytes;
  /** A narrower copy of a parameter, which does not grow with the batch. */
  readonly weightCopy: boolean;
}

export interface UpdateSizes {
  readonly elements: number;
  readonly tensors: readonly UpdatedTensor[];
}

export interface Update {
  readonly kernels: readonly KernelWork[];
  /** Work of the host beside the launches of the kernels, in launches; left out, none. */
  readonly hostWork?: number;
  /** The host waits for the GPU before it launches the update; left out, it does not. */
  readonly hostWaits?: boolean;
  /** Read and written in the memory of the host, where the optimizer runs there; left out, it runs on the GPU. */
  readonly hostBytes?: Bytes;
  /** Where several processes run on a node, each computes with one thread there; left out, with its share of the cores. */
  readonly hostIsOneThread?: true;
  /** Optimizer state kept between steps, and what of it is of one tensor. */
  readonly stateBytes: Bytes;
  readonly stateBytesOf: (tensor: UpdatedTensor) => number;
  /** Memory needed only while it runs. */
  readonly temporaryBytes: Bytes;
}
