/**
 * Composites: operators of a graph that together are one thing with a name (attention, GELU, LayerNorm), because an exporter wrote one call as several operators or a model wrote the formula out.
 *
 * They are found by data flow alone, never by what a module scope is called or contains, once per graph. Names that
 * people see, kernels, memory, autocast, compilation and the benchmark plan all rest on what was found here.
 */

import type { Graph, Operator } from '../model/graph.ts';

export type CompositeKind =
  | 'attention'
  | 'gelu'
  | 'silu'
  | 'mish'
  | 'softplus'
  | 'log-sigmoid'
  | 'hardswish'
  | 'threshold'
  | 'hardshrink'
  | 'softshrink'
  | 'rsqrt'
  | 'variance'
  | 'recorded-call'
  | 'taken-apart'
  | 'assumed-maximum'
  | 'weight-norm'
  | 'cosine-similarity'
  | 'recurrent-cell'
  | 'glu'
  | 'layer-norm'
  | 'rms-norm'
  | 'group-norm';

/**
 * Whether the framework ran one kernel for it. `one` and `several` are known: from what the file says of the call or
 * the module class, or because the graph itself shows it. `assumed-one` is what current libraries do, where nothing
 * shows it: it is said to the reader, and the other case stands in the range.
 */
export type LaunchedAs = 'one' | 'several' | 'assumed-one';

/**
 * What backward needs of one kernel: all that comes in, what the call reads by its role, what goes out, both, neither, or where
 * in the input each result was found.
 */
export type Kept = 'inputs' | 'input' | 'result' | 'both' | 'nothing' | 'positions';

/** What one pattern found. */
export interface CompositeMatch {
  /** Indices of the operators, ascending, views between them included; the last one stands for the composite. */
  readonly operators: readonly number[];
  /** Values computed outside by role ("query", "key", "value", "mask", "input", "scale", "bias"). */
  readonly roles: Readonly<Record<string, string>>;
  /** Where it was several: one kernel computes the same, and is launched where a person says so of the model. */
  readonly isFusible?: boolean;
  /** As the graph alone shows it; `launchedAs.ts` goes before it where the file says more. */
  readonly launchedAs: LaunchedAs;
  /** Where the call is several kernels, of which it keeps nothing; left out, it is one each way. */
  readonly kernels?: CallKernels;
}

/** What one call of ATen launches. */
export interface CallKernels {
  readonly forward: KernelsOfPass;
  readonly backward: KernelsOfPass;
}

export interface KernelsOfPass {
  readonly launches: number;
  /** Tensors as large as the result that all of them read and write. */
  readonly tensors: number;
}

/**
 * What autocast runs the call in that a composite was: `fp32` casts what it reads, `fp32-result` reads it as it is, `promote` takes
 * the widest, weights too, and `half` casts to half precision. No list names the others (aten/src/ATen/autocast_mode.h).
 */
export type CallAutocast = 'fp32' | 'fp32-result' | 'promote' | 'half';

export interface Composite extends CompositeMatch {
  readonly kind: CompositeKind;
  /** What people call it, in PyTorch's words: `GELU`, `ScaledDotProductAttention`. */
  readonly name: string;
  /** Where it is one kernel; left out where that keeps its inputs that carry gradients. */
  readonly keeps?: Kept;
  /** Its backward makes a tensor as large as the input for itself. */
  readonly makesAgain?: true;
  readonly autocast?: CallAutocast;
  /** Values computed outside, in order of first use. */
  readonly inputs: readonly string[];
  /** Values used outside. */
  readonly outputs: readonly string[];
}

/** One composite, in one file: what it looks like in a graph. What it computes, and where that is written, stands above each. */
export interface CompositePattern {
  readonly kind: CompositeKind;
  readonly name: string;
  /** Operator types of which it has exactly one that the match starts from: `Softmax`, `Erf`. */
  readonly anchors: readonly string[];
  /**
   * Modules of `torch.nn` and layers of layer specs that are this and nothing else, each one kernel. Left out where
   * the graph alone shows how it was launched.
   */
  readonly modules?: readonly string[];
  /**
   * Classes of models that write it out in an `autograd.Function` of their own, which keeps its input alone. How it runs
   * shows nowhere, so it is assumed to be one kernel and the range covers several.
   */
  readonly ownFunctions?: readonly string[];
  /** Left out where one kernel keeps its inputs that carry gradients. */
  readonly keeps?: Kept;
  /** Its backward makes a tensor as large as the input for itself, beside the gradient. */
  readonly makesAgain?: true;
  /** Left out where no list of autocast names the call. */
  readonly autocast?: CallAutocast;
  /** Exporters take the call apart before they record calls: what they recorded says nothing of it. */
  readonly isTakenApart?: true;
  /** Where a model writes it out, calls that an exporter took apart are no part of it: `x.var(-1)` in a normalization is one kernel. */
  readonly leavesCalls?: true;
  /** How a layer of a layer spec runs that is written as these operators; one kernel where it is left out. */
  readonly ofOneLine?: LaunchedAs;
  /** The match around `anchor`, an operator of one of the types of `anchors`; `undefined` where it is something else. */
  readonly match: (graph: Graph, anchor: Operator) => CompositeMatch | undefined;
}

/** What the source says of where an operator came from; what it does not say is absent. */
export interface OperatorOrigin {
  /** Qualified class of its module, `torch.nn.modules.activation.GELU`; a layer of a layer spec has its type. */
  readonly moduleClass?: string;
  /** The call that it is a part of, unique in the model, and what was called: `gelu_1`, `aten.gelu.default`. */
  readonly call?: { readonly name: string; readonly function: string; readonly isOutsideAutocast?: true };
  /** The line of a layer spec or the layer of a Caffe net. */
  readonly layer?: number;
}
