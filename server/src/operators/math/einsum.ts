/**
 * Einsum: products of tensors summed over indices that the result does not have.
 *
 * Two operands contract as one batched matrix product, more of them pairwise from the left, as
 * `torch.einsum` does without an optimized path; FLOPs are then 2·∏(all indices of the pair). A pair of which no index is
 * summed is multiplied element by element, which is no matrix product.
 */

import { itemAt } from '../../model/at.ts';
import { broadcastDimensions, type Dimension } from '../../model/dimension.ts';
import { isFloatingPoint } from '../../model/elementType.ts';
import { tally } from '../../model/tally.ts';
import { totalElements } from '../../model/totalElements.ts';
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
  addWork,
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
  const operands = terms.map((term, index) => labelsOf(term, itemAt(ranks, index)));
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
  for (const label of operands.flat()) tally(counts, label);
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
  const steps = contraction(equation, sizes);
  const intermediates = totalElements(steps.slice(0, -1));
  const contracts = steps.some(({ sums }) => sums);
  const amountOf = (parts: readonly Step[]) => ({
    flops: parts.reduce((sum, step) => sum + (step.sums ? 2 * step.multiplyAdds : 0), 0),
    operations: parts.reduce((sum, step) => sum + (step.sums ? 0 : step.multiplyAdds), 0),
  });
  const forward = work({
    ...(steps.length === 0 ? { operations: countOf(sizes.keys(), sizes) } : amountOf(steps)),
    traffic: addTraffic(trafficOf(...known, output), float32Traffic(2 * intermediates)),
    kernels: Math.max(1, steps.length),
  });
  const kernelClass = contracts ? 'matmul' : 'elementwise';
  if (!isFloatingPoint(output.elementType)) return cost(kernelClass, forward);
  const first = known.findIndex((_, index) => asksFor(context, index));
  const { data, weight } = backwardOf(context, (index) => {
    const own = steps[Math.max(0, index - 1)];
    // The first one with a gradient carries those of the products between it and the result.
    const through = index === first ? steps.slice(Math.max(1, index)) : [];
    const traffic = trafficOf(...known, output);
    if (own === undefined) return work({ operations: output.elements, traffic });
    return addWork(...[own, ...through].map((step) => work({ ...amountOf([step]), traffic })));
  });
  return cost(kernelClass, forward, {
    data,
    weight,
    saved: keptOf(context, equation, steps, sizes),
  });
}

/** One product of two operands, the first of which may be that of all before. */
interface Step {
  readonly multiplyAdds: number;
  /** Of the product. */
  readonly elements: number;
  readonly left: readonly string[];
  readonly right: readonly string[];
  readonly product: readonly string[];
  readonly sums: boolean;
}

/**
 * Each operand of a product is kept where the other one has a gradient. `bmm` takes it as a stack of matrices: indices that
 * both have, those of the product and those that are summed, each as one axis. What no strides can show so is a copy
 * (aten/src/ATen/native/Linear.cpp, `sumproduct_pair`, PyTorch 2.13).
 */
function keptOf(
  context: CostContext,
  { result }: Equation,
  steps: readonly Step[],
  sizes: ReadonlyMap<string, number>,
): readonly SavedTensor[] {
  const saved: SavedTensor[] = [];
  let left = asksFor(context, 0);
  for (const [step, { left: own, right, product, sums }] of steps.entries()) {
    const operand = (index: number, labels: readonly string[], other: readonly string[]): SavedTensor =>
      sums ? { kind: 'input', index, stack: stackOf(labels, other, product, result) } : savedInput(index);
    if (asksFor(context, step + 1)) {
      saved.push(
        step === 0
          ? operand(0, own, right)
          : { kind: 'extra', name: `product ${step}`, traffic: float32Traffic(countOf(own, sizes)) },
      );
    }
    if (left) saved.push(operand(step + 1, right, own));
    left ||= asksFor(context, step + 1);
  }
  return saved;
}

const asksFor = (context: CostContext, index: number): boolean => context.gradient(index) !== 'none';

/** The axes of an operand, labelled so, as `bmm` takes them: batch, what it has alone, and what is summed. */
function stackOf(
  labels: readonly string[],
  other: readonly string[],
  product: readonly string[],
  result: readonly string[],
): readonly (readonly number[])[] {
  // Operands are laid out by the result, then by what is summed in the order of its letters.
  const order = [...result, ...[...new Set([...labels, ...other])].filter((l) => !result.includes(l)).sort()];
  return [
    (label: string) => other.includes(label) && product.includes(label),
    (label: string) => !other.includes(label),
    (label: string) => other.includes(label) && !product.includes(label),
  ].map((belongs) =>
    order.filter((label) => labels.includes(label) && belongs(label)).map((label) => labels.indexOf(label)),
  );
}

const countOf = (labels: Iterable<string>, sizes: ReadonlyMap<string, number>): number => {
  let product = 1;
  for (const label of labels) product *= sizes.get(label) ?? 1;
  return product;
};

/** From the left, two at a time; none for one operand. */
function contraction(equation: Equation, sizes: ReadonlyMap<string, number>): readonly Step[] {
  const steps: Step[] = [];
  let left: readonly string[] = equation.operands[0] ?? [];
  for (let index = 1; index < equation.operands.length; index += 1) {
    const right = equation.operands[index] ?? [];
    const later = new Set([...equation.result, ...equation.operands.slice(index + 1).flat()]);
    const all = [...new Set([...left, ...right])];
    const product = all.filter((label) => later.has(label));
    const sums = product.length < all.length;
    steps.push({
      multiplyAdds: countOf(all, sizes),
      elements: countOf(product, sizes),
      left,
      right,
      product,
      sums,
    });
    left = product;
  }
  return steps;
}

/** Every index is a factor: of the result where it has it, else summed over. */
function einsumMap(context: InferenceContext): DimensionMap {
  const ranks = Array.from({ length: context.inputCount }, (_, index) => context.inputShape(index)?.length);
  const missing = ranks.indexOf(undefined);
  if (missing >= 0) return unknownMap(whyUnknown(context, missing));
  const equation = readEquation(
    context.string('equation', ''),
    ranks.filter((rank) => rank !== undefined),
  );
  if (equation === undefined) return unknownMap('the equation does not fit the inputs');
  const summed = equation.operands.flat().filter((label) => !equation.result.includes(label));
  return mapOfLabels(context, {
    inputs: Object.fromEntries(equation.operands.entries()),
    outputs: [equation.result],
    details: Object.fromEntries(summed.map((label) => [label, { by: 'sum' }])),
  });
}
