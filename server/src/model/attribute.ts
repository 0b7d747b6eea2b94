/** Attribute values and tensor literals, as both the file formats and the graph use them. */

import type { DeclaredType } from './declaredType.ts';
import type { ElementType } from './elementType.ts';

/** A tensor stored in the file. Its payload is kept only when it is small and integer-like or scalar. */
export interface TensorLiteral {
  readonly name: string;
  readonly elementType: ElementType;
  readonly dimensions: readonly number[];
  /**
   * The elements, when the file holds them and they are few (shapes, axes, scales): integers saturate at
   * ±(2^53 − 1), which ONNX uses as "to the end". `undefined` where the payload was skipped.
   */
  readonly elements?: readonly number[];
  /** Bytes of payload in this file; 0 where the data is external or absent. */
  readonly storedBytes: number;
  /** Where the data lies when it is not in this file. Never opened. */
  readonly external?: ExternalLocation;
  /** What is known of a stored tensor beside its contents. */
  readonly origin?: TensorOrigin;
}

/** Where a stored tensor comes from: what the exporter recorded, and what its bytes show where they are in the file. */
export interface TensorOrigin {
  /** What PyTorch's exporter recorded of it, or of what it was folded from. */
  readonly kind?: 'parameter' | 'buffer' | 'constant';
  /** The tensors that constant folding computed it from, as the exporter recorded them. */
  readonly foldedFrom?: readonly string[];
  /** It is computed in each step of the program, of which it is no parameter, buffer or view of one. */
  readonly isMadeInStep?: true;
  /** The one parameter of the program among them. */
  readonly parameter?: string;
  /** The parameters of the program among them, where there are several. */
  readonly parameters?: readonly string[];
  /** The stored matrix whose transpose it is. */
  readonly transposeOf?: string;
  /** The first stored tensor without a name of its own that has the same elements. */
  readonly copyOf?: string;
  /** Whether all its elements are one number. */
  readonly isUniform?: boolean;
  /** Where vectors of it are alike: it was looked up in a smaller table, or repeated. */
  readonly repeats?: RepeatedVectors;
  /** It was repeated along one axis, and its contents do not tell whether along others, too. */
  readonly mayRepeat?: true;
}

export interface RepeatedVectors {
  /** The tensor is one slice along this axis again and again. */
  readonly broadcastAxis?: number;
  /** Axes behind that one along which nothing changes either. */
  readonly alike?: readonly number[];
  /** Its contents do not tell whether it repeats itself along others, too. */
  readonly isAssumed?: true;
  /** Of its vectors along `axis` so many are different. */
  readonly lookup?: { readonly axis: number; readonly distinct: number };
}

export interface ExternalLocation {
  readonly path: string;
  readonly offset: number;
  readonly length?: number;
}

export type Attribute<Subgraph> =
  | { readonly kind: 'int'; readonly value: number }
  | { readonly kind: 'float'; readonly value: number }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'ints'; readonly value: readonly number[] }
  | { readonly kind: 'floats'; readonly value: readonly number[] }
  | { readonly kind: 'strings'; readonly value: readonly string[] }
  | { readonly kind: 'tensor'; readonly value: TensorLiteral }
  | { readonly kind: 'tensors'; readonly value: readonly TensorLiteral[] }
  /** The dense shape, with the stored bytes of values and indices together. */
  | { readonly kind: 'sparse_tensor'; readonly value: TensorLiteral }
  | { readonly kind: 'type_proto'; readonly value: DeclaredType }
  | { readonly kind: 'type_protos'; readonly value: readonly DeclaredType[] }
  | { readonly kind: 'graph'; readonly value: Subgraph }
  | { readonly kind: 'graphs'; readonly value: readonly Subgraph[] }
  /** Inside a function body: the value comes from the caller's attribute of this name; `type` as ONNX text says it. */
  | { readonly kind: 'reference'; readonly value: string; readonly type?: string }
  /** What is too long to keep, and what newer versions add: kept by name so that nothing is lost silently. */
  | { readonly kind: 'other'; readonly value: string };
