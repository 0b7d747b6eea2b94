/**
 * The syntax tree of an ONNX model: what the file says, before anything is inferred.
 *
 * Binary and textual ONNX give the same tree. Names follow `onnx-ml.proto` (ONNX 1.23); fields that change
 * neither cost nor shape (doc strings of parts, sharding) are kept only where a later room reads them.
 */

import type { Attribute, TensorLiteral } from '../../model/attribute.ts';
import type { DeclaredDimension, DeclaredType } from '../../model/declaredType.ts';

export interface OnnxModel {
  readonly irVersion: number;
  readonly producerName: string;
  readonly producerVersion: string;
  readonly domain: string;
  readonly modelVersion: number;
  /** Absent where it is empty. */
  readonly docString?: string;
  /** How many descriptions of graphs, nodes and tensors the file has, which are not kept. */
  readonly descriptions?: number;
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
  /** Absent where there is none. */
  readonly metadata?: ReadonlyMap<string, string>;
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
  /** Of a node that a rewrite put into the graph: the index of the file's node that it stands for. */
  readonly standsFor?: number;
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
  /** Absent where there is none. */
  readonly metadata?: ReadonlyMap<string, string>;
}

/** What the file says of a value's type. */
export type OnnxType = DeclaredType;

/** A number, a symbol's name, or `undefined` where the file says nothing. */
export type OnnxDimension = DeclaredDimension;
