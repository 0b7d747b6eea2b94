/**
 * What PyTorch computes by one function and ONNX has none for: products of rows with the matrix of their group, trilinear forms,
 * distances between all pairs, Fourier transforms of complex tensors and the views of these as pairs.
 */

import { countElements } from '../../model/countElements.ts';
import { type Dimension, unknownDimension } from '../../model/dimension.ts';
import type { ElementType } from '../../model/elementType.ts';
import type {
  CostContext,
  Inference,
  InferenceContext,
  OperatorDefinition,
  SavedTensor,
} from '../definition.ts';
import { unknownMap } from '../dimensionMap.ts';
import { broadcastShapes } from '../vocabulary/broadcast.ts';
import { define, ownDomain } from '../vocabulary/define.ts';
import { data, detached, noRule, operand, weight } from '../vocabulary/facts.ts';
import { copyCost, viewCost } from '../vocabulary/movement.ts';
import { elementTypeOf, mismatch, single, tensor, unknownBecause } from '../vocabulary/types.ts';
import {
  backwardOf,
  cost,
  savedInput,
  savedOutput,
  trafficOf,
  trafficOfElements,
  unknownShapeCost,
  work,
} from '../vocabulary/work.ts';
import { transformOperations } from './signal.ts';

const own = {
  domain: ownDomain,
  runner: noRule.unwritten,
  dimensions: () => unknownMap('it has no rule yet'),
};

/** Each row meets one matrix, so that the FLOPs are those of one product of all rows (aten/src/ATen/native/GroupedMMUtils.h). */
const groupedMatMul = define({
  ...own,
  type: 'GroupedMatMul',
  documentation:
    'rows times the matrix of their group, groups ending at offsets (torch._grouped_mm of PyTorch 2.13, GroupedMatMul-1)',
  inputs: [operand('rows'), operand('matrices'), detached('offsets')],
  // No list of autocast names it: it runs in the type of the weights (PyTorch 2.13, autocast_mode.h).
  pytorch: { layer: 'GroupedMatMul', autocast: 'fp32' },
  infer: (context) => {
    const [rows, matrices] = [context.inputShape(0), context.inputShape(1)];
    if (rows === undefined) return unknownBecause(context, 0);
    if (matrices === undefined) return unknownBecause(context, 1);
    const columns = matrices.at(-1) ?? 1;
    return single(tensor(elementTypeOf(context, 0), [...rows.slice(0, -1), columns]));
  },
  cost: (context) => {
    const [rows, matrices, output] = [context.input(0), context.input(1), context.output(0)];
    if (rows === undefined || matrices === undefined || output === undefined) return unknownShapeCost;
    const [groups = 1, k = 1, n = 1] = matrices.dimensions;
    const m = Math.max(1, Math.ceil(output.elements / n / groups));
    const product = work({
      flops: 2 * output.elements * k,
      traffic: trafficOf(rows, matrices, output),
      matmul: { kind: 'matmul', layout: 'nn', batch: groups, m, n, k },
    });
    const asks = (index: number): boolean => context.gradient(index) !== 'none';
    const saved = [...(asks(1) ? [savedInput(0)] : []), ...(asks(0) ? [savedInput(1)] : [])];
    return cost('matmul', product, { ...backwardOf(context, () => product), saved });
  },
});

/** The products are inside the function: `FlopCounterMode` does not see them, and they count as operations (`_trilinear`). */
const bilinear = define({
  ...own,
  type: 'Bilinear',
  documentation: 'x1·W·x2 + b for each feature (torch.nn.functional.bilinear of PyTorch 2.13, Bilinear-1)',
  inputs: [data('input1'), data('input2'), weight('weight'), weight('bias')],
  pytorch: { layer: 'Bilinear', autocast: 'promote' },
  infer: (context) => {
    const [input, matrices] = [context.inputShape(0), context.inputShape(2)];
    if (input === undefined) return unknownBecause(context, 0);
    if (matrices === undefined) return unknownBecause(context, 2);
    return single(tensor(elementTypeOf(context, 0), [...input.slice(0, -1), matrices[0] ?? 1]));
  },
  cost: (context) => {
    const [one, other, matrices] = [0, 1, 2].map((index) => context.input(index));
    const output = context.output(0);
    if (one === undefined || other === undefined || matrices === undefined || output === undefined)
      return unknownShapeCost;
    const [features = 1] = matrices.dimensions;
    const operations = (2 * output.elements * matrices.elements) / Math.max(1, features);
    // Feature by feature: a product, its sum, and what it is added to.
    const pass = work({
      operations,
      traffic: trafficOf(one, other, matrices, output, output),
      kernels: 3 * features,
    });
    const saved = [0, 2, 1].map((index) => savedInput(index));
    return cost('elementwise', pass, { ...backwardOf(context, () => pass), saved });
  },
});

/**
 * Between all rows of two matrices. Euclidean ones of more than 25 rows are a matrix product with two columns more for the norms
 * (aten/src/ATen/native/Distance.cpp, `_euclidean_dist`), whose backward has one product for each operand. `FlopCounterMode` sees
 * those of backward alone, as forward is inside one function.
 */
const pairwiseDistance = define({
  ...own,
  type: 'PairwiseDistance',
  documentation: 'distances between all pairs of rows (torch.cdist of PyTorch 2.13, PairwiseDistance-1)',
  inputs: [data('x1'), data('x2')],
  pytorch: { layer: 'PairwiseDistance', autocast: 'fp32' },
  infer: (context) => {
    const one = context.inputShape(0);
    const other = context.inputCount > 1 ? context.inputShape(1) : one;
    if (one === undefined) return unknownBecause(context, 0);
    if (other === undefined) return unknownBecause(context, 1);
    const batch = broadcastShapes([one.slice(0, -2), other.slice(0, -2)]);
    if (batch === undefined) return mismatch('the batches of rows cannot be broadcast together');
    const [rows = 1, columns = 1] = [one.at(-2), other.at(-2)];
    const type = elementTypeOf(context, 0);
    if (context.inputCount > 1) return single(tensor(type, [...batch, rows, columns]));
    const pairs =
      typeof rows === 'number'
        ? (rows * (rows - 1)) / 2
        : unknownDimension('half of an open number of pairs');
    return single(tensor(type, [pairs]));
  },
  cost: (context) => {
    const one = context.input(0);
    const other = context.input(1) ?? one;
    const output = context.output(0);
    if (one === undefined || other === undefined || output === undefined) return unknownShapeCost;
    const width = one.dimensions.at(-1) ?? 1;
    const isProduct = context.int('matmul', 0) === 1;
    const traffic = trafficOf(one, other, output);
    const pass = (columns: number) =>
      work({
        ...(isProduct
          ? { flops: 2 * output.elements * columns }
          : { operations: 3 * output.elements * columns }),
        traffic,
        kernels: isProduct ? 8 : 1,
      });
    const places = Array.from({ length: context.inputCount }, (_, index) => index);
    const learns = places.some((index) => context.gradient(index) !== 'none');
    const saved = learns ? [...places.map((index) => savedInput(index)), savedOutput(0)] : [];
    return cost(isProduct ? 'matmul' : 'elementwise', pass(isProduct ? width + 2 : width), {
      ...backwardOf(context, () => pass(width)),
      saved,
    });
  },
});

const complexOf: Readonly<Partial<Record<ElementType, ElementType>>> = {
  float32: 'complex64',
  float64: 'complex128',
};
const realOf: Readonly<Partial<Record<ElementType, ElementType>>> = {
  complex64: 'float32',
  complex128: 'float64',
};

function ofType(
  context: InferenceContext,
  types: Readonly<Partial<Record<ElementType, ElementType>>>,
  shape: readonly Dimension[],
): Inference {
  const given = elementTypeOf(context, 0);
  const type = types[given];
  return type === undefined
    ? mismatch(`a tensor of ${given} has no such view or transform`)
    : single(tensor(type, shape));
}

/** Real to complex, back, or complex to complex. Backward is a transform again; from real numbers PyTorch keeps the input. */
const fourierTransform = define({
  ...own,
  type: 'FourierTransform',
  documentation:
    'Fourier transforms along `axes`, which become `sizes` long (torch.fft of PyTorch 2.13, FourierTransform-1)',
  inputs: [data('input')],
  pytorch: { layer: 'FourierTransform', autocast: 'widest' },
  infer: (context) => {
    const input = context.inputShape(0);
    if (input === undefined) return unknownBecause(context, 0);
    const shape = withSizes(context, input);
    const kind = context.string('kind', 'complex');
    if (kind === 'complex') return single(tensor(elementTypeOf(context, 0), shape));
    return ofType(context, kind === 'to-complex' ? complexOf : realOf, shape);
  },
  cost: (context) =>
    copyCost(context, {
      operations: operationsOfTransform(context),
      saved: keptSignal(context),
    }),
});

/** A real signal, padded to the length that is transformed, which is even where half a spectrum does not tell. */
function keptSignal(context: CostContext): readonly SavedTensor[] {
  const [input, output] = [context.input(0), context.output(0)];
  if (context.string('kind', 'complex') !== 'to-complex' || input === undefined || output === undefined)
    return [];
  const axes = context.ints('axes') ?? [];
  const half = axes.at(-1);
  const transformed = output.dimensions.map((bins, axis) => {
    if (axis !== half) return bins;
    const own = input.dimensions[axis] ?? bins;
    return Math.floor(own / 2) + 1 === bins || own === bins ? own : 2 * (bins - 1);
  });
  const elements = countElements(transformed);
  if (elements <= input.elements) return [savedInput(0)];
  return [{ kind: 'extra', name: 'padded signal', traffic: trafficOfElements(input, elements) }];
}

function withSizes(context: InferenceContext, input: readonly Dimension[]): readonly Dimension[] {
  const [axes, sizes] = [context.ints('axes') ?? [], context.ints('sizes') ?? []];
  return input.map((size, axis) => sizes[axes.indexOf(axis)] ?? size);
}

/** Of all elements of the longer side, and half of it where one side is real. */
function operationsOfTransform(context: CostContext): number {
  const length = countElements(context.ints('sizes') ?? []);
  const elements = Math.max(...[context.input(0), context.output(0)].map((tensor) => tensor?.elements ?? 1));
  const whole = transformOperations(elements, length);
  return context.string('kind', 'complex') === 'complex' ? whole : whole / 2;
}

const complexView = define({
  ...own,
  type: 'ComplexView',
  documentation:
    'pairs as complex numbers, these as pairs, or one part (torch.view_as_complex of PyTorch 2.13, ComplexView-1)',
  inputs: [data('input')],
  traits: ['layout'],
  pytorch: { layer: 'ComplexView', autocast: 'widest', view: 'reshape' },
  infer: (context) => {
    const input = context.inputShape(0);
    if (input === undefined) return unknownBecause(context, 0);
    const kind = context.string('kind', 'part');
    if (kind === 'as-complex') return ofType(context, complexOf, input.slice(0, -1));
    return ofType(context, realOf, kind === 'as-real' ? [...input, 2] : input);
  },
  cost: (context) => viewCost(context),
});

const complexAbs = define({
  ...own,
  type: 'ComplexAbs',
  documentation: 'lengths of complex numbers (torch.abs of PyTorch 2.13, ComplexAbs-1)',
  inputs: [data('input')],
  pytorch: { layer: 'ComplexAbs', autocast: 'widest' },
  infer: (context) => {
    const input = context.inputShape(0);
    return input === undefined ? unknownBecause(context, 0) : ofType(context, realOf, input);
  },
  cost: (context) =>
    copyCost(context, {
      operations: 4 * (context.output(0)?.elements ?? 1),
      saved: context.gradient(0) === 'none' ? [] : [savedInput(0)],
    }),
});

export const torchProducts: readonly OperatorDefinition[] = [
  groupedMatMul,
  bilinear,
  pairwiseDistance,
  fourierTransform,
  complexView,
  complexAbs,
];
