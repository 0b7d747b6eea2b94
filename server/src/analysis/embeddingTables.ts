/**
 * Parameters that are only looked up, row by row: what of them a step touches, and where their rows go.
 *
 * Indices are taken as drawn evenly, which is the most distinct rows: of V rows, n lookups meet V(1 − (1 − 1/V)ⁿ), no more than
 * either. Data of people is skewed and meets fewer.
 */

import { itemAt } from '../model/at.ts';
import type { Graph, LayerMarks, Operator } from '../model/graph.ts';
import type { BoundTensor } from '../operators/definition.ts';
import type { TrainingGraph } from './modelAnalysis.ts';
import { foldedIndex } from './repetition/foldGraph.ts';

export interface EmbeddingTable {
  /** Index of the parameter in `ModelAnalysis.parameters`. */
  readonly index: number;
  readonly rows: number;
  /** Elements of a row. */
  readonly width: number;
  /** Rows looked up in one pass of one GPU, each as often as it is. */
  readonly lookups: number;
  /** Its layers ask for a sparse gradient (`sparse=True`). */
  readonly isSparse: boolean;
  /** Positions of the operators that look it up. */
  readonly operators: readonly number[];
  /** What becomes of its rows: those of a bag are added first. */
  readonly result: LookupResult;
}

export interface LookupResult {
  readonly elements: number;
  /** Whether rows are added before anything else reads them, wherever they are looked up. */
  readonly isBag: boolean;
  /** Position of the operator that gives it, and of the first that reads it; absent where nothing does. */
  readonly from: number;
  readonly to: number | undefined;
}

/** The tables of a training graph, by index. Those of sizes that are not known are left out. */
export function embeddingTables(training: TrainingGraph): readonly EmbeddingTable[] {
  const known = found.get(training);
  if (known !== undefined) return known;
  const tables = findTables(training);
  found.set(training, tables);
  return tables;
}

const found = new WeakMap<TrainingGraph, readonly EmbeddingTable[]>();

/** Rows that `lookups` meet of a table, at least one each (see above). */
export const distinctRows = (rows: number, lookups: number): number =>
  rows <= 1 ? Math.min(rows, lookups) : -rows * Math.expm1(lookups * Math.log1p(-1 / rows));

interface Reading {
  readonly graph: Graph;
  readonly tensors: ReadonlyMap<string, BoundTensor>;
  /** Position in the graph read of an operator of the whole one. */
  readonly place: (index: number) => number;
}

function findTables(training: TrainingGraph): readonly EmbeddingTable[] {
  const { analysis } = training;
  const reading = readingOf(training);
  const isMarked = analysis.layers.some(({ marks }) => marks?.sparseGradient)
    ? marksByOperator(analysis.layers)
    : undefined;
  return analysis.parameters.flatMap(({ name, operators }, index): readonly EmbeddingTable[] => {
    const own = operators.map((position) => itemAt(reading.graph.operators, reading.place(position)));
    const [first] = own;
    if (first === undefined || !own.every((operator) => isLookup(operator, reading))) return [];
    // Of copies of a block, the one that stands for them has the sizes.
    const table = reading.tensors.get(first.inputs[0] ?? '');
    const [rows, width] = table?.dimensions ?? [];
    const results = own.map((operator) => reading.tensors.get(operator.outputs[0] ?? ''));
    if (rows === undefined || width === undefined || width === 0 || name === '') return [];
    if (results.includes(undefined)) return [];
    const elements = results.reduce((total, result) => total + (result?.elements ?? Number.NaN), 0);
    return [
      {
        index,
        rows,
        width,
        lookups: elements / width,
        isSparse: operators.every((position) => isMarked?.has(position) === true),
        operators,
        result: resultOf(operators, own, reading),
      },
    ];
  });
}

/** A folded graph answers for the whole one, whose tensors are better not made. */
function readingOf(training: TrainingGraph): Reading {
  const layout = training.analysis.folded?.layout;
  const { folded } = training;
  return folded === undefined || layout === undefined
    ? { graph: training.analysis.graph, tensors: training.tensors, place: (index) => index }
    : {
        graph: folded.analysis.graph,
        tensors: folded.tensors,
        place: (index) => foldedIndex(layout, index),
      };
}

/** Gather of rows of a matrix that it reads as its first input. */
function isLookup(operator: Operator, { graph, tensors }: Reading): boolean {
  if (operator.type !== 'Gather' || operator.domain !== '') return false;
  const axis = operator.attributes.get('axis');
  const [table = '', indices = ''] = operator.inputs;
  if (graph.values.get(table)?.role !== 'parameter' || graph.values.get(indices)?.content !== undefined)
    return false;
  return (axis?.kind !== 'int' || axis.value === 0) && tensors.get(table)?.dimensions.length === 2;
}

/** Bags add rows in the operator behind the lookup; with several lookups each goes by itself. */
function resultOf(
  positions: readonly number[],
  operators: readonly Operator[],
  { graph, tensors }: Reading,
): LookupResult {
  let elements = 0;
  let from = 0;
  let to: number | undefined;
  let areBags = true;
  for (const [index, operator] of operators.entries()) {
    const shift = itemAt(positions, index) - operator.index;
    const rows = operator.outputs[0] ?? '';
    const readers = graph.values.get(rows)?.consumers ?? [];
    const adding = readers.length === 1 ? graph.operators[readers[0] ?? -1] : undefined;
    const isBag = adding !== undefined && addsRows(adding);
    const last = isBag ? adding : operator;
    areBags &&= isBag;
    const name = last.outputs[0] ?? '';
    const [reader] = graph.values.get(name)?.consumers ?? [];
    elements += tensors.get(name)?.elements ?? 0;
    from = Math.max(from, last.index + shift);
    if (reader !== undefined) to = Math.min(to ?? reader + shift, reader + shift);
  }
  return { elements, isBag: areBags, from, to };
}

const addsRows = (operator: Operator): boolean =>
  ['ReduceSum', 'ReduceMean', 'ReduceMax', 'ScatterND'].includes(operator.type);

function marksByOperator(
  layers: readonly { readonly operators: readonly number[]; readonly marks?: LayerMarks }[],
): ReadonlySet<number> {
  return new Set(layers.flatMap(({ operators, marks }) => (marks?.sparseGradient ? operators : [])));
}
