/**
 * Matmuls.
 *
 * FLOPs are 2·batch·M·N·K, as `torch.utils.flop_counter` counts `mm`, `bmm` and `addmm`; a bias adds none. Each
 * gradient is a matmul of the same three sizes. Products with a vector, which it does not count (`mv`, `dot`), are operations.
 */

import { type Dimension, equalDimensions, isUnknown } from '../../model/dimension.ts';
import type { ElementType } from '../../model/elementType.ts';
import { isFloatingPoint } from '../../model/elementType.ts';
import type {
  BoundTensor,
  CostContext,
  Inference,
  InferenceContext,
  MatmulLayout,
  MatmulShape,
  OperatorCost,
  OperatorDefinition,
} from '../definition.ts';
import { gemmMap, matMulMap } from '../dimensions/products.ts';
import { broadcastShapes, contradict } from '../vocabulary/broadcast.ts';
import { define } from '../vocabulary/define.ts';
import { detached, noRule, operand } from '../vocabulary/facts.ts';
import { elementTypeOf, mismatch, printShape, single, tensor, unknownBecause } from '../vocabulary/types.ts';
import {
  addWork,
  backwardOf,
  cost,
  isShapeArithmetic,
  needsGradient,
  savedInput,
  shapeCost,
  trafficOf,
  unknownShapeCost,
  work,
} from '../vocabulary/work.ts';

const matMul = define({
  type: 'MatMul',
  documentation: 'matmul with broadcast batch dimensions, as numpy.matmul (ONNX Operators, MatMul-13)',
  inputs: [operand('A'), operand('B')],
  pytorch: { layer: 'MatMul', weightedLayer: 'Linear', autocast: 'half', operands: 'matrices' },
  runner: { rule: 'MatMul' },
  infer: (context) => inferMatMul(context, elementTypeOf(context, 0), 0, 1),
  dimensions: (context) => matMulMap(context, { left: 0, right: 1 }),
  cost: (context) => matMulCost(context, 0, 1),
});

const matMulInteger = define({
  type: 'MatMulInteger',
  since: 10,
  documentation: 'matmul of 8-bit integers, accumulated in int32 (ONNX Operators, MatMulInteger-10)',
  inputs: [detached('A'), detached('B'), detached('a_zero_point'), detached('b_zero_point')],
  pytorch: { layer: 'MatMulInteger', autocast: 'half' },
  runner: noRule.quantized,
  infer: (context) => inferMatMul(context, 'int32', 0, 1),
  dimensions: (context) => matMulMap(context, { left: 0, right: 1, perRow: [2], perColumn: [3] }),
  cost: (context) => matMulCost(context, 0, 1),
});

const qLinearMatMul = define({
  type: 'QLinearMatMul',
  since: 10,
  documentation: 'matmul of quantized tensors, quantized again (ONNX Operators, QLinearMatMul-21)',
  inputs: [
    detached('a'),
    detached('a_scale'),
    detached('a_zero_point'),
    detached('b'),
    detached('b_scale'),
    detached('b_zero_point'),
    detached('y_scale'),
    detached('y_zero_point'),
  ],
  pytorch: { layer: 'QLinearMatMul', autocast: 'half' },
  runner: noRule.quantized,
  infer: (context) => inferMatMul(context, elementTypeOf(context, 7), 0, 3),
  dimensions: (context) =>
    matMulMap(context, { left: 0, right: 3, perRow: [1, 2], perColumn: [4, 5], nonlinear: true }),
  cost: (context) => matMulCost(context, 0, 3),
});

const gemm = define({
  type: 'Gemm',
  documentation: 'α·A·B + β·C with optional transposes (ONNX Operators, Gemm-13)',
  inputs: [operand('A'), operand('B'), operand('C')],
  pytorch: { layer: 'MatMul', weightedLayer: 'Linear', autocast: 'half' },
  runner: { rule: 'Gemm' },
  infer: inferGemm,
  dimensions: (context) => gemmMap(context),
  cost: gemmCost,
});

export const matmuls: readonly OperatorDefinition[] = [matMul, matMulInteger, qLinearMatMul, gemm];

/** The shape of an operand as the matmul sees it: transposed, for instance. */
export type OperandLayout = (shape: readonly Dimension[]) => readonly Dimension[];

/** numpy.matmul: a vector on the left is a row, on the right a column, and that axis is dropped again. */
export function inferMatMul(
  context: InferenceContext,
  elementType: ElementType,
  leftIndex: number,
  rightIndex: number,
  layouts?: { readonly left: OperandLayout; readonly right: OperandLayout },
): Inference {
  const leftStored = context.inputShape(leftIndex);
  if (leftStored === undefined) return unknownBecause(context, leftIndex, elementType);
  const rightStored = context.inputShape(rightIndex);
  if (rightStored === undefined) return unknownBecause(context, rightIndex, elementType);
  const left = layouts?.left(leftStored) ?? leftStored;
  const right = layouts?.right(rightStored) ?? rightStored;
  const rows = left.at(-2);
  const inner = left.at(-1);
  const innerRight = right.length === 1 ? right[0] : right.at(-2);
  const columns = right.length === 1 ? undefined : right.at(-1);
  if (inner === undefined || innerRight === undefined) {
    return mismatch(
      `shapes ${printShape(left)} and ${printShape(right)} cannot be multiplied: a scalar is no matrix`,
    );
  }
  const batch = broadcastShapes([left.slice(0, -2), right.slice(0, -2)]);
  const ends = [rows, columns].filter((dimension): dimension is Dimension => dimension !== undefined);
  const type = tensor(elementType, [...(batch ?? left.slice(0, -2)), ...ends]);
  if (contradict(inner, innerRight)) {
    return mismatch(
      `shapes ${printShape(left)} and ${printShape(right)} cannot be multiplied: the inner sizes ${printShape([inner, innerRight])} differ`,
      type,
    );
  }
  if (batch === undefined) {
    return mismatch(
      `shapes ${printShape(left)} and ${printShape(right)} cannot be multiplied: their batch dimensions cannot be broadcast together`,
      type,
    );
  }
  return single(type);
}

export function matMulCost(context: CostContext, leftIndex: number, rightIndex: number): OperatorCost {
  const left = context.input(leftIndex);
  const right = context.input(rightIndex);
  const output = context.output(0);
  if (left === undefined || right === undefined || output === undefined) return unknownShapeCost;
  const multiplyAdds = output.elements * (left.dimensions.at(-1) ?? 1);
  return isWithVector(left, right)
    ? vectorCost(context, leftIndex, rightIndex, 2 * multiplyAdds)
    : matmulCost(context, leftIndex, rightIndex, multiplyAdds);
}

/** A row times one matrix is a product of matrices (PyTorch 2.13 aten/src/ATen/native/LinearAlgebra.cpp, `_matmul_impl`). */
const isWithVector = (left: BoundTensor, right: BoundTensor): boolean =>
  right.dimensions.length === 1 || (left.dimensions.length === 1 && right.dimensions.length > 2);

/** Each element of the larger operand is read once, whatever the pass; there is no reuse that a tile could have. */
function vectorCost(
  context: CostContext,
  leftIndex: number,
  rightIndex: number,
  operations: number,
): OperatorCost {
  if (isShapeArithmetic(context) && !needsGradient(context)) return shapeCost;
  const operands = [context.input(leftIndex), context.input(rightIndex)];
  const pass = work({ operations, traffic: trafficOf(...operands, context.output(0)) });
  const asks = (index: number): boolean => context.gradient(index) !== 'none';
  return cost('reduction', pass, {
    ...backwardOf(context, () => pass),
    saved: [
      ...(asks(rightIndex) ? [savedInput(leftIndex)] : []),
      ...(asks(leftIndex) ? [savedInput(rightIndex)] : []),
    ],
  });
}

export function gemmCost(context: CostContext): OperatorCost {
  const left = context.input(0);
  const output = context.output(0);
  if (left === undefined || context.input(1) === undefined || output === undefined) return unknownShapeCost;
  const inner = left.dimensions[context.int('transA', 0) === 0 ? 1 : 0] ?? 1;
  return matmulCost(context, 0, 1, output.elements * inner, {
    layout: layoutByAttributes(context),
    bias: 2,
  });
}

/** By `transA` and `transB`. */
export const layoutByAttributes = (context: Pick<CostContext, 'int'>): MatmulLayout =>
  layoutOf(context.int('transA', 0) !== 0, context.int('transB', 0) !== 0);

/** To BLAS the right operand is the first. */
const layoutOf = (transposedLeft: boolean, transposedRight: boolean): MatmulLayout =>
  `${transposedRight ? 't' : 'n'}${transposedLeft ? 't' : 'n'}`;

/**
 * One matrix for all rows is a layer's weight. PyTorch keeps it with a row for each output and exports it transposed
 * (torch.nn.Linear, `aten::t`).
 */
const isWeight = (context: CostContext, index: number): boolean =>
  context.input(index)?.dimensions.length === 2 && context.gradient(index) !== 'data';

interface ProductOptions {
  /** The input that is added, whose gradient is a sum. */
  readonly bias?: number;
  /** Left out, that of a layer where the right operand is a weight, else operands as they lie. */
  readonly layout?: MatmulLayout;
}

/**
 * Costs of a matmul with this many multiply-adds. A gradient lies as its operand does: dA = dC·Bᵀ, or where A is transposed
 * B·dCᵀ.
 */
export function matmulCost(
  context: CostContext,
  leftIndex: number,
  rightIndex: number,
  multiplyAdds: number,
  { bias, layout = isWeight(context, rightIndex) ? 'tn' : 'nn' }: ProductOptions = {},
): OperatorCost {
  if (isShapeArithmetic(context) && !needsGradient(context)) return shapeCost;
  const left = context.input(leftIndex);
  const right = context.input(rightIndex);
  const output = context.output(0);
  if (left === undefined || right === undefined || output === undefined) return unknownShapeCost;
  const added = bias === undefined ? undefined : context.input(bias);
  const matmul = productOf(output, right, multiplyAdds, layout);
  const [transposedLeft, transposedRight] = [layout.endsWith('t'), layout.startsWith('t')];
  const forward = work({
    flops: 2 * multiplyAdds,
    matmul,
    operations: added === undefined ? 0 : output.elements,
    traffic: trafficOf(left, right, added, output),
  });
  if (!isFloatingPoint(left.elementType)) return cost('matmul', forward);
  const { data, weight } = backwardOf(context, (index) => {
    if (index === leftIndex)
      return work({
        flops: 2 * multiplyAdds,
        matmul: {
          ...matmul,
          layout: transposedLeft ? layoutOf(transposedRight, true) : layoutOf(false, !transposedRight),
          n: matmul.k,
          k: matmul.n,
        },
        traffic: trafficOf(output, right, left),
      });
    if (index === rightIndex)
      return work({
        flops: 2 * multiplyAdds,
        matmul: {
          ...matmul,
          layout: transposedRight ? layoutOf(true, transposedLeft) : layoutOf(!transposedLeft, false),
          m: matmul.k,
          k: matmul.m,
        },
        traffic: trafficOf(output, left, right),
      });
    if (index !== bias || added === undefined) return addWork();
    return work({ operations: output.elements, traffic: trafficOf(output, added) });
  });
  return cost('matmul', forward, {
    data,
    weight,
    saved: [
      ...(context.gradient(rightIndex) === 'none' ? [] : [savedInput(leftIndex)]),
      ...(context.gradient(leftIndex) === 'none' ? [] : [savedInput(rightIndex)]),
    ],
  });
}

/** Where the right operand is one matrix, the batch of the left one is more rows of it. */
function productOf(
  output: BoundTensor,
  right: BoundTensor,
  multiplyAdds: number,
  layout: MatmulLayout,
): MatmulShape {
  const k = output.elements === 0 ? 0 : multiplyAdds / output.elements;
  const n = right.dimensions.length === 1 ? 1 : (output.dimensions.at(-1) ?? 1);
  const rows = n === 0 ? 0 : output.elements / n;
  if (right.elements <= k * n) return { kind: 'matmul', layout, batch: 1, m: rows, n, k };
  const m = output.dimensions.at(right.dimensions.length === 1 ? -1 : -2) ?? 1;
  return { kind: 'matmul', layout, batch: m === 0 ? 0 : rows / m, m, n, k };
}

export function inferGemm(context: InferenceContext): Inference {
  const elementType = elementTypeOf(context, 0);
  const left = context.inputShape(0);
  if (left === undefined) return unknownBecause(context, 0);
  const right = context.inputShape(1);
  if (right === undefined) return unknownBecause(context, 1, elementType);
  const transposed = [context.int('transA', 0) !== 0, context.int('transB', 0) !== 0];
  const [rows, inner] = transposed[0] ? left.toReversed() : left;
  const [innerRight, columns] = transposed[1] ? right.toReversed() : right;
  if (left.length !== 2 || right.length !== 2 || rows === undefined || columns === undefined) {
    return mismatch(
      `Gemm takes two matrices, but its inputs are ${printShape(left)} and ${printShape(right)}; flatten the first or use MatMul`,
    );
  }
  const type = tensor(elementType, [rows, columns]);
  if (inner !== undefined && innerRight !== undefined && contradict(inner, innerRight)) {
    return mismatch(
      `shapes ${printShape(left)}${transposed[0] ? 'ᵀ' : ''} and ${printShape(right)}${transposed[1] ? 'ᵀ' : ''} cannot be multiplied: the inner sizes ${printShape([inner, innerRight])} differ`,
      type,
    );
  }
  const bias = context.inputShape(2);
  if (bias !== undefined && !bias.some(isUnknown)) {
    const together = broadcastShapes([[rows, columns], bias]);
    const fits =
      together?.length === 2 &&
      together.every((dimension, axis) => !changes(dimension, axis === 0 ? rows : columns));
    if (!fits) {
      return mismatch(
        `the bias ${printShape(bias)} does not broadcast to the matmul ${printShape([rows, columns])}`,
        type,
      );
    }
  }
  return single(type);
}

const changes = (together: Dimension, own: Dimension): boolean =>
  contradict(together, own) && !equalDimensions(together, own);
