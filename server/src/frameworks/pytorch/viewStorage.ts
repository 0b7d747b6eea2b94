/** Which values share the memory of others in PyTorch, and which reshapes write a copy after all. */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { Operator } from '../../model/graph.ts';
import type { KnownCost } from '../../operators/definition.ts';
import { inPyTorch } from '../../operators/operatorFacts.ts';
import { isViewable } from './stridedCopies.ts';

export interface ViewStorage {
  /** The value whose memory each value shares: itself, or what it is a view of. */
  readonly storage: (name: string) => string;
  /** Indices of reshapes and casts that write their result, because nothing else can show it. */
  readonly copies: ReadonlySet<number>;
}

/**
 * Reshapes and transposes are views in PyTorch: they launch nothing and share memory. Of a transposed tensor that a reshape
 * must copy the time is charged (`stridedCopies.ts`), and its memory is taken to be shared; what an expanded tensor repeats
 * is written out by a reshape that puts repeated axes and others into one. The parts that `split`, `chunk` and slices give
 * are views too: who keeps one keeps the whole. `isCast` tells of an operator whether it gives another type than it takes.
 */
export function viewStorage(training: TrainingGraph, isCast: (operator: Operator) => boolean): ViewStorage {
  const { graph } = training.analysis;
  const roots = new Map<string, string>();
  const copies = new Set<number>();
  /** Strides of what was expanded and not written out since; the rest lies in order. */
  const strides = new Map<string, readonly number[]>();
  for (const operator of graph.operators) {
    const cost = training.costs[operator.index];
    const [source] = operator.inputs;
    if (cost?.kind !== 'known' || source === undefined) continue;
    const root = roots.get(source) ?? source;
    const view = inPyTorch(operator)?.view;
    if (view === 'split') {
      for (const output of operator.outputs) roots.set(output, root);
      continue;
    }
    const [output] = operator.outputs;
    if (output === undefined || !isView(cost, operator)) continue;
    if (isCast(operator)) {
      copies.add(operator.index);
      continue;
    }
    const from = training.tensors.get(source)?.dimensions;
    const to = training.tensors.get(output)?.dimensions;
    if (from === undefined || to === undefined) continue;
    if (view === 'expand') {
      roots.set(output, root);
      strides.set(output, expandedStrides(from, to));
      continue;
    }
    const expanded = strides.get(source);
    if (expanded === undefined) {
      if (sizeOf(from) === sizeOf(to) || view === 'slice') roots.set(output, root);
    } else if (view !== 'permute' && sizeOf(from) === sizeOf(to)) {
      if (!isViewable({ sizes: from, strides: expanded }, to)) copies.add(operator.index);
      else {
        roots.set(output, root);
        // Unoptimized exports write `clone` and `contiguous()` so, before the reshape that copies.
        if (operator.type === 'Identity') strides.set(output, expanded);
      }
    }
  }
  return { storage: (name) => roots.get(name) ?? name, copies };
}

export const isView = (cost: KnownCost, operator: Operator): boolean =>
  cost.class === 'view' || inPyTorch(operator)?.view === 'permute';

const sizeOf = (shape: readonly number[]): number => shape.reduce((total, size) => total * size, 1);

/** Of a tensor that lies in order, with 0 where an axis is repeated. */
function expandedStrides(from: readonly number[], to: readonly number[]): readonly number[] {
  const result = to.map(() => 0);
  let stride = 1;
  for (let axis = from.length - 1; axis >= 0; axis -= 1) {
    const size = from[axis] ?? 1;
    const place = axis + to.length - from.length;
    if (size === to[place] && size !== 1) result[place] = stride;
    stride *= size;
  }
  return result;
}
