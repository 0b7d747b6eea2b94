/**
 * What a lowering already knows about the graph it made, so that analysis does not have to guess it.
 *
 * A layer spec names its layers and parameters; an ONNX file does not, and leaves this out.
 */

import type { LayerMarks, ValueRole } from '../model/graph.ts';
import type { Issue, TextSpan } from '../model/issue.ts';

export interface ProvidedStructure {
  /** Every layer with its nodes: indices into `OnnxGraph.nodes`. A node in no layer is grouped as in a file. */
  readonly layers: readonly ProvidedLayer[];
  /**
   * Roles of values by name, `parameter` and `buffer` above all. A graph input may be given the role of a
   * parameter: it then is one. Values that are not named here get their role by inspection.
   */
  readonly roles: ReadonlyMap<string, ValueRole>;
  /** Values that symbolic dimensions take when a scenario gives none. */
  readonly symbolDefaults: ReadonlyMap<string, number>;
  /** The largest values that the source allows for symbolic dimensions. */
  readonly symbolLimits?: ReadonlyMap<string, number>;
  /** The symbol that is the batch, where the lowering knows it; else the leading dimension of the first input. */
  readonly batchSymbol?: string;
  /** Symbols whose missing value the lowering has reported, where they came from. */
  readonly reportedSymbols?: ReadonlySet<string>;
  /** Values behind which the source lets no gradient pass. */
  readonly detached?: ReadonlySet<string>;
  /** By node, the call of PyTorch that it is a part of, where the source records calls. */
  readonly calls?: ReadonlyMap<number, ProvidedCall>;
  /** Layers that the source says to stand several times in a row, such as `decoder() * 32`. */
  readonly repetitions?: readonly StatedRepetition[];
  /** Issues found while lowering that belong to the analysis; passed through in front of its own. */
  readonly issues: readonly Issue[];
}

/** A call of PyTorch: its name, unique in the model, and what was called, such as `silu_1` and `aten.silu.default`. */
export interface ProvidedCall {
  readonly name: string;
  readonly function: string;
  /** Qualified class of the module that calls, where that is known. */
  readonly moduleClass?: string;
  /** The program turns autocast off around it. */
  readonly isOutsideAutocast?: true;
  /** Of Python; '' where none was recorded. */
  readonly stackTrace: string;
}

/** Blocks of nodes, one after another, that a source states to be the same. */
export interface StatedRepetition {
  /** Index of the first node of the first block. */
  readonly start: number;
  /** Nodes in a block. */
  readonly period: number;
  /** Number of blocks. */
  readonly count: number;
}

export interface ProvidedLayer {
  /** Unique path, such as `h[3].fc`. */
  readonly name: string;
  readonly type: string;
  /** Enclosing paths, outermost first. */
  readonly ancestors: readonly string[];
  readonly nodes: readonly number[];
  readonly span?: TextSpan;
  readonly marks?: LayerMarks;
}

/** The layers that a lowering gives, and by node of the file the index of the one it is in, -1 for none. */
export interface GivenLayers {
  readonly layers: readonly ProvidedLayer[];
  readonly ofNode: Int32Array;
  readonly calls: ReadonlyMap<number, ProvidedCall>;
}

/** `nodes` is how many nodes the file has. */
export function givenLayers(
  { layers = [], calls = new Map() }: Partial<ProvidedStructure>,
  nodes: number,
): GivenLayers {
  const ofNode = new Int32Array(nodes).fill(-1);
  for (let layer = 0; layer < layers.length; layer += 1) {
    for (const node of layers[layer]?.nodes ?? []) ofNode[node] = layer;
  }
  return { layers, ofNode, calls };
}

/**
 * Domain of an operator that stands for what could not be lowered. Nothing knows it, so that totals say "at least";
 * the lowering has reported why, and analysis does not report it again.
 */
export const unloweredDomain = 'layer-spec';

/** The same of a Caffe net. An attribute `reason` says why, where that is known. */
export const caffeDomain = 'caffe';
