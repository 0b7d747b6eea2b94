/** Matrix products of what the model computes with a stored matrix: linear layers, whatever wrote them. */

import { type Graph, isKnownShape, isWeight, type Operator } from '../model/graph.ts';

/** A product of an activation and a stored matrix. */
export interface LinearProduct {
  readonly input: string;
  readonly output: string;
  /** The parameter, of which the product may read another layout. */
  readonly weight: string;
  readonly inputs: number;
  readonly outputs: number;
}

/** `undefined` for what multiplies two computed matrices, and for matrices of open sizes. */
export function linearProduct(
  graph: Graph,
  { type, inputs, outputs, attributes }: Operator,
): LinearProduct | undefined {
  if (type !== 'MatMul' && type !== 'Gemm') return undefined;
  const [input = '', weight = ''] = inputs;
  const value = graph.values.get(weight);
  if (value === undefined || !isWeight(value.role)) return undefined;
  if (value.type.kind !== 'tensor' || !isKnownShape(value.type.shape)) return undefined;
  // Of three axes it is a stack of matrices, as experts have them.
  if (value.type.shape.length !== 2) return undefined;
  const transB = attributes.get('transB');
  const isTransposed = transB?.kind === 'int' && transB.value === 1;
  const [rows, columns] = isTransposed ? value.type.shape.toReversed() : value.type.shape;
  if (typeof rows !== 'number' || typeof columns !== 'number') return undefined;
  return {
    input,
    output: outputs[0] ?? '',
    weight: storedAs(graph, weight),
    inputs: rows,
    outputs: columns,
  };
}

/** The parameter that a weight is another layout of. */
function storedAs(graph: Graph, name: string): string {
  let at = name;
  for (let steps = 0; steps < mostSteps; steps += 1) {
    const producer = graph.values.get(at)?.producer;
    const source = producer === undefined ? undefined : graph.operators[producer]?.inputs[0];
    if (source === undefined) return at;
    at = source;
  }
  return at;
}

/** Layouts, casts and sums between two products of one linear layer are fewer. */
export const mostSteps = 6;
