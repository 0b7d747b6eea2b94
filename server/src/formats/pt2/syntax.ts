/**
 * A program of `torch.export` after reading: what its archive says, before anything is lowered.
 *
 * Names follow `torch/_export/serde/schema.py` of PyTorch 2.13 (schema 8.20).
 */

import type { ElementType } from '../../model/elementType.ts';

export interface ExportedProgram {
  /** Of the PyTorch that exported it, such as `2.13.0`. */
  readonly torchVersion: string;
  readonly graph: AtenGraph;
  /** What the inputs of the graph are, in their order. */
  readonly inputs: readonly ProgramInput[];
  /** Tensors that the model returns. */
  readonly outputs: readonly string[];
  /** Tensors that take the place of parameters after a step. */
  readonly mutated: readonly string[];
  /** Bounds of symbols, by name; `undefined` where there is none. */
  readonly ranges: ReadonlyMap<string, SymbolRange>;
}

export interface SymbolRange {
  readonly least: number | undefined;
  readonly greatest: number | undefined;
}

export interface ProgramInput {
  /** Name in the graph, such as `p_fc_weight`. */
  readonly name: string;
  readonly kind: 'input' | 'parameter' | 'buffer' | 'constant';
  /** Name in the model, such as `fc.weight`; that of the graph for an input. */
  readonly target: string;
}

export interface AtenGraph {
  readonly nodes: readonly AtenNode[];
  readonly tensors: ReadonlyMap<string, TensorMeta>;
  /** Names of what it is given, and of what it gives, in order; empty for what is no tensor. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** Sizes that nodes compute, by name: numbers, or arithmetic over symbols. */
  readonly sizes: ReadonlyMap<string, AtenSize>;
}

/** A number, arithmetic over symbols as `parseDimension` reads it, or `undefined` for what cannot be read. */
export type AtenSize = number | string | undefined;

export interface TensorMeta {
  readonly elementType: ElementType;
  readonly shape: readonly AtenSize[];
  readonly requiresGrad: boolean;
}

export interface AtenNode {
  /** Such as `torch.ops.aten.conv2d.default`. */
  readonly target: string;
  readonly arguments: ReadonlyMap<string, AtenArgument>;
  /** Names of results; empty for one that is no tensor or not computed. */
  readonly outputs: readonly string[];
  /** Modules around it, outermost first. */
  readonly modules: readonly AtenModule[];
  readonly stackTrace: string;
}

export interface AtenModule {
  /** Such as `layer1.0.conv1`; empty for the whole model. */
  readonly path: string;
  /** Such as `torch.nn.modules.conv.Conv2d`. */
  readonly className: string;
}

export type AtenArgument =
  | { readonly kind: 'none' }
  | { readonly kind: 'tensor'; readonly name: string }
  /** `undefined` for one that is left out. */
  | { readonly kind: 'tensors'; readonly names: readonly (string | undefined)[] }
  | { readonly kind: 'number'; readonly value: number }
  | { readonly kind: 'complex'; readonly real: number; readonly imaginary: number }
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'size'; readonly name: string }
  /** Names are those of `AtenGraph.sizes`. */
  | { readonly kind: 'sizes'; readonly values: readonly (number | string)[] }
  | { readonly kind: 'numbers'; readonly values: readonly number[] }
  | { readonly kind: 'booleans'; readonly values: readonly boolean[] }
  | { readonly kind: 'elementType'; readonly value: ElementType }
  | { readonly kind: 'graph'; readonly graph: AtenGraph }
  /** What no cost depends on, or what a later minor version added. */
  | { readonly kind: 'other' };
