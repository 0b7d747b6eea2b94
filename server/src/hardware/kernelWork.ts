/** What a kernel is to do, as far as its time depends on it. */

import type { Dtype } from '../model/dtype.ts';
import type { Bytes, Flops } from '../model/units.ts';
import type { AttentionShape, KernelClass, RepeatedMatmul } from '../operators/definition.ts';
import type { KernelEnvironment } from './kernelEnvironment.ts';

/** What is to be done, by one or several launches of one class of kernel. */
export interface KernelWork {
  readonly class: KernelClass;
  /** Number type of the matmuls. */
  readonly dtype: Dtype;
  readonly flops: Flops;
  readonly operations: number;
  readonly bytes: Bytes;
  readonly launches: number;
  /** The matmuls that `flops` are made of, where their shapes are known. */
  readonly matmuls?: readonly RepeatedMatmul[];
  /** Bytes per element of the operands of `matmuls`. */
  readonly bytesPerElement?: number;
  /** Where `flops` are those of attention by one kernel. */
  readonly attention?: AttentionShape;
  readonly rowLength?: number;
  /** Of a layer normalization by one kernel. */
  readonly normalized?: NormalizedRows;
  /** Of an element-wise kernel that has much to do for each element. */
  readonly instructions?: InstructionBound;
  /** Of an element-wise kernel over lists of tensors. */
  readonly lists?: ListKernel;
  /** Sums over all rows of a matrix, by thread blocks that each take some columns through all rows. */
  readonly columnSums?: ColumnSums;
  /** Sums over all images, by a thread block for each channel. */
  readonly channelSums?: ChannelSums;
  /** Of pooling by windows, whose `operations` are the entries that its windows take. */
  readonly pooling?: WindowPooling;
  /** Where the matmuls are those of an older library than the GPU was measured with. */
  readonly library?: 'cuda-8';
  /** Casts what a product reads, to a type that libraries multiply in and nothing else is computed in. */
  readonly castsOperand?: true;
  /** Makes weights of few bits whole, by a library's kernel that looks each of them up. */
  readonly dequantizes?: true;
  /** Where machines are measured by what it is for: by an update in the place of its kind, and by sums of gradients of several layers apart from layers. */
  readonly purpose?: 'update' | 'gradient sum';
  /** Absent where nothing is known of the step around it. */
  readonly environment?: KernelEnvironment;
}

export interface WindowPooling {
  readonly kind: 'max' | 'average';
  readonly pass: 'forward' | 'backward';
  /** Elements that windows move over. */
  readonly inputs: number;
}

export interface InstructionBound {
  readonly elements: number;
  readonly kernel: InstructionBoundKernel;
}

/**
 * `widened`, `mixed` and `strided` take elements one at a time, where others take 16 bytes: half precision becomes fp32, both are read,
 * or what is read lies in another order or is repeated; `transposed` reads neighbours that lie far from each other. `dropout` draws numbers, of narrow elements or of `wide` ones.
 */
export type InstructionBoundKernel =
  | 'widened'
  | 'mixed'
  | 'strided'
  | 'transposed'
  | 'dropout'
  | 'dropout-wide'
  | `${Activation}-${'forward' | 'backward'}`;

/** Activations of more than a comparison. */
type Activation = 'gelu' | 'gelu-tanh' | 'silu';

export interface NormalizedRows {
  readonly rows: number;
  /** Backward is the gradient of the rows. */
  readonly pass: 'forward' | 'backward';
}

export interface ListKernel {
  /** `fused` computes a whole update at once, `pass` one step of it. */
  readonly kind: 'fused' | 'pass';
  readonly launches: readonly ListLaunch[];
}

export interface ListLaunch {
  /** How many launches are alike. */
  readonly count: number;
  /** Each takes a chunk of a tensor. */
  readonly blocks: number;
  readonly elements: number;
  /** Elements of the longest chunk. */
  readonly longest: number;
}

export interface ColumnSums {
  readonly blocks: number;
  readonly rows: number;
  /** Of each of the matrices read. */
  readonly elements: number;
}

/** What each block of a batch normalization loads before and after its channel's sums are known. */
export interface ChannelSums {
  readonly pass: 'forward' | 'backward';
  readonly channels: number;
  /** Elements that one block loads. */
  readonly loads: number;
  /** Where the kernels are PyTorch's own, not cuDNN's: images times channels. */
  readonly ownPlanes?: number;
}
