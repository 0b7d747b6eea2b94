/**
 * Low-rank pairs beside a weight: y = W·x + s·B·A·x, with A of r rows and B of r columns, r far below both sizes of W.
 *
 * Hu et al., LoRA, arXiv:2106.09685, eq. 3: W is frozen, A and B are trained. An exported graph shows the three products, and
 * not which of them is trained.
 */

import type { Graph } from '../model/graph.ts';
import { hasTrait } from '../operators/operatorFacts.ts';
import { type LinearProduct, linearProduct, mostSteps } from './linearProduct.ts';
import type { ModelAnalysis } from './modelAnalysis.ts';

export interface LowRankPair {
  /** Parameters: the first product's, and the second's. */
  readonly down: string;
  readonly up: string;
  /** The weight that they stand beside. */
  readonly beside: string;
  readonly rank: number;
}

export function findLowRankPairs({ graph }: ModelAnalysis): readonly LowRankPair[] {
  const products = new Map<string, LinearProduct>();
  for (const operator of graph.operators) {
    const product = linearProduct(graph, operator);
    if (product !== undefined) products.set(product.output, product);
  }
  return graph.operators.flatMap((operator) => {
    if (operator.type !== 'Add') return [];
    const [left, right] = operator.inputs.map((name) => productBehind(graph, name, products));
    if (left === undefined || right === undefined) return [];
    return pairOf(graph, left, right, products) ?? pairOf(graph, right, left, products) ?? [];
  });
}

/** The product that a value is, behind what changes its size or adds a bias to it. */
function productBehind(
  graph: Graph,
  name: string,
  products: ReadonlyMap<string, LinearProduct>,
): LinearProduct | undefined {
  let at = name;
  for (let steps = 0; steps < mostSteps; steps += 1) {
    const product = products.get(at);
    if (product !== undefined) return product;
    const computed = passedOn(graph, at);
    if (computed === undefined) return undefined;
    at = computed;
  }
  return undefined;
}

/** The only computed operand of a sum or product with constants, or what a layout, a cast or dropout passes on. */
function passedOn(graph: Graph, name: string): string | undefined {
  const producer = graph.values.get(name)?.producer;
  const operator = producer === undefined ? undefined : graph.operators[producer];
  if (operator === undefined) return undefined;
  if (['Add', 'Mul', 'Div'].includes(operator.type)) {
    const computed = operator.inputs.filter((input) => graph.values.get(input)?.role === 'activation');
    return computed.length === 1 ? computed[0] : undefined;
  }
  const passes = hasTrait(operator, 'layout') || hasTrait(operator, 'passes-elements');
  return passes || operator.type === 'Dropout' ? operator.inputs[0] : undefined;
}

function pairOf(
  graph: Graph,
  up: LinearProduct,
  base: LinearProduct,
  products: ReadonlyMap<string, LinearProduct>,
): LowRankPair | undefined {
  const down = productBehind(graph, up.input, products);
  if (down === undefined || down === up || down.outputs !== up.inputs) return undefined;
  const rank = up.inputs;
  const fits = down.inputs === base.inputs && up.outputs === base.outputs;
  if (!fits || rank * leastReduction > Math.min(base.inputs, base.outputs)) return undefined;
  if (sourceOf(graph, down.input) !== sourceOf(graph, base.input)) return undefined;
  return { down: down.weight, up: up.weight, beside: base.weight, rank };
}

/** What a value is behind dropout and casts. */
function sourceOf(graph: Graph, name: string): string {
  let at = name;
  for (let steps = 0; steps < mostSteps; steps += 1) {
    const before = passedOn(graph, at);
    if (before === undefined) return at;
    at = before;
  }
  return at;
}

/** A rank of a quarter of the sizes or more is a bottleneck, not an adapter. */
const leastReduction = 4;
