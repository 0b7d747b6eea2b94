/**
 * What an operator is: its shape rule, its dimension map, its cost, what backward needs of it, and where that is written.
 *
 * A definition sees one operator through a narrow context, never the graph. Rules are total: an operator
 * applied wrongly gives an issue, what cannot be known stays unknown with a reason.
 */

import type { Attribute, TensorLiteral } from '../model/attribute.ts';
import type { Dimension } from '../model/dimension.ts';
import type { ElementType } from '../model/elementType.ts';
import type { Graph, TensorContent, ValueType } from '../model/graph.ts';
import type { IssueCode } from '../model/issueCodes.ts';
import type { DimensionMap } from './dimensionMap.ts';

export interface OperatorDefinition {
  readonly type: string;
  /** '' is the default ONNX domain. */
  readonly domain: string;
  /** First operator-set version this definition holds for. */
  readonly since: number;
  /** One line for hovers: what it computes, and the source ("ONNX Operators, Conv-22"). */
  readonly documentation: string;
  /** By position, named as in its documentation; those that only newer versions have stand with the others. */
  readonly inputs: readonly OperatorInput[];
  /** What else is true of it; none where absent. */
  readonly traits?: readonly Trait[];
  readonly pytorch: PyTorchFacts;
  readonly runner: Runner;
  readonly infer: (context: InferenceContext) => Inference;
  /** Which dimensions belong together, so that its work can be divided along them. */
  readonly dimensions: (context: InferenceContext) => DimensionMap;
  readonly cost: (context: CostContext) => OperatorCost;
}

/** What is true of an operator besides its rules: what a row of a table of operators says. */
export type OperatorFacts = Omit<OperatorDefinition, 'domain' | 'infer' | 'dimensions' | 'cost'>;

/**
 * What an operator uses one of its inputs for. Whether a gradient flows through it is what ONNX 1.23 says
 * ("Differentiable" of each formal parameter) and, where ONNX says nothing or PyTorch does otherwise, the derivatives
 * that PyTorch 2.x defines (`tools/autograd/derivatives.yaml`).
 */
export interface OperatorInput {
  readonly name: string;
  readonly role: InputRole;
  readonly gradient: boolean;
  /** It may be given any number of times. */
  readonly variadic?: true;
}

/**
 * `data` is computed with, a `weight` is trained, an `operand` is a weight where it is stored and data where it is not; a
 * `statistic` is stored and not trained; what `host` is read for are its numbers, before anything is launched; of `shape` only
 * sizes or element type are read.
 */
export type InputRole = 'data' | 'weight' | 'operand' | 'statistic' | 'host' | 'shape';

/** What is true of an operator, and of few others. */
export type Trait =
  /** A function of one tensor without weights, which programs call by itself. */
  | 'activation'
  /** Normalizes by statistics of the batch. */
  | 'batch-statistics'
  /** Converts elements to the number type that it names. */
  | 'casts'
  /** Stands for a tensor that the model stores. */
  | 'constant'
  /** Its results hold no elements but those of its first input. */
  | 'copies-elements'
  /** Makes a tensor out of a shape and nothing else. */
  | 'generator'
  /** Its result holds all inputs, one after another. */
  | 'joins'
  /** Gives the elements of its first input in another arrangement: a stored tensor behind it is still that tensor. */
  | 'layout'
  /** The second input says which entries of the first come out. */
  | 'looks-up'
  /** A loss that computes a log-softmax of its scores first. */
  | 'loss-of-scores'
  /** The gradient of an input is that of the result times a tensor, in the size of the result. */
  | 'multiplies'
  /** Backward keeps its input; its result, where PyTorch computes it in place (`inplace=True`). */
  | 'keeps-result-in-place'
  /** As `layout`, but maybe in another number type. */
  | 'passes-elements'
  /** The gradient of an input that has the size of the result is that of the result itself. */
  | 'passes-gradient'
  /** Turns positions to waves, as tables of positions do with frequencies. */
  | 'periodic'
  /** Another result every time. */
  | 'random'
  /** Backward needs only whether its input is beyond a threshold. */
  | 'threshold'
  /** As `threshold`, told by its result, which backward reads once. */
  | 'threshold-of-result';

/** What eager PyTorch makes of an operator. */
export interface PyTorchFacts {
  /** The layer that a person knows it as; `{n}` stands for the number of spatial axes. */
  readonly layer: string;
  /** As `layer`, where one of its inputs is trained. */
  readonly weightedLayer?: string;
  readonly autocast: Autocast;
  /** How its result shows the memory of its first input; absent where it is written. */
  readonly view?: 'reshape' | 'permute' | 'expand' | 'slice' | 'split';
  /**
   * How its operands must lie, where it does not take any strides: `matrices` or one stack of them, with batch axes written out
   * (aten/src/ATen/native/LinearAlgebra.cpp, `_matmul_impl`), or `contiguous` (layer_norm.h, `expect_contiguous`).
   */
  readonly operands?: 'matrices' | 'contiguous';
  /** The kernels of the gradients of its inputs, where they are not one. */
  readonly backwardKernels?: readonly BackwardKernel[];
  /** Its kernel takes a block for each row, which waits for the sums of the row. */
  readonly blockPerRow?: true;
  /** How many columns one block sums, where gradients of its weights are sums over rows by such blocks. */
  readonly columnsPerBlock?: number;
  /** What its kernels have to do for each element, where that takes longer than moving it. */
  readonly instructions?: 'gelu' | 'silu' | 'dropout';
  /** How often a block that sums one channel reads each element of it, where a block has a channel to itself. */
  readonly channelReads?: { readonly forward: number; readonly backward: number };
}

/**
 * A kernel among those of one gradient, which moves a share of the operator's backward traffic. `elementwise`: it is one, whatever
 * the operator's own kernels are.
 */
export interface BackwardKernel {
  readonly share: number;
  readonly elementwise?: true;
}

/**
 * What autocast runs an operator in (PyTorch 2.x documentation, "Automatic Mixed Precision", CUDA ops that autocast to
 * float16, to float32, and promote to the widest input type; aten/src/ATen/autocast_mode.h for how):
 *
 * - `half`: matrix products, convolutions, attention and recurrent cells, in fp16 or bf16.
 * - `fp32`: its inputs are cast to float32.
 * - `fp32-result`: its result is float32 and its inputs are read as they are (`AT_FORALL_FP32_SET_OPT_DTYPE`,
 *   `AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE`).
 * - `fp32-softmax`: as `fp32-result` in fp16; bf16 is cast all the same (aten/src/ATen/native/SoftMax.cpp, `softmax`).
 * - `promote`: in the widest of its inputs, weights and constants too ("Tensor Attributes", type promotion); each is read in
 *   its own type (aten/src/ATen/native/cuda/CUDALoops.cuh, dynamic casting).
 * - `widest`: no list names it; in the type of its widest activation.
 * - `first`: no list names it; a kernel whose results have the type of its first input.
 * - `subgraph`: what its subgraph runs in.
 */
export type Autocast =
  | 'half'
  | 'fp32'
  | 'fp32-result'
  | 'fp32-softmax'
  | 'promote'
  | 'widest'
  | 'first'
  | 'subgraph';

/** The rule of the Python runner (`server/src/benchmark/runner/layercost_runner/operators/`), or why there is none. */
export type Runner = { readonly rule: string } | { readonly reason: string };

/** What a shape rule sees. Absent optional inputs are `undefined`. */
export interface InferenceContext {
  readonly opset: number;
  readonly inputCount: number;
  readonly outputCount: number;
  /** Position among the operator's inputs, where a rule sees only some of them. */
  readonly ownIndex?: (index: number) => number;
  inputType(index: number): ValueType | undefined;
  /** Dimensions of a tensor input of known rank. */
  inputShape(index: number): readonly Dimension[] | undefined;
  inputElementType(index: number): ElementType | undefined;
  /** Known contents of a small input (constant, or symbolic shape arithmetic). */
  inputContent(index: number): TensorContent | undefined;
  attribute(name: string): Attribute<Graph> | undefined;
  int(name: string, otherwise: number): number;
  float(name: string, otherwise: number): number;
  string(name: string, otherwise: string): string;
  ints(name: string): readonly number[] | undefined;
  tensor(name: string): TensorLiteral | undefined;
  /**
   * Infers a subgraph attribute (`If`, `Loop`, `Scan`) for inputs of these types and, where known, contents; one
   * type per output.
   */
  inferSubgraph(
    attributeName: string,
    inputs: readonly ValueType[],
    contents?: readonly (TensorContent | undefined)[],
  ): readonly ValueType[];
  /** Contents of the outputs of a subgraph that was inferred last, where they are known. */
  subgraphContents(attributeName: string): readonly (TensorContent | undefined)[];
}

export interface Inference {
  /** One per output; fewer leave the rest unknown. */
  readonly outputs: readonly ValueType[];
  /** Known contents of small outputs, for shape arithmetic; aligned with `outputs`. */
  readonly contents?: readonly (TensorContent | undefined)[];
  /** The operator contradicts its inputs. */
  readonly problem?: { readonly code: IssueCode; readonly message: string };
}

/** A tensor with every dimension bound by the scenario. */
export interface BoundTensor {
  readonly elementType: ElementType;
  readonly dimensions: readonly number[];
  /** Product of the dimensions. */
  readonly elements: number;
}

/**
 * What a cost rule sees: shapes are numbers by now. Asked-for tensors that are absent or unknown give `undefined`;
 * `hasInput` tells which. A rule may leave out an unknown input: whoever asks for the cost then refuses the result.
 */
export interface CostContext {
  readonly opset: number;
  readonly inputCount: number;
  readonly outputCount: number;
  /** Whether the operator is given input `index`, be its shape known or not. */
  hasInput(index: number): boolean;
  input(index: number): BoundTensor | undefined;
  output(index: number): BoundTensor | undefined;
  inputContent(index: number): readonly number[] | undefined;
  /** Whether it is costed in a training step. In inference no operator runs as in training, whatever the file says. */
  readonly training: boolean;
  /** Which gradient input `index` receives: of a parameter, of an activation, or none. */
  gradient(index: number): 'weight' | 'data' | 'none';
  attribute(name: string): Attribute<Graph> | undefined;
  int(name: string, otherwise: number): number;
  float(name: string, otherwise: number): number;
  string(name: string, otherwise: string): string;
  ints(name: string): readonly number[] | undefined;
  /** Cost of a subgraph attribute, all its operators summed; `undefined` where it is unknown. */
  subgraphCost(attributeName: string): KnownCost | undefined;
}

/**
 * The kind of kernel an operator becomes, by what limits it. `view` launches nothing (a reshape);
 * `shape` is arithmetic on shapes that runs on the host or was folded at export.
 */
export type KernelClass =
  | 'matmul'
  | 'convolution'
  | 'depthwise-convolution'
  | 'attention'
  | 'recurrent'
  | 'normalization'
  | 'reduction'
  | 'elementwise'
  | 'movement'
  | 'embedding'
  | 'pooling'
  | 'view'
  | 'shape';

/** Whether kernels of a class multiply matrices, on tensor cores where their type has them. */
export const isMatmulClass = (kernelClass: KernelClass | undefined): boolean =>
  kernelClass !== undefined && matmulClasses.has(kernelClass);

const matmulClasses: ReadonlySet<KernelClass> = new Set([
  'matmul',
  'convolution',
  'depthwise-convolution',
  'attention',
  'recurrent',
]);

/** Elements moved to and from memory. Float32 tensors change width with the scenario's precision; others do not. */
export interface MemoryAccess {
  readonly float32Elements: number;
  readonly fixedBytes: number;
}

/**
 * How BLAS is called for a matmul, whose matrices lie column by column: each operand as it lies (n) or transposed (t). To
 * BLAS a matmul of tensors that lie row by row is that of their transposes, the right one first: y = x·Wᵀ is `tn`.
 */
export type MatmulLayout = 'nn' | 'tn' | 'nt' | 'tt';

/** C[batch][m, n] = A[m, k]·B[k, n]. */
export interface MatmulShape {
  readonly kind: 'matmul';
  readonly layout: MatmulLayout;
  readonly batch: number;
  readonly m: number;
  readonly n: number;
  readonly k: number;
}

/** One pass of a convolution, or of a transposed one, whose forward pass is the data gradient of a convolution. */
export interface ConvolutionShape {
  readonly kind: 'convolution';
  readonly pass: ConvolutionPass;
  readonly images: number;
  /** Channels of the tensor with `spatialSize` entries per channel, all groups together. */
  readonly channels: number;
  readonly filters: number;
  readonly groups: number;
  /** Positions of the window in one image: the output of a convolution, the input of a transposed one. */
  readonly positions: number;
  /** Entries that the window slides over in one image: the input of a convolution, the output of a transposed one. */
  readonly spatialSize: number;
  /** Entries of the window. */
  readonly kernelElements: number;
  /** 3 × 3 in two dimensions, stride 1, no dilation: what Winograd's transforms are made for. */
  readonly winograd: boolean;
  /** 5 × 5 or wider in two dimensions, stride 1, no dilation: what tiled Fourier transforms are made for. */
  readonly fourier: boolean;
}

export type ConvolutionPass = 'forward' | 'data' | 'weight';

/** softmax(Q·Kᵀ)·V of every head by one kernel that never stores the scores, or its gradients. */
export interface AttentionShape {
  readonly pass: 'forward' | 'backward';
  /** Batch · heads. */
  readonly sequences: number;
  readonly queries: number;
  readonly keys: number;
  /** Elements per head: the mean of a query's and a value's. */
  readonly size: number;
  /** A query sees only the keys up to its own position: kernels skip the others. */
  readonly causal: boolean;
  /** Of these, the last so many, its own among them; left out, all. */
  readonly window?: number;
  /** The kernel draws which weights of attention are zeroed. */
  readonly dropped?: true;
  /** What is added to the scores. */
  readonly mask?: AttentionMask;
}

export interface AttentionMask {
  /** Fewer than there are scores where it is repeated over sequences. */
  readonly elements: number;
  /** Whether it has a gradient, one for each score, as a bias by relative position. */
  readonly trained: boolean;
}

/** A matmul inside a piece of work, or a convolution, which is an implicit one; and how often it is computed. */
export interface RepeatedMatmul {
  readonly shape: MatmulShape | ConvolutionShape;
  readonly count: number;
}

export interface Work {
  /** Multiply-adds of matmuls, convolutions, recurrent cells, attention: 2 each. */
  readonly flops: number;
  /** FLOPs of forward that a kernel of backward computes again: part of its time, not of the model's FLOPs. */
  readonly recomputedFlops?: number;
  /** Element-wise operations, counted apart. */
  readonly operations: number;
  /** Each tensor read once and written once. */
  readonly traffic: MemoryAccess;
  /** Kernels launched; 0 for views. */
  readonly kernels: number;
  /** The matmuls that `flops` are made of, where the rule knows their shapes. */
  readonly matmuls?: readonly RepeatedMatmul[];
  /** Where `flops` are those of fused attention alone. */
  readonly attention?: AttentionShape;
  /** Elements of a row, for kernels that work row by row: softmax, normalization. */
  readonly rowLength?: number;
}

/** What backward keeps of forward: a value of the operator by position, or something made only to be kept. */
export type SavedTensor =
  | {
      readonly kind: 'input';
      readonly index: number;
      /** Groups of its axes in the order in which a product reads them, each as one axis: a copy where no strides show it. */
      readonly stack?: readonly (readonly number[])[];
    }
  | { readonly kind: 'output'; readonly index: number }
  | {
      readonly kind: 'extra';
      readonly name: string;
      readonly traffic: MemoryAccess;
      /** Of a subgraph: taken from the graph around it, so that however often it runs, there is one. */
      readonly fromAround?: true;
    };

export interface KnownCost {
  readonly kind: 'known';
  readonly class: KernelClass;
  readonly forward: Work;
  /** Gradients with respect to activations. */
  readonly backwardData: Work;
  /** Gradients with respect to parameters. */
  readonly backwardWeight: Work;
  readonly saved: readonly SavedTensor[];
  /** What a reader must know of the number: which branch was counted. */
  readonly note?: string;
  /** Of a loss: each of several workers has the scores of some classes. */
  readonly dividesClasses?: true;
}

export interface UnknownCost {
  readonly kind: 'unknown';
  readonly reason: string;
  /** The cost at the largest sizes that the data can give; absent where no bound is known. */
  readonly atMost?: KnownCost;
}

export type OperatorCost = KnownCost | UnknownCost;

export const noTraffic: MemoryAccess = { float32Elements: 0, fixedBytes: 0 };
export const noWork: Work = { flops: 0, operations: 0, traffic: noTraffic, kernels: 0 };
