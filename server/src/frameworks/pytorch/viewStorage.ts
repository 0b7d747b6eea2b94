/** Which values share the memory of others in PyTorch, and which reshapes write a copy after all. */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import { isInteger } from '../../model/elementType.ts';
import type { Operator } from '../../model/graph.ts';
import type { KnownCost } from '../../operators/definition.ts';
import { hasTrait, inPyTorch } from '../../operators/operatorFacts.ts';
import { isViewable, permutedStrides, type Strided } from './stridedCopies.ts';

export interface ViewStorage {
  /** The value whose memory each value shares: itself, or what it is a view of. */
  readonly storage: (name: string) => string;
  /** Indices of reshapes and casts that write their result, because nothing else can show it. */
  readonly copies: ReadonlySet<number>;
}

/**
 * Reshapes and transposes are views in PyTorch: they launch nothing and share memory. What a reshape makes of a transposed
 * tensor that no strides can show lies in memory of its own (`stridedCopies.ts` charges the time); what an expanded tensor
 * repeats is written out by a reshape that puts repeated axes and others into one. The parts that `split`, `chunk` and slices give
 * are views too: who keeps one keeps the whole. `isCast` tells of an operator whether it gives another type than it takes,
 * and `liesInOrder` whether what it makes lies in memory as its axes say: fused attention writes heads innermost.
 */
export function viewStorage(
  training: TrainingGraph,
  { isCast, liesInOrder }: Record<'isCast' | 'liesInOrder', (operator: Operator) => boolean>,
): ViewStorage {
  const { graph } = training.analysis;
  const roots = new Map<string, string>();
  const copies = new Set<number>();
  /** Strides of what was expanded and not written out since; the rest lies in order. */
  const strides = new Map<string, readonly number[]>();
  /** How a transposed tensor lies whose source lies in order. */
  const transposed = new Map<string, Strided>();
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
    if (output === undefined) continue;
    if (!isView(cost, operator) && !showsPositions(training, operator, cost, [source, output])) continue;
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
    const swapped = transposed.get(source);
    if (view === 'permute' && root === source && expanded === undefined) {
      const maker = graph.operators[graph.values.get(source)?.producer ?? -1];
      const lies = permutedStrides(operator, from);
      if (lies !== undefined && (maker === undefined || liesInOrder(maker))) transposed.set(output, lies);
    }
    if (swapped !== undefined && view !== 'permute' && sizeOf(from) === sizeOf(to)) {
      if (!isViewable(swapped, to)) continue;
      if (operator.type === 'Identity') transposed.set(output, swapped);
    }
    if (expanded === undefined) {
      // A look-up that is a view takes one entry: `x[:, 0]`.
      const isPart = view === 'slice' || hasTrait(operator, 'looks-up');
      if (sizeOf(from) === sizeOf(to) || isPart) roots.set(output, root);
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

/** Positions computed from shapes alone launch nothing, but where they index something, they are kept as they lie. */
function showsPositions(
  { tensors }: TrainingGraph,
  operator: Operator,
  cost: KnownCost,
  [source, output]: readonly [string, string],
): boolean {
  const [from, to] = [tensors.get(source)?.elementType, tensors.get(output)?.elementType];
  if (cost.class !== 'shape' || to === undefined || from !== to || !isInteger(to)) return false;
  return inPyTorch(operator)?.view === 'expand' || hasTrait(operator, 'casts');
}

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
