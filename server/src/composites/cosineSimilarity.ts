/** The cosine of two vectors, as the TorchScript exporter writes it. */

import type { Graph, Operator } from '../model/graph.ts';
import type { CompositePattern } from './composite.ts';
import { matchOf, producerOf, scalarOf, soleReader } from './flow.ts';

/**
 * Σ a·b ÷ max(√(Σ a² · Σ b²), ε): PyTorch `aten::cosine_similarity`, which keeps those with gradients, both divided by their norms, and these
 * (aten/src/ATen/native/Distance.cpp).
 */
export const cosineSimilarity: CompositePattern = {
  kind: 'cosine-similarity',
  name: 'CosineSimilarity',
  autocast: 'fp32',
  anchors: ['Sqrt'],
  match: (graph, root) => {
    const bounded = soleReader(graph, root.outputs[0]);
    const quotient = soleReader(graph, bounded?.outputs[0]);
    if (bounded?.type !== 'Max' || quotient?.type !== 'Div' || quotient.inputs[1] !== bounded.outputs[0])
      return undefined;
    const isBounded = bounded.inputs.some((name) => scalarOf(graph, name) !== undefined);
    const norms = producerOf(graph, root.inputs[0]);
    if (!isBounded || norms?.type !== 'Mul') return undefined;
    const squares = norms.inputs.map((name) => sumOfProduct(graph, name));
    const product = sumOfProduct(graph, quotient.inputs[0]);
    const [first, second] = squares.map((square) => square?.factors);
    if (product === undefined || first === undefined || second === undefined) return undefined;
    if (first[0] !== first[1] || second[0] !== second[1]) return undefined;
    const [a = '', b = ''] = product.factors;
    const isOfBoth = [a, b].toSorted().join() === [first[0], second[0]].toSorted().join();
    if (!isOfBoth) return undefined;
    const sums = [...squares, product].flatMap((each) => each?.operators ?? []);
    const [multiplied] = product.operators;
    return matchOf(
      [...sums, norms, root, bounded, quotient],
      { product: multiplied?.outputs[0] ?? '' },
      'one',
    );
  },
};

/** What a sum along an axis adds up, where that is a product. */
function sumOfProduct(
  graph: Graph,
  name: string | undefined,
): { readonly factors: readonly string[]; readonly operators: readonly Operator[] } | undefined {
  const sum = producerOf(graph, name);
  const product = producerOf(graph, sum?.inputs[0]);
  if (sum?.type !== 'ReduceSum' || product?.type !== 'Mul') return undefined;
  if (soleReader(graph, product.outputs[0]) !== sum || soleReader(graph, name) === undefined)
    return undefined;
  return { factors: product.inputs, operators: [product, sum] };
}
