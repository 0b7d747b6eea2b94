/** Which values share the memory of others in PyTorch, and which reshapes write a copy after all. */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import { isStoredTable } from '../../analysis/storedTable.ts';
import { producerOf, soleReader } from '../../composites/flow.ts';
import { entryAt, itemAt } from '../../model/at.ts';
import { countElements } from '../../model/countElements.ts';
import { isInteger } from '../../model/elementType.ts';
import type { Graph, Operator } from '../../model/graph.ts';
import type { KnownCost } from '../../operators/definition.ts';
import { hasTrait, inPyTorch } from '../../operators/operatorFacts.ts';
import { type AttentionInputs, attentionLayout } from './attentionLayout.ts';
import { permutationOf } from './stridedCopies.ts';
import {
  contiguous,
  elementwiseStrides,
  expanded,
  liesInOrder,
  permuted,
  type Strided,
  stridesOfView,
  suggestsChannelsLast,
} from './strides.ts';

export interface ViewStorage {
  /** The value whose memory each value shares: itself, or what it is a view of. */
  readonly storage: (name: string) => string;
  /** How a value lies in that memory; `undefined` where its sizes are not known. */
  readonly layout: (name: string) => Strided | undefined;
  /** Indices of reshapes and casts that write their result, because nothing else can show it. */
  readonly copies: ReadonlySet<number>;
  /** What is written out in order although a view would show it: `contiguous()`, which not all files keep. */
  readonly laidOut: ReadonlySet<string>;
}

/**
 * Reshapes and transposes are views in PyTorch: they launch nothing and share memory. What a reshape makes of a tensor that no strides can
 * show lies in memory of its own (`stridedCopies.ts` charges the time of transposed ones); what an expanded tensor repeats is written
 * out by a reshape that puts repeated axes and others into one. The parts that `split`, `chunk` and slices give are views too: who
 * keeps one keeps the whole. What is computed element by element lies as its operands do. `isCast` tells of an operator whether it
 * gives another type than it takes, and `attention` which values a fused attention reads.
 */
export function viewStorage(training: TrainingGraph, questions: ViewQuestions): ViewStorage {
  const asRead = followViews(training, questions, new Set());
  const { laidOut } = asRead;
  return laidOut.size === 0 ? asRead : { ...followViews(training, questions, laidOut), laidOut };
}

/**
 * `laidOut` in: tensors that lie in order, whatever they are views of. Out: those of which a part is reshaped to what only a whole that
 * lies in order can show. Files do not keep `contiguous()`, and PyTorch lays out packed projections so before it takes queries, keys
 * and values out of them (torch/nn/functional.py, `_in_projection_packed`).
 */
function followViews(
  training: TrainingGraph,
  { isCast, attention, inOrder, liesLast }: ViewQuestions,
  wholes: ReadonlySet<string>,
): ViewStorage {
  const { graph } = training.analysis;
  const laidOut = new Set<string>();
  const roots = new Map<string, string>();
  const copies = new Set<number>();
  /** Of what does not lie in order. */
  const lying = new Map<string, readonly number[]>();
  const layout = (name: string): Strided | undefined => {
    const sizes = training.tensors.get(name)?.dimensions;
    if (sizes === undefined) return undefined;
    const strides = lying.get(name);
    return strides === undefined ? contiguous(sizes) : { sizes, strides };
  };
  const lay = (name: string, { sizes, strides }: Strided): void => {
    if (!liesInOrder({ sizes, strides })) lying.set(name, strides);
  };
  const computed = (operator: Operator, output: string, isElementwise: boolean): void => {
    const sizes = training.tensors.get(output)?.dimensions;
    if (sizes === undefined) return;
    const read = attention(operator);
    if (read !== undefined) {
      lay(output, attentionLayout(graph, read, { layout, sizes }));
      return;
    }
    if (liesLast(output) && sizes.length === 4) {
      lay(output, channelsLastOf(sizes));
      return;
    }
    // Images that are joined lie channels last where all do (aten/src/ATen/native/TensorShape.cpp, `cat_compute_output_memory_format`).
    if (hasTrait(operator, 'joins')) {
      // A tensor joined with no other is `contiguous()` of a layer spec.
      if (operator.inputs.length === 1) return;
      const joined = operator.inputs.map((name) => layout(name));
      if (joined.every((each) => each !== undefined && suggestsChannelsLast(each)))
        lay(output, channelsLastOf(sizes));
      return;
    }
    if (!isElementwise || inOrder(operator) || !operator.inputs.some((name) => lying.has(name))) return;
    const operands = operator.inputs.flatMap((name) => (name === '' ? [] : (layout(name) ?? [])));
    if (operands.every((operand) => broadcasts(operand.sizes, sizes)))
      lay(output, elementwiseStrides(operands, sizes));
  };
  for (const operator of graph.operators) {
    const cost = training.costs[operator.index];
    const [source] = operator.inputs;
    if (cost?.kind !== 'known' || source === undefined) continue;
    const root = roots.get(source) ?? source;
    const from = layout(source);
    const view = inPyTorch(operator)?.view;
    if (view === 'split') {
      for (const output of operator.outputs) {
        roots.set(output, root);
        const sizes = training.tensors.get(output)?.dimensions;
        if (from !== undefined && sizes !== undefined) lay(output, { sizes, strides: from.strides });
      }
      continue;
    }
    const [output] = operator.outputs;
    if (output === undefined) continue;
    const isShown = isView(cost, operator) || showsTable(training, operator, cost, [root, source, output]);
    if (!isShown || isCast(operator)) {
      if (isShown) copies.add(operator.index);
      // What goes backwards lies as what it is read from (aten/src/ATen/native/TensorTransformations.cpp, `flip`).
      computed(operator, output, isShown || cost.class === 'elementwise' || view === 'slice');
      continue;
    }
    const to = training.tensors.get(output)?.dimensions;
    if (from === undefined || to === undefined) continue;
    if (isLaidOut(operator, from)) {
      laidOut.add(output);
      continue;
    }
    const seen = viewOf(graph, operator, from, to) ?? keysAsGiven(training, operator, from);
    if (seen === undefined) {
      const part = producerOf(graph, source);
      const [whole = ''] = part?.inputs ?? [];
      if (part !== undefined && hasTrait(part, 'looks-up') && lying.has(whole)) laidOut.add(whole);
    }
    if (seen !== undefined && !wholes.has(output)) {
      roots.set(output, root);
      // What lies in other axes than the file has it is read by attention alone.
      if (seen.sizes.length === to.length) lay(output, seen);
    } else if (
      seen === undefined &&
      from.strides.includes(0) &&
      countElements(from.sizes) === countElements(to)
    ) {
      copies.add(operator.index);
    }
  }
  return { storage: (name) => roots.get(name) ?? name, layout, copies, laidOut };
}

interface ViewQuestions {
  readonly isCast: (operator: Operator) => boolean;
  /** What a fused attention reads; `undefined` for what is none. */
  readonly attention: (operator: Operator) => AttentionInputs | undefined;
  /** Whether what an operator makes lies in order whatever it reads. */
  readonly inOrder: (operator: Operator) => boolean;
  /** Whether images that an operator makes lie channels last. */
  readonly liesLast: (name: string) => boolean;
}

/** Whether an operator is `contiguous()` of what does not lie in order; images that lie channels last are taken through other calls. */
const isLaidOut = (operator: Operator, from: Strided): boolean =>
  operator.isLaidOut === true && !liesInOrder(from) && !suggestsChannelsLast(from);

/** Images of [images, channels, rows, columns], the channels of a pixel side by side. */
const channelsLastOf = ([images = 1, channels = 1, rows = 1, columns = 1]: readonly number[]): Strided =>
  permuted(contiguous([images, rows, columns, channels]), [0, 3, 1, 2]);

/** How a view of a tensor lies; `undefined` where it is none. */
function viewOf(graph: Graph, operator: Operator, from: Strided, to: readonly number[]): Strided | undefined {
  const view = inPyTorch(operator)?.view;
  if (view === 'expand') return expanded(from, to);
  if (view === 'permute') {
    const order = permutationOf(operator, from.sizes.length);
    return order && permuted(from, order);
  }
  if (view === 'slice') return { sizes: to, strides: stridesOfSlice(graph, operator, from.strides) };
  // A look-up that is a view takes one entry: `x[:, 0]`.
  if (hasTrait(operator, 'looks-up') && to.length === from.sizes.length - 1) {
    const axis = axisOf(operator, from.sizes.length);
    return { sizes: to, strides: from.strides.toSpliced(axis, 1) };
  }
  if (hasTrait(operator, 'looks-up')) return contiguous(to);
  // Pairs of numbers as complex ones, or these as pairs.
  if (countElements(from.sizes) !== countElements(to))
    return view === 'reshape' && liesInOrder(from) ? contiguous(to) : undefined;
  // Layer specs write what PyTorch lays out in order as a tensor joined with no other.
  if (operator.type === 'Concat') return liesInOrder(from) ? from : undefined;
  const strides = stridesOfView(from, to);
  return strides && { sizes: to, strides };
}

/**
 * How keys of one head lie that attention repeats for all queries. The default exporter joins the reshape of a model, which is a view,
 * with its own, to one stack of matrices, which would be none: it transposes that and takes heads apart again.
 */
function keysAsGiven(
  { analysis, tensors }: TrainingGraph,
  operator: Operator,
  from: Strided,
): Strided | undefined {
  const { graph, composites } = analysis;
  const transpose = operator.type === 'Reshape' ? soleReader(graph, operator.outputs[0]) : undefined;
  const heads = transpose?.type === 'Transpose' ? soleReader(graph, transpose.outputs[0]) : undefined;
  if (transpose === undefined || heads?.type !== 'Reshape') return undefined;
  if (composites.get(transpose.index)?.kind !== 'attention') return undefined;
  const order = permutationOf(transpose, 3);
  const sizes = entryAt(tensors, heads.outputs[0] ?? '').dimensions;
  if (order?.join() !== '0,2,1' || sizes.length !== 4) return undefined;
  const to = [0, 1, 3, 2].map((axis) => itemAt(sizes, axis));
  const strides = stridesOfView(from, to);
  return strides && { sizes: to, strides };
}

function stridesOfSlice(graph: Graph, { inputs }: Operator, strides: readonly number[]): readonly number[] {
  const numbers = (name = '') => graph.values.get(name)?.content?.elements;
  const [axes, steps] = [numbers(inputs[3]), numbers(inputs[4])];
  if (steps === undefined) return strides;
  const result = [...strides];
  for (const [at, step] of steps.entries()) {
    const given = axes === undefined ? at : axes[at];
    if (typeof step !== 'number' || typeof given !== 'number') continue;
    const axis = given < 0 ? given + strides.length : given;
    result[axis] = (strides[axis] ?? 1) * Math.abs(step);
  }
  return result;
}

function axisOf({ attributes }: Operator, rank: number): number {
  const given = attributes.get('axis');
  const axis = given?.kind === 'int' ? given.value : 0;
  return axis < 0 ? axis + rank : axis;
}

/** Whether a tensor can be broadcast to `target`. */
const broadcasts = (sizes: readonly number[], target: readonly number[]): boolean =>
  sizes.length <= target.length &&
  sizes.every((size, axis) => size === 1 || size === target[axis + target.length - sizes.length]);

export const isView = (cost: KnownCost, operator: Operator): boolean =>
  cost.class === 'view' || inPyTorch(operator)?.view === 'permute';

/**
 * What is computed from shapes and constants alone launches nothing, but where it is kept, it is kept as it lies: a table that is expanded,
 * one of numbers that is cut or reshaped, and positions that are cast too.
 */
function showsTable(
  { analysis, tensors }: TrainingGraph,
  operator: Operator,
  cost: KnownCost,
  [root, source, output]: readonly [string, string, string],
): boolean {
  const [from, to] = [tensors.get(source)?.elementType, tensors.get(output)?.elementType];
  if (cost.class !== 'shape' || to === undefined || from !== to) return false;
  const view = inPyTorch(operator)?.view;
  if (view === 'expand') return true;
  if (isInteger(to)) return hasTrait(operator, 'casts');
  const table = analysis.graph.values.get(root);
  const isCut = view === 'slice' || view === 'reshape';
  return isCut && table !== undefined && isStoredTable(analysis.graph, table);
}
