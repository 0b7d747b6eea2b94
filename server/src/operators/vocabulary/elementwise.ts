/** Element-wise operators: one output element per broadcast position. */

import type { Dimension } from '../../model/dimension.ts';
import { type ElementType, isFloatingPoint } from '../../model/elementType.ts';
import type { TensorContent } from '../../model/graph.ts';
import type {
  BoundTensor,
  CostContext,
  Inference,
  InferenceContext,
  OperatorCost,
  SavedTensor,
  Work,
} from '../definition.ts';
import { broadcastShapes } from './broadcast.ts';
import { combineContents } from './contents.ts';
import { elementTypeOf, mismatch, printShape, single, tensor, unknownBecause } from './types.ts';
import {
  addWork,
  backwardOf,
  cost,
  isShapeArithmetic,
  needsGradient,
  savedInput,
  savedOutput,
  shapeCost,
  trafficOf,
  unknownShapeCost,
  work,
} from './work.ts';

/** The output of an operator that broadcasts all its inputs; its type is that of the first unless given. */
export function inferBroadcast(
  context: InferenceContext,
  options?: {
    readonly elementType?: ElementType;
    readonly combine?: (elements: readonly Dimension[]) => Dimension;
    /** Inputs that only describe the operation. */
    readonly inputs?: number;
  },
): Inference {
  const count = options?.inputs ?? context.inputCount;
  const elementType = options?.elementType ?? firstElementType(context, count);
  const shapes: (readonly Dimension[])[] = [];
  for (let index = 0; index < count; index += 1) {
    const shape = context.inputShape(index);
    if (shape === undefined) return unknownBecause(context, index, elementType);
    shapes.push(shape);
  }
  const shape = broadcastShapes(shapes);
  if (shape === undefined) {
    const [first, ...others] = shapes;
    return mismatch(
      `shapes ${shapes.map(printShape).join(' and ')} cannot be broadcast together; aligned at the end, sizes must be equal or 1`,
      tensor(elementType, others.length > 0 ? longest(shapes) : (first ?? [])),
    );
  }
  const combine = options?.combine;
  const content: TensorContent | undefined =
    combine === undefined
      ? undefined
      : combineContents(
          Array.from({ length: count }, (_, index) => context.inputContent(index)),
          combine,
        );
  return single(tensor(elementType, shape), content);
}

/** The output is like input 0. */
export function inferLikeInput(
  context: InferenceContext,
  options?: {
    readonly elementType?: ElementType;
    readonly combine?: (elements: readonly Dimension[]) => Dimension;
  },
): Inference {
  return inferBroadcast(context, { ...options, inputs: 1 });
}

function firstElementType(context: InferenceContext, count: number): ElementType {
  for (let index = 0; index < count; index += 1) {
    const type = elementTypeOf(context, index);
    if (type !== 'undefined') return type;
  }
  return 'undefined';
}

const longest = (shapes: readonly (readonly Dimension[])[]): readonly Dimension[] =>
  shapes.reduce((best, shape) => (shape.length > best.length ? shape : best), []);

/** What autograd keeps to compute the gradient of an input, and what that gradient costs. */
export interface ElementwiseGradient {
  /** Inputs and outputs read again; `'mask'` is one byte per output element. */
  readonly reads: readonly (SavedTensor | 'mask')[];
  /** Operations per element. */
  readonly operations: number;
  /** The gradient is that of the output itself: no kernel unless the input was broadcast. */
  readonly passes?: boolean;
}

/**
 * The cost of an element-wise operator: every tensor is read once and written once, and each gradient reads the
 * output's gradient and what was saved for it. A broadcast input's gradient is summed by one more kernel.
 */
export function elementwiseCost(
  context: CostContext,
  operations: number,
  gradientOf: (index: number) => ElementwiseGradient | undefined,
): OperatorCost {
  if (isShapeArithmetic(context) && !needsGradient(context)) return shapeCost;
  const output = context.output(0);
  const inputs = Array.from({ length: context.inputCount }, (_, index) => context.input(index));
  if (output === undefined || inputs[0] === undefined) return unknownShapeCost;
  const forward = work({ operations: operations * output.elements, traffic: trafficOf(...inputs, output) });
  if (!needsGradient(context) || !isFloatingPoint(output.elementType)) return cost('elementwise', forward);

  const saved: SavedTensor[] = [];
  const { data, weight } = backwardOf(context, (index) => {
    const gradient = gradientOf(index);
    const input = context.input(index);
    if (gradient === undefined || input === undefined)
      return { ...work({ traffic: trafficOf(), kernels: 0 }) };
    const reads = gradient.reads.map((read) => (read === 'mask' ? maskOf(output) : read));
    saved.push(...reads);
    return gradientWork(context, gradient, input, output, reads);
  });
  return cost('elementwise', forward, { data, weight, saved: distinct(saved) });
}

function gradientWork(
  context: CostContext,
  gradient: ElementwiseGradient,
  input: BoundTensor,
  output: BoundTensor,
  reads: readonly SavedTensor[],
): Work {
  const again = reads.map((read) => {
    if (read.kind === 'extra') return read.traffic;
    return trafficOf(read.kind === 'input' ? context.input(read.index) : context.output(read.index));
  });
  const own =
    gradient.passes === true
      ? work({ traffic: trafficOf(), kernels: 0 })
      : work({
          operations: gradient.operations * output.elements,
          traffic: sumOf([trafficOf(output, output), ...again]),
        });
  if (input.elements >= output.elements) return own;
  return addWork(own, work({ operations: output.elements, traffic: trafficOf(output, input) }));
}

const sumOf = (parts: readonly { readonly float32Elements: number; readonly fixedBytes: number }[]) =>
  parts.reduce((total, part) => ({
    float32Elements: total.float32Elements + part.float32Elements,
    fixedBytes: total.fixedBytes + part.fixedBytes,
  }));

/** A boolean mask of the shape of a tensor: one byte per element, as PyTorch stores it. */
export const maskOf = (tensor: BoundTensor): SavedTensor => ({
  kind: 'extra',
  name: 'mask',
  traffic: { float32Elements: 0, fixedBytes: tensor.elements },
});

function distinct(saved: readonly SavedTensor[]): readonly SavedTensor[] {
  const seen = new Map<string, SavedTensor>();
  for (const tensor of saved) {
    const key = tensor.kind === 'extra' ? `extra ${tensor.name}` : `${tensor.kind} ${tensor.index}`;
    if (!seen.has(key)) seen.set(key, tensor);
  }
  return [...seen.values()];
}

export const readsInput = (operations: number, index = 0): ElementwiseGradient => ({
  reads: [savedInput(index)],
  operations,
});
export const readsOutput = (operations: number): ElementwiseGradient => ({
  reads: [savedOutput(0)],
  operations,
});
export const readsNothing = (operations: number): ElementwiseGradient => ({ reads: [], operations });
export const passesThrough: ElementwiseGradient = { reads: [], operations: 0, passes: true };
