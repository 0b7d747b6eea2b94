/**
 * Copies that eager PyTorch makes of transposed tensors. `transpose` and `permute` are views, so a tensor may lie in
 * memory in another order than its axes say. What reads it takes strides as they are, but for three: a reshape to a shape
 * that no strides describe (aten/src/ATen/TensorUtils.cpp, `computeStride`), a product, which reshapes its operands to
 * matrices or to one stack of matrices (aten/src/ATen/native/LinearAlgebra.cpp, `_matmul_impl`), and a layer normalization
 * (aten/src/ATen/native/layer_norm.h, `expect_contiguous`). Gradients pass the same views the other way: what a product
 * gives back lies as its operand did, so the reshape before the transposition copies it, and what a reshape gives back is
 * transposed, so the product before it does.
 */

import { hasBackward } from '../../analysis/hasBackward.ts';
import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import { producerOf } from '../../composites/flow.ts';
import { itemAt } from '../../model/at.ts';
import { countElements } from '../../model/countElements.ts';
import type { Operator } from '../../model/graph.ts';
import { inPyTorch } from '../../operators/operatorFacts.ts';
import type { FusedGroup } from './fusedGroups.ts';
import {
  contiguous,
  elementwiseStrides,
  liesInOrder,
  permuted,
  type Strided,
  stridesOfView,
} from './strides.ts';

/** How often the output of a `Transpose` is copied forward, and its gradient backward. */
export interface StridedCopies {
  readonly forward: number;
  readonly backward: number;
}

/**
 * Operators of `groups` are one kernel each, which takes strides; what is folded is never copied. What a layer normalization copies is
 * its own, and so is what `contiguous()` copies (`lowerOperator.ts`), behind which gradients lie in order.
 */
export function copiesOfTransposed(
  training: TrainingGraph,
  {
    layout,
    laidOut,
  }: { readonly layout: (name: string) => Strided | undefined; readonly laidOut: ReadonlySet<string> },
  operator: Operator,
  groups: ReadonlyMap<number, FusedGroup>,
): StridedCopies {
  if (training.analysis.costing.auxiliary.shapeArithmetic[operator.index]) return { forward: 0, backward: 0 };
  const [source = ''] = operator.inputs;
  const [output = ''] = operator.outputs;
  const sizes = training.tensors.get(source)?.dimensions;
  const order = permutationOf(operator, sizes?.length ?? 0);
  const lies = layout(source);
  const given = lies && order && permuted(lies, order);
  if (sizes === undefined || order === undefined || given === undefined) return { forward: 0, backward: 0 };
  let reshaped = 0;
  let forward = 0;
  for (const { consumer, name } of readersOf(training, output, laidOut)) {
    if (consumer.type === 'Identity') reshaped += 1;
    if (groups.has(consumer.index)) continue;
    const target = shapeRead(training, consumer, name);
    if (target === undefined) continue;
    const isRead = isViewable(given, target);
    // Gradients of attention lie as what it read (aten/src/ATen/native/transformers/cuda/flash_attn/flash_api.cpp, `mha_bwd`).
    if (isRead && isReadByAttention(training, consumer, groups)) continue;
    reshaped += 1;
    if (!isRead && inPyTorch(consumer)?.operands !== 'contiguous') forward += 1;
  }
  const isOrdered = reshaped > 0 || isNormalizedNext(training, output) || isPartedNext(training, output);
  if (!isOrdered || !hasBackward(training, operator)) return { forward, backward: 0 };
  const wanted = shapeWritten(training, source, groups);
  const back = permuted(contiguous(given.sizes), inverse(order));
  return { forward, backward: wanted === undefined || isViewable(back, wanted) ? 0 : 1 };
}

interface Reader {
  readonly consumer: Operator;
  /** The tensor that it reads. */
  readonly name: string;
}

/** What reads a tensor, behind an Identity too; one that gives a value of `laidOut` reads it itself. */
function readersOf(
  training: TrainingGraph,
  name: string,
  laidOut: ReadonlySet<string> = new Set(),
): readonly Reader[] {
  const { operators, values } = training.analysis.graph;
  return (values.get(name)?.consumers ?? []).flatMap((index): readonly Reader[] => {
    const consumer = itemAt(operators, index);
    const [output = ''] = consumer.outputs;
    return consumer.type === 'Identity' && !laidOut.has(output)
      ? readersOf(training, output, laidOut)
      : [{ consumer, name }];
  });
}

/** Whether nothing but views stand between a reader and fused attention. */
function isReadByAttention(
  training: TrainingGraph,
  reader: Operator,
  groups: ReadonlyMap<number, FusedGroup>,
): boolean {
  if (reader.type === 'Attention' || groups.get(reader.index)?.kind === 'attention') return true;
  const { view } = inPyTorch(reader) ?? {};
  if (view !== 'reshape' && view !== 'permute') return false;
  return isForAttention(training, reader.outputs[0] ?? '', groups);
}

/** Whether all that reads a tensor is fused attention, or views of it in front of that. */
function isForAttention(
  training: TrainingGraph,
  name: string,
  groups: ReadonlyMap<number, FusedGroup>,
): boolean {
  const { shapeArithmetic } = training.analysis.costing.auxiliary;
  const readers = readersOf(training, name).filter(({ consumer }) => !shapeArithmetic[consumer.index]);
  return readers.length > 0 && readers.every(({ consumer }) => isReadByAttention(training, consumer, groups));
}

/**
 * Whether a layer normalization reads a tensor, or what is added to it: what that gives back lies in order, and additions pass it on
 * as it is.
 */
function isNormalizedNext(training: TrainingGraph, name: string, sums = 1): boolean {
  return readersOf(training, name).some(
    ({ consumer }) =>
      inPyTorch(consumer)?.operands === 'contiguous' ||
      (consumer.type === 'Add' &&
        sums > 0 &&
        isNormalizedNext(training, consumer.outputs[0] ?? '', sums - 1)),
  );
}

/** Whether a tensor is parted: the gradients of its parts are put into one that lies in order. */
const isPartedNext = (training: TrainingGraph, name: string): boolean =>
  readersOf(training, name).some(
    ({ consumer }) => inPyTorch(consumer)?.view === 'split' && consumer.outputs.length > 1,
  );

/**
 * Whether the gradient of a part comes from attention in another order than its axes say: it lies as attention read the part, but in
 * memory of its own.
 */
export function isGradientTransposed(
  training: TrainingGraph,
  layout: (name: string) => Strided | undefined,
  part: string,
  groups: ReadonlyMap<number, FusedGroup>,
): boolean {
  const lies = layout(part);
  if (lies === undefined || liesInOrder(elementwiseStrides([lies], lies.sizes))) return false;
  return isForAttention(training, part, groups);
}

/** The shape that a reader makes of a tensor before it computes; `undefined` where it takes any strides. */
function shapeRead(training: TrainingGraph, reader: Operator, name: string): readonly number[] | undefined {
  const { operands, view } = inPyTorch(reader) ?? {};
  if (operands === 'matrices') {
    const [left, right] = reader.inputs.map((input) => training.tensors.get(input)?.dimensions);
    const own = reader.inputs[0] === name ? left : right;
    if (left === undefined || right === undefined || own === undefined || own.length < 3) return undefined;
    return left.length > 2 && right.length > 2 ? stack(own) : matrix(own);
  }
  if (operands === 'contiguous') return flat(training.tensors.get(name)?.dimensions);
  return view === 'reshape' ? training.tensors.get(reader.outputs[0] ?? '')?.dimensions : undefined;
}

/** The shape that the gradient of a tensor is needed in by what made the tensor. */
function shapeWritten(
  training: TrainingGraph,
  name: string,
  groups: ReadonlyMap<number, FusedGroup>,
): readonly number[] | undefined {
  const maker = producerOf(training.analysis.graph, name);
  if (maker === undefined || groups.has(maker.index)) return undefined;
  const own = training.tensors.get(name)?.dimensions;
  const { operands, view } = inPyTorch(maker) ?? {};
  if (operands === 'matrices' && own !== undefined && own.length > 2) {
    const isStack = maker.inputs.every((input) => (training.tensors.get(input)?.dimensions.length ?? 0) > 2);
    return isStack ? stack(own) : matrix(own);
  }
  if (operands === 'contiguous') return flat(own);
  const [first = '', second = ''] = maker.inputs;
  // A bias that is added to a product is part of it.
  if (maker.type === 'Add' && training.tensors.get(second)?.dimensions.length === 1)
    return shapeWritten(training, first, groups);
  if (maker.type === 'Identity') return shapeWritten(training, first, groups);
  if (view !== 'reshape') return undefined;
  return shapeWritten(training, first, groups) ?? training.tensors.get(first)?.dimensions;
}

const stack = (sizes: readonly number[]): readonly number[] => [
  countElements(sizes.slice(0, -2)),
  ...sizes.slice(-2),
];

const matrix = (sizes: readonly number[]): readonly number[] => [
  countElements(sizes.slice(0, -1)),
  ...sizes.slice(-1),
];

const flat = (sizes: readonly number[] | undefined): readonly number[] | undefined =>
  sizes && [countElements(sizes)];

export function permutationOf({ attributes }: Operator, rank: number): readonly number[] | undefined {
  const given = attributes.get('perm');
  if (given === undefined) return Array.from({ length: rank }, (_, axis) => rank - 1 - axis);
  if (given.kind !== 'ints' || given.value.length !== rank) return undefined;
  return given.value;
}

const inverse = (order: readonly number[]): readonly number[] => order.map((_, axis) => order.indexOf(axis));

/** Whether strides can describe the same elements in another shape. */
const isViewable = (given: Strided, target: readonly number[]): boolean =>
  stridesOfView(given, target) !== undefined;
