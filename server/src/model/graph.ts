/**
 * The graph every format is lowered to: operators in topological order over named values.
 *
 * Operators are ONNX operators whatever the source (a layer spec is lowered to them), so that there is one
 * definition of each cost. Shapes may hold symbols until a scenario binds them.
 */

import type { Attribute, TensorLiteral } from './attribute.ts';
import type { Dimension } from './dimension.ts';
import type { ElementType } from './elementType.ts';
import type { Precision } from './scenario.ts';

export interface Graph {
  readonly name: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** In topological order; `operators[i].index === i`. */
  readonly operators: readonly Operator[];
  readonly values: ReadonlyMap<string, Value>;
  /** Operator-set version by domain; the default domain is ''. */
  readonly operatorSets: ReadonlyMap<string, number>;
  /** A subgraph whose operators were not read: its operator did not ask for it, or a limit kept it from that. */
  readonly unread?: true;
  /** The graph that this is a part of: values have the same names there. What makes an input of the part is in it. */
  readonly whole?: Graph;
}

export interface Operator {
  readonly index: number;
  /** Index in the file's own node order; what a text view's lines are mapped by. */
  readonly source: number;
  readonly name: string;
  readonly type: string;
  readonly domain: string;
  /** Value names; '' where an optional input is absent. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: ReadonlyMap<string, GraphAttribute>;
  /** Full paths of the modules around it as the exporter recorded them, outermost first; empty where none are. */
  readonly scope: readonly string[];
  /** Why it cannot be applied to its inputs, where its shape rule found a contradiction. */
  readonly contradiction?: string;
  /** Operator-set version of its domain, where it differs from the graph's: inside an expanded function. */
  readonly opset?: number;
  /** A loss whose program casts the scores to fp32 first, whatever autocast would do. */
  readonly widensScores?: true;
  /** A cast that the program does not make: the kernels that read its result read what it is of, and widen it themselves. */
  readonly isPromotion?: true;
  /** The program turns autocast off around it: it runs in the types of what it reads. */
  readonly isOutsideAutocast?: true;
  /** What it hands through lies in memory of its own: `clone()`. */
  readonly isCopy?: true;
  /** It gives a tensor in order, which is a copy of one that does not lie so: `contiguous()`. */
  readonly isLaidOut?: true;
  /** Whether the program writes its result over its input; absent where it does not say so. */
  readonly isInPlace?: boolean;
  /**
   * Operators of one kind are the same to every rule: type, version, attributes, types and contents of what goes in,
   * types of what comes out. Absent where that was not found out, or nothing else can be alike.
   */
  readonly kind?: number;
}

export type GraphAttribute = Attribute<Graph>;

/**
 * What a value is. A `parameter` is trained (also in another layout, behind a transpose); a `frozen` one is not, though
 * it is a weight like it; a `buffer` is stored with the model but not trained
 * (running statistics, tables); a `constant` is small and known; an `activation` is computed each step.
 */
export type ValueRole = 'input' | 'parameter' | 'frozen' | 'buffer' | 'constant' | 'activation';

/** Whether a value is a weight of the model, trained or frozen. */
export const isWeight = (role: ValueRole | undefined): boolean => role === 'parameter' || role === 'frozen';

export interface Value {
  readonly name: string;
  readonly role: ValueRole;
  readonly type: ValueType;
  /** What is known of the contents, for shape arithmetic. */
  readonly content?: TensorContent;
  readonly literal?: TensorLiteral;
  /** Index of the operator that computes it; absent for inputs, parameters, buffers and initializers. */
  readonly producer?: number;
  /** Indices of the operators that read it, in order, each once. */
  readonly consumers: readonly number[];
  /** Made without gradients: none passes behind it (`torch.no_grad`, `Tensor.detach`). */
  readonly isDetached?: true;
  /** Where it says which experts take which tokens (`analysis/tokenRouting.ts`). */
  readonly routing?: Routing;
}

/** The experts that were chosen, by number; or elements that are not 0 where one was: `share` of `of` of them. */
export type Routing =
  | { readonly kind: 'choice'; readonly experts: number }
  | { readonly kind: 'hits'; readonly share: number; readonly of: number };

export type ValueType =
  | TensorType
  | SequenceType
  | { readonly kind: 'optional'; readonly element: ValueType }
  | { readonly kind: 'map'; readonly key: ElementType; readonly value: ValueType }
  | { readonly kind: 'unknown'; readonly reason: string };

export interface SequenceType {
  readonly kind: 'sequence';
  /** What all elements have in common. */
  readonly element: ValueType;
  /** Types by position, where the operators that built the sequence are known. */
  readonly elements?: readonly ValueType[];
}

export interface TensorType {
  readonly kind: 'tensor';
  readonly elementType: ElementType;
  readonly shape: Shape;
}

/** A list of dimensions, or the reason why not even the rank is known. */
export type Shape = readonly Dimension[] | UnknownShape;

export interface UnknownShape {
  readonly kind: 'unknown-shape';
  readonly reason: string;
}

/**
 * Known contents of a small tensor, flattened in row-major order. Elements of integer tensors may be symbolic
 * (`Shape` of a tensor with a symbolic batch); elements of floating-point tensors are plain numbers.
 */
export interface TensorContent {
  readonly shape: readonly number[];
  readonly elements: readonly Dimension[];
}

export function isKnownShape(shape: Shape): shape is readonly Dimension[] {
  return Array.isArray(shape);
}

/** The shape of a tensor of the graph; `undefined` where it is no tensor, or its rank is not known. */
export function knownShapeOf(
  { values }: Pick<Graph, 'values'>,
  name: string,
): readonly Dimension[] | undefined {
  const type = values.get(name)?.type;
  return type?.kind === 'tensor' && isKnownShape(type.shape) ? type.shape : undefined;
}

/**
 * What the person recognises: the operators of one exported module scope, or one line of a layer spec.
 */
export interface Layer {
  /** Unique path, such as `/layer1/layer1.0/conv1` or `h[3].fc`. */
  readonly name: string;
  /** `Conv2d`, `Linear`, …, or the operator type where the module type is not recorded. */
  readonly type: string;
  /** Enclosing module paths, outermost first, for outlines. */
  readonly ancestors: readonly string[];
  /** Indices into `Graph.operators`, ascending. */
  readonly operators: readonly number[];
  /** Where it was lowered from a text: its index among the layers that the lowering gave. */
  readonly given?: number;
  /** What a layer spec asks of it beyond what it computes. */
  readonly marks?: LayerMarks;
}

/** How a layer is trained, where that differs from the rest of the model. */
export interface LayerMarks {
  /** Its parameters are not trained. */
  readonly frozen?: true;
  /** The gradient of its table holds only the rows that were looked up. */
  readonly sparseGradient?: true;
  /** Its line says that its attention is one kernel, whatever the framework is told. */
  readonly fusedAttention?: true;
  /** Share of its weights of attention that is zeroed in training; not stored where attention is one kernel. */
  readonly attentionDropout?: number;
  /** The arithmetic it runs in, whatever that of the scenario. */
  readonly precision?: Precision;
  /**
   * Nothing inside is kept for backward, which computes it again from what goes in. Layers with the same number are
   * computed again together.
   */
  readonly recomputed?: number;
}
