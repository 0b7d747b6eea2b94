/**
 * What a framework does with a training graph: in which number types, how many launches, which messages when.
 *
 * One file per behaviour, each rule with its source; behaviours are found by name in `registry.ts`.
 */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import type { Numeric } from '../hardware/clusterProfile.ts';
import type { KernelWork } from '../hardware/kernelTime.ts';
import type { Mode, Optimizer, Precision } from '../model/scenario.ts';
import type { Bytes, Seconds } from '../model/units.ts';

export interface FrameworkBehaviour {
  readonly name: string;
  /** Gradient messages travel while backward runs. */
  readonly overlap: boolean;
  /** [middle, low, high] time of the host per kernel launch. */
  readonly launch: readonly [Seconds, Seconds, Seconds];
  /** Kernels of every operator, forward and backward, with the number types they run in. */
  readonly lower: (training: TrainingGraph, precision: Precision, mode: Mode) => LoweredGraph;
  /** Gradients, in the order they become ready, packed into messages. */
  readonly pack: (gradients: readonly Gradient[]) => readonly Message[];
  /** Copies of gradients that messages are sent from. */
  readonly bufferBytes: (messages: readonly Message[]) => Bytes;
  /** The optimizer's kernels. */
  readonly update: (optimizer: Optimizer, precision: Precision, sizes: UpdateSizes) => Update;
  /** Where each rule comes from, for notes. */
  readonly notes: readonly string[];
}

/** The training graph as kernels. Aligned with the operators of the graph; unknown costs give `undefined`. */
export interface LoweredGraph {
  readonly operators: readonly (LoweredOperator | undefined)[];
  /** The most that backward holds at once of what it computes again instead of keeping it. */
  readonly recomputedBytes: Bytes;
}

export interface LoweredOperator {
  /** The number type its products are computed in. */
  readonly numeric: Numeric;
  /** Bytes per element that the float32 tensors of the file have here. */
  readonly width: number;
  /** Its outputs share the memory of its first input. */
  readonly view: boolean;
  /** Part of a kernel that a later operator stands for: its outputs are never stored. */
  readonly inside?: true;
  readonly forward: readonly KernelWork[];
  readonly backwardData: readonly KernelWork[];
  readonly backwardWeight: readonly KernelWork[];
  /** Kept from forward to backward. The same `key` is the same memory. */
  readonly saved: readonly KeptTensor[];
}

export interface KeptTensor {
  readonly key: string;
  readonly bytes: Bytes;
  /** A narrower copy of a parameter, which does not grow with the batch. */
  readonly weightCopy: boolean;
}

/** A parameter's gradient at the moment backward has finished it. */
export interface Gradient {
  readonly parameter: string;
  /** Index of the parameter in `ModelAnalysis.parameters`. */
  readonly index: number;
  readonly elements: number;
  /** As autograd accumulates it. */
  readonly bytes: Bytes;
  /** Position in backward order after which it is complete. */
  readonly readyAfter: number;
}

export interface Message {
  readonly gradients: readonly Gradient[];
  /** On the wire. */
  readonly bytes: Bytes;
  readonly readyAfter: number;
}

export interface UpdateSizes {
  readonly elements: number;
  readonly tensors: number;
}

export interface Update {
  readonly kernels: readonly KernelWork[];
  /** Optimizer state kept between steps. */
  readonly stateBytes: Bytes;
  /** Memory needed only while it runs. */
  readonly temporaryBytes: Bytes;
}
