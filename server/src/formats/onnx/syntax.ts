/**
 * The syntax tree of an ONNX model: what the file says, before anything is inferred.
 *
 * Binary and textual ONNX give the same tree. Names follow `onnx-ml.proto` (ONNX 1.23); fields that change
 * neither cost nor shape (doc strings, sharding) are kept only where a later room reads them.
 */

import type { Attribute, TensorLiteral } from '../../model/attribute.ts';
import type { ElementType } from '../../model/elementType.ts';

export interface OnnxModel {
  readonly irVersion: number;
  readonly producerName: string;
  readonly producerVersion: string;
  readonly domain: string;
  readonly modelVersion: number;
  readonly operatorSets: readonly { readonly domain: string; readonly version: number }[];
  readonly graph: OnnxGraph;
  readonly functions: readonly OnnxFunction[];
  readonly metadata: ReadonlyMap<string, string>;
}

export interface OnnxGraph {
  readonly name: string;
  readonly nodes: readonly OnnxNode[];
  readonly inputs: readonly OnnxValueInfo[];
  readonly outputs: readonly OnnxValueInfo[];
  readonly valueInfos: readonly OnnxValueInfo[];
  readonly initializers: readonly TensorLiteral[];
  /** Sparse initializers: the dense shape, the stored bytes of values and indices. */
  readonly sparseInitializers: readonly TensorLiteral[];
}

export interface OnnxNode {
  readonly name: string;
  readonly type: string;
  readonly domain: string;
  readonly overload: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: ReadonlyMap<string, Attribute<OnnxGraph>>;
  readonly metadata: ReadonlyMap<string, string>;
}

export interface OnnxFunction {
  readonly name: string;
  readonly domain: string;
  readonly overload: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** Names of attributes without default. */
  readonly attributes: readonly string[];
  /** Attributes with defaults. */
  readonly defaults: ReadonlyMap<string, Attribute<OnnxGraph>>;
  readonly operatorSets: readonly { readonly domain: string; readonly version: number }[];
  readonly nodes: readonly OnnxNode[];
  readonly valueInfos: readonly OnnxValueInfo[];
}

export interface OnnxValueInfo {
  readonly name: string;
  readonly type: OnnxType | undefined;
}

export type OnnxType =
  | {
      readonly kind: 'tensor' | 'sparse-tensor';
      readonly elementType: ElementType;
      /** `undefined` where the file gives no shape. */
      readonly shape: readonly OnnxDimension[] | undefined;
    }
  | { readonly kind: 'sequence' | 'optional'; readonly element: OnnxType | undefined }
  | { readonly kind: 'map'; readonly key: ElementType; readonly value: OnnxType | undefined }
  | { readonly kind: 'opaque'; readonly name: string };

/** A number, a symbol's name, or `undefined` where the file says nothing. */
export type OnnxDimension = number | string | undefined;
