/**
 * Einsum: products of tensors summed over indices that the result does not have.
 *
 * Two operands contract as one batched matrix product, more of them pairwise from the left, as
 * `torch.einsum` does without an optimized path; FLOPs are then 2·∏(all indices of the pair).
 */

import { broadcastDimensions, type Dimension } from '../../model/dimension.ts';
import { isFloatingPoint } from '../../model/elementType.ts';
import type {
  CostContext,
  Inference,
  InferenceContext,
  OperatorCost,
  OperatorDefinition,
  SavedTensor,
} from '../definition.ts';
import { type DimensionMap, unknownMap } from '../dimensionMap.ts';
import { mapOfLabels } from '../dimensions/labels.ts';
import { define } from '../vocabulary/define.ts';
import { operand, variadic } from '../vocabulary/facts.ts';
import {
  elementTypeOf,
  mismatch,
  printShape,
  single,
  tensor,
  tensorOfUnknownShape,
  unknownBecause,
  whyUnknown,
} from '../vocabulary/types.ts';
import {
  addTraffic,
  backwardOf,
  cost,
  float32Traffic,
  savedInput,
  trafficOf,
  unknownCost,
  unknownShapeCost,
  work,
} from '../vocabulary/work.ts';

export const einsum: OperatorDefinition = define({
  type: 'Einsum',
  since: 12,
  documentation: 'sum of products over named indices (ONNX Operators, Einsum-28)',
  inputs: [variadic(operand('Inputs'))],
  pytorch: { layer: 'Einsum', autocast: 'half' },
  runner: { rule: 'Einsum' },
  infer: inferEinsum,
  dimensions: einsumMap,
  cost: einsumCost,
});

interface Equation {
  /** One list of labels per operand; broadcast axes of an ellipsis are labelled '0', '1', … from the end. */
  readonly operands: readonly (readonly string[])[];
  readonly result: readonly string[];
}

/** The equation with its ellipses spelled out for operands of these ranks, or `undefined` where it does not fit. */
function readEquation(text: string, ranks: readonly number[]): Equation | undefined {
  const [left = '', right] = text.replaceAll(' ', '').split('->');
  const terms = left.split(',');
  if (terms.length !== ranks.length) return undefined;
  const operands = terms.map((term, index) => labelsOf(term, ranks[index] ?? 0));
  if (operands.some((labels, index) => labels.length !== ranks[index])) return undefined;
  const widest = Math.max(0, ...operands.map((labels) => labels.filter(isBroadcast).length));
  const broadcast = Array.from({ length: widest }, (_, index) => String(widest - 1 - index));
  if (right !== undefined) {
    const result = right.includes('...')
      ? [...(right.split('...')[0] ?? ''), ...broadcast, ...(right.split('...')[1] ?? '')]
      : [...right];
    return { operands, result };
  }
  const counts = new Map<string, number>();
  for (const label of operands.flat()) counts.set(label, (counts.get(label) ?? 0) + 1);
  const once = [...counts]
    .filter(([label, count]) => count === 1 && !isBroadcast(label))
    .map(([label]) => label);
  return { operands, result: [...broadcast, ...once.sort()] };
}

function labelsOf(term: string, rank: number): readonly string[] {
  const [before = '', after] = term.split('...');
  if (after === undefined) return [...before];
  const count = Math.max(0, rank - before.length - after.length);
  return [...before, ...Array.from({ length: count }, (_, index) => String(count - 1 - index)), ...after];
}

const isBroadcast = (label: string): boolean => /\d/.test(label);

function inferEinsum(context: InferenceContext): Inference {
  const elementType = elementTypeOf(context, 0);
  const text = context.string('equation', '');
  const shapes: (readonly Dimension[])[] = [];
  for (let index = 0; index < context.inputCount; index += 1) {
    const shape = context.inputShape(index);
    if (shape === undefined) return unknownBecause(context, index, elementType);
    shapes.push(shape);
  }
  const equation = readEquation(
    text,
    shapes.map((shape) => shape.length),
  );
  if (equation === undefined) {
    return mismatch(
      `equation "${text}" does not fit ${shapes.length === 0 ? 'an operator without inputs' : `inputs ${shapes.map(printShape).join(', ')}`}`,
      tensorOfUnknownShape(elementType, 'the equation does not fit'),
    );
  }
  const sizes = new Map<string, Dimension>();
  for (const [index, labels] of equation.operands.entries()) {
    for (const [axis, label] of labels.entries()) {
      const own = shapes[index]?.[axis] ?? 1;
      const before = sizes.get(label);
      const together = before === undefined ? own : broadcastDimensions(before, own);
      if (together === undefined) {
        return mismatch(
          `index "${label}" of equation "${text}" has two sizes in ${shapes.map(printShape).join(' and ')}`,
          tensorOfUnknownShape(elementType, 'the equation does not fit'),
        );
      }
      sizes.set(label, together);
    }
  }
  return single(
    tensor(
      elementType,
      equation.result.map((label) => sizes.get(label) ?? 1),
    ),
  );
}

function einsumCost(context: CostContext): OperatorCost {
  const output = context.output(0);
  const inputs = Array.from({ length: context.inputCount }, (_, index) => context.input(index));
  const known = inputs.filter((input) => input !== undefined);
  if (output === undefined || known.length !== inputs.length) return unknownShapeCost;
  const equation = readEquation(
    context.string('equation', ''),
    known.map((input) => input.dimensions.length),
  );
  if (equation === undefined) return unknownCost('the equation does not fit the inputs');
  const sizes = new Map<string, number>();
  for (const [index, labels] of equation.operands.entries()) {
    for (const [axis, label] of labels.entries()) {
      sizes.set(label, Math.max(sizes.get(label) ?? 1, known[index]?.dimensions[axis] ?? 1));
    }
  }
  const { multiplyAdds, intermediates } = contraction(equation, sizes);
  const contracts = [...sizes.keys()].some((label) => !equation.result.includes(label)) && known.length > 1;
  const amount = contracts
    ? { flops: 2 * multiplyAdds }
    : { operations: Math.max(multiplyAdds, output.elements) };
  const forward = work({
    ...amount,
    traffic: addTraffic(trafficOf(...known, output), float32Traffic(2 * intermediates)),
    kernels: Math.max(1, known.length - 1),
  });
  const kernelClass = contracts ? 'matmul' : 'elementwise';
  if (!isFloatingPoint(output.elementType)) return cost(kernelClass, forward);
  const { data, weight } = backwardOf(context, () =>
    work({ ...amount, traffic: trafficOf(...known, output) }),
  );
  const saved = known.flatMap((_, index) =>
    known.some((__, other) => other !== index && context.gradient(other) !== 'none')
      ? [savedInput(index)]
      : [],
  );
  const between: readonly SavedTensor[] =
    intermediates === 0 || saved.length === 0
      ? []
      : [{ kind: 'extra', name: 'products', traffic: float32Traffic(intermediates) }];
  return cost(kernelClass, forward, { data, weight, saved: [...saved, ...between] });
}

/** Multiply-adds of contracting from the left, and elements of the tensors in between. */
function contraction(
  equation: Equation,
  sizes: ReadonlyMap<string, number>,
): { readonly multiplyAdds: number; readonly intermediates: number } {
  const count = (labels: Iterable<string>): number => {
    let product = 1;
    for (const label of labels) product *= sizes.get(label) ?? 1;
    return product;
  };
  let multiplyAdds = 0;
  let intermediates = 0;
  let current = new Set(equation.operands[0]);
  for (let index = 1; index < equation.operands.length; index += 1) {
    const later = new Set([...equation.result, ...equation.operands.slice(index + 1).flat()]);
    const all = new Set([...current, ...(equation.operands[index] ?? [])]);
    multiplyAdds += count(all);
    current = new Set([...all].filter((label) => later.has(label)));
    if (index < equation.operands.length - 1) intermediates += count(current);
  }
  return { multiplyAdds, intermediates };
}

/** Every index is a factor: of the result where it has it, else summed over. */
function einsumMap(context: InferenceContext): DimensionMap {
  const ranks = Array.from({ length: context.inputCount }, (_, index) => context.inputShape(index)?.length);
  const missing = ranks.indexOf(undefined);
  if (missing >= 0) return unknownMap(whyUnknown(context, missing));
  const equation = readEquation(
    context.string('equation', ''),
    ranks.map((rank) => rank ?? 0),
  );
  if (equation === undefined) return unknownMap('the equation does not fit the inputs');
  const summed = equation.operands.flat().filter((label) => !equation.result.includes(label));
  return mapOfLabels(context, {
    inputs: Object.fromEntries(equation.operands.entries()),
    outputs: [equation.result],
    details: Object.fromEntries(summed.map((label) => [label, { by: 'sum' }])),
  });
}
