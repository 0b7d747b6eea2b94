/** Dimension maps of matrix products. */

import type { Dimension } from '../../model/dimension.ts';
import type { InferenceContext } from '../definition.ts';
import { type DimensionMap, type StatedSize, unknownMap } from '../dimensionMap.ts';
import { whyUnknown } from '../vocabulary/types.ts';
import { fromEnd, rankOf } from './elementwise.ts';
import { type AxisLabels, type FactorDetails, mapOfLabels } from './labels.ts';

export interface ProductOperands {
  readonly left: number;
  readonly right: number;
  /** How the axes of an operand lie in the product: applied to their numbers here. */
  readonly leftLayout?: (axes: readonly Dimension[]) => readonly Dimension[];
  readonly rightLayout?: (axes: readonly Dimension[]) => readonly Dimension[];
  /** Inputs with an element for each row of the left operand, or each column of the right one, or one for all. */
  readonly perRow?: readonly number[];
  readonly perColumn?: readonly number[];
  /** Input that is added, broadcast. */
  readonly bias?: number;
  /** Something that is not linear follows, such as an activation or a rounding: no partial sums. */
  readonly nonlinear?: boolean;
}

/** numpy.matmul: batch axes are broadcast, rows and columns kept, the inner size contracted. */
export function matMulMap(context: InferenceContext, operands: ProductOperands): DimensionMap {
  const { left, right, leftLayout, rightLayout, perRow = [], perColumn = [], bias } = operands;
  const leftShape = context.inputShape(left);
  const rightShape = context.inputShape(right);
  if (leftShape === undefined) return unknownMap(whyUnknown(context, left));
  if (rightShape === undefined) return unknownMap(whyUnknown(context, right));
  const leftBatch = fromEnd(Math.max(0, leftShape.length - 2));
  const rightBatch = fromEnd(Math.max(0, rightShape.length - 2));
  const batch = leftBatch.length >= rightBatch.length ? leftBatch : rightBatch;
  const leftLabels: AxisLabels = leftShape.length < 2 ? ['k'] : [...leftBatch, 'm', 'k'];
  const rightLabels: AxisLabels = rightShape.length < 2 ? ['k'] : [...rightBatch, 'k', 'n'];
  const output: AxisLabels = [
    ...batch,
    ...(leftShape.length < 2 ? [] : ['m']),
    ...(rightShape.length < 2 ? [] : ['n']),
  ];
  const besides = (
    indices: readonly number[],
    label: 'm' | 'n',
  ): readonly (readonly [number, AxisLabels])[] =>
    indices.map((index) => {
      const rank = rankOf(context, index);
      const ends = label === 'm' ? ['m', undefined] : [undefined, 'n'];
      return [index, rank === 1 ? [label] : rank < 2 ? [] : [...fromEnd(rank - 2), ...ends]];
    });
  const added = bias === undefined ? undefined : context.inputShape(bias);
  const addedLabels = added === undefined ? [] : output.slice(Math.max(0, output.length - added.length));
  return mapOfLabels(context, {
    inputs: {
      [left]: unlaid(leftLabels, leftLayout),
      [right]: unlaid(rightLabels, rightLayout),
      ...(bias === undefined ? {} : { [bias]: addedLabels }),
      ...Object.fromEntries([...besides(perRow, 'm'), ...besides(perColumn, 'n')]),
    },
    outputs: [output],
    details: operands.nonlinear === true ? {} : { k: contracted(bias) },
  });
}

const contracted = (bias: number | undefined): FactorDetails => ({
  by: 'sum',
  ...(bias === undefined ? {} : { once: [bias] }),
});

/** The labels of an operand as it is stored: where axis `i` of the operand ends up tells where label comes from. */
function unlaid(labels: AxisLabels, layout: ProductOperands['leftLayout']): AxisLabels {
  if (layout === undefined) return labels;
  const order = layout(labels.map((_, axis) => axis));
  return labels.map((_, stored) => labels[order.indexOf(stored)]);
}

/** Two matrices, each perhaps transposed, and a matrix added that is broadcast. */
export function gemmMap(
  context: InferenceContext,
  operands: {
    readonly left?: number;
    readonly right?: number;
    readonly bias?: number;
    readonly perColumn?: readonly number[];
    readonly nonlinear?: boolean;
  } = {},
): DimensionMap {
  const { left = 0, right = 1, bias = 2, perColumn = [], nonlinear } = operands;
  const isTurned = (name: string): boolean => context.int(name, 0) !== 0;
  const output = ['m', 'n'];
  const rank = rankOf(context, bias);
  return mapOfLabels(context, {
    inputs: {
      [left]: isTurned('transA') ? ['k', 'm'] : ['m', 'k'],
      [right]: isTurned('transB') ? ['n', 'k'] : ['k', 'n'],
      [bias]: output.slice(2 - Math.min(2, rank)),
      ...Object.fromEntries(perColumn.map((index) => [index, ['n']])),
    },
    outputs: [output],
    details: nonlinear === true ? {} : { k: contracted(bias) },
  });
}

/** Weights of a row for each column of the result, packed along the inner size: that is not divided. */
export function packedProductMap(context: InferenceContext, stated: readonly StatedSize[]): DimensionMap {
  const input = context.inputShape(0);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  const columns = context.int('N', 0);
  const rows = fromEnd(Math.max(0, input.length - 1));
  // Scales and zero points may lie in one row: all blocks of the first column, then those of the next.
  const outermost = (index: number): AxisLabels => {
    const rank = rankOf(context, index);
    return rank === 0 ? [] : [[{ label: 'n' }], ...Array.from({ length: rank - 1 }, () => undefined)];
  };
  const weights = stated.length === 0 ? [] : [1, 2, 3, 5];
  return mapOfLabels(context, {
    inputs: {
      0: [...rows, undefined],
      ...Object.fromEntries(weights.map((index) => [index, outermost(index)])),
    },
    outputs: [[...rows, stated.length === 0 ? undefined : 'n']],
    details: { n: { size: columns, sizes: stated } },
  });
}

/** A is quantized by the range of all its rows, which then depend on each other; columns of B do not. */
export function dynamicallyQuantizedMap(context: InferenceContext): DimensionMap {
  const map = matMulMap(context, { left: 0, right: 1, perColumn: [2, 3], bias: 4, nonlinear: true });
  if (map.kind === 'unknown') return map;
  const coupled = 'the scale is that of the range of all rows';
  const factors = map.factors.map((factor) =>
    factor.inputs.some(({ tensor }) => tensor === 0) ? { ...factor, coupled } : factor,
  );
  return { kind: 'known', factors };
}
