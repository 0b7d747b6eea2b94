/** The variance over axes, which exporters write out. */

import type { Graph, Operator } from '../model/graph.ts';
import type { CompositePattern } from './composite.ts';
import { isNear, producerOf, scalarOf, soleReader } from './flow.ts';

/**
 * Mean of (x − mean)², times n / (n − 1) where it is corrected: PyTorch `aten::var`, whose backward reads x and makes
 * deviations again.
 */
export const variance: CompositePattern = {
  kind: 'variance',
  name: 'Var',
  anchors: ['ReduceMean'],
  keeps: 'input',
  makesAgain: true,
  match: (graph, mean) => {
    const square = producerOf(graph, mean.inputs[0]);
    const deviation = square === undefined ? undefined : squareRoot(graph, square);
    const difference = producerOf(graph, deviation);
    const [input = '', middle] = difference?.inputs ?? [];
    if (square === undefined || difference?.type !== 'Sub') return undefined;
    const center = producerOf(graph, middle);
    if (center?.type !== 'ReduceMean' || center.inputs[0] !== input) return undefined;
    if (soleReader(graph, square.outputs[0]) !== mean) return undefined;
    const correction = corrected(graph, mean);
    const isPrivate =
      soleReader(graph, center.outputs[0]) === difference &&
      (graph.values.get(deviation ?? '')?.consumers ?? []).every((index) => index === square.index);
    // An exporter's optimizer lets others read the mean and the deviations, which the call computes for itself.
    if (!isPrivate && correction.length === 0) return undefined;
    return {
      operators: [...(isPrivate ? [center, difference] : []), square, mean, ...correction]
        .map(({ index }) => index)
        .sort((left, right) => left - right),
      roles: { input },
      // Nobody writes the correction by hand.
      launchedAs: correction.length > 0 ? 'one' : 'assumed-one',
    };
  },
};

/** What an operator gives the square of. */
function squareRoot(graph: Graph, { type, inputs }: Operator): string | undefined {
  const [base, by] = inputs;
  if (type === 'Mul') return base === by ? base : undefined;
  return type === 'Pow' && scalarOf(graph, by) === 2 ? base : undefined;
}

/** `mean · n / (n − 1)`. */
function corrected(graph: Graph, mean: Operator): readonly Operator[] {
  const product = soleReader(graph, mean.outputs[0]);
  const quotient = soleReader(graph, product?.outputs[0]);
  if (product?.type !== 'Mul' || quotient?.type !== 'Div') return [];
  const count = product.inputs.map((name) => scalarOf(graph, name)).find((value) => value !== undefined);
  const less = scalarOf(graph, quotient.inputs[1]);
  return count !== undefined && less !== undefined && isNear(less, count - 1) ? [product, quotient] : [];
}
