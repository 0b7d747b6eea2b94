export interface ModelSymbol {
  readonly name: string;
  /** What a layer spec gives it. */
  readonly default: number | undefined;
  /** The largest value that the model was exported for. */
  readonly limit?: number;
}

/** What analysis gives: the graph with shapes, its layers, its parameters, and what is wrong with them. */

import type { Composites } from '../composites/findComposites.ts';
import type { BlockFormat } from '../model/blockFormat.ts';
import type { ElementType } from '../model/elementType.ts';
import type { Graph, Layer, ValueType } from '../model/graph.ts';
import type { Issue } from '../model/issue.ts';
import type { BoundTensor, OperatorCost } from '../operators/definition.ts';
import type { CostingPlan } from './planCosting.ts';
import type { FoldLayout } from './repetition/foldGraph.ts';

export interface ModelAnalysis {
  readonly graph: Graph;
  /** Operators that together are one thing with a name, by the index of each. */
  readonly composites: Composites;
  readonly layers: readonly Layer[];
  /** Trainable tensors, each once however often it is shared. */
  readonly parameters: readonly Parameter[];
  /** Weights that are not trained: they are stored and read, and nothing more. */
  readonly frozen: readonly Parameter[];
  /** The symbol that stands for the batch: the leading dimension of the first input, if symbolic. */
  readonly batchSymbol: string | undefined;
  /** The batch where the model fixes it. */
  readonly fixedBatch: number | undefined;
  /** Symbols of the graph in order of appearance. */
  readonly symbols: readonly ModelSymbol[];
  readonly issues: readonly Issue[];
  /** What costing a training step needs whatever the scenario. */
  readonly costing: CostingPlan;
  /** Where the graph is of one decode step: what its attentions keep between steps. */
  readonly caches?: readonly AttentionCache[];
  /** Where the graph repeats a block: the same analysis with most of the blocks left out, which costs the same to find. */
  readonly folded?: Folded;
}

/** What one attention keeps from one decode step to the next. */
export interface AttentionCache {
  /** Of one token: keys and values, in the shape that the model computes them in, or what it makes both from. */
  readonly kept: readonly ValueType[];
  /** Tokens that one token sees, itself included; absent where it sees all before it. */
  readonly window?: number;
  /** Keys and values of another sequence (an encoder's), to which a decode step adds nothing. */
  readonly isFixed: boolean;
}

/** A graph that repeats a block, with most of the blocks left out. */
export interface Folded {
  readonly analysis: ModelAnalysis;
  /** Where its operators stand in the whole graph. */
  readonly layout: FoldLayout;
  /** By layer of the whole graph: the layer of the folded one that it is like. */
  readonly layers: Int32Array;
  /** Name of an operator of the whole graph. */
  readonly nameOf: (index: number) => string;
  /** The node of the file that it comes from. */
  readonly sourceOf: (index: number) => number | undefined;
}

export interface Parameter {
  readonly name: string;
  readonly elements: number;
  readonly elementType: ElementType;
  /** Operators that use it, ascending. */
  readonly operators: readonly number[];
  /** Of a frozen one that is kept in few bits, and made whole where it is read. */
  readonly format?: BlockFormat;
  /** Of experts that are divided over so many workers, each with a part of the batch: others have its gradient too. */
  readonly expertWays?: number;
}

/** The training graph: the analysis with dimensions bound and every operator costed. Knows no hardware. */
export interface TrainingGraph {
  readonly analysis: ModelAnalysis;
  /** Samples per GPU in one step. */
  readonly batch: number;
  /** Aligned with `analysis.graph.operators`. */
  readonly costs: readonly OperatorCost[];
  /** Tensors with bound dimensions; a value whose shape is unknown is absent. */
  readonly tensors: ReadonlyMap<string, BoundTensor>;
  /** Values that receive a gradient in backward. */
  readonly requiresGradient: ReadonlySet<string>;
  /** Where the analysis is folded and the blocks cost the same: the training graph of the folded one. */
  readonly folded?: TrainingGraph;
}
