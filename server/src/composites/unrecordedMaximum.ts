/**
 * Maxima and minima along one axis that nothing says the call of. The TorchScript exporter writes `x.max(dim)` and `x.amax(dim)` as
 * one operator: the first keeps where they are, the second what comes in (PyTorch 2.13 tools/autograd/derivatives.yaml). The
 * first is taken, as models pool and choose with it; `amax` is newer, and alone takes several axes.
 */

import { type Graph, isKnownShape, type Operator } from '../model/graph.ts';
import type { CompositeMatch, OperatorOrigin } from './composite.ts';

export interface UnrecordedMaximum extends CompositeMatch {
  readonly name: 'Max' | 'Min';
}

/** Those of which no operator is in a composite, by what `isTaken` says. */
export function unrecordedMaxima(
  graph: Graph,
  originOf: (index: number) => OperatorOrigin,
  isTaken: (index: number) => boolean,
): readonly UnrecordedMaximum[] {
  return graph.operators.flatMap((operator) => {
    const { index, type, inputs } = operator;
    if ((type !== 'ReduceMax' && type !== 'ReduceMin') || isTaken(index)) return [];
    const { call, layer } = originOf(index);
    if (call !== undefined || layer !== undefined || axesOf(graph, operator) !== 1) return [];
    const name = type === 'ReduceMax' ? ('Max' as const) : ('Min' as const);
    return [{ name, operators: [index], roles: { input: inputs[0] ?? '' }, launchedAs: 'one' as const }];
  });
}

/** How many axes are reduced; `undefined` where that is not known. A tensor of one axis is reduced whole, as `x.max()` does. */
function axesOf({ values }: Graph, { attributes, inputs }: Operator): number | undefined {
  const type = values.get(inputs[0] ?? '')?.type;
  if (type?.kind !== 'tensor' || !isKnownShape(type.shape) || type.shape.length < 2) return undefined;
  const attribute = attributes.get('axes');
  if (attribute?.kind === 'ints') return attribute.value.length;
  return values.get(inputs[1] ?? '')?.content?.elements.length;
}
