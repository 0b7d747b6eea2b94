/** Softplus with a slope, and with the threshold above which it is the identity. */

import type { Graph, Operator } from '../model/graph.ts';
import type { CompositePattern } from './composite.ts';
import { isNear, producerOf, scalarOf, soleReader } from './flow.ts';

/** Log(1 + exp(βx)) / β, and x above a threshold: PyTorch `aten::softplus`. */
export const softplus: CompositePattern = {
  kind: 'softplus',
  name: 'Softplus',
  autocast: 'fp32',
  anchors: ['Softplus'],
  modules: ['Softplus'],
  match: (graph, operator) => {
    const sloped = withSlope(graph, operator);
    const members = sloped?.operators ?? [operator];
    const input = sloped?.input ?? operator.inputs[0] ?? '';
    const bounded = withThreshold(graph, members.at(-1) ?? operator, input, operator.inputs[0] ?? '');
    if (sloped === undefined && bounded === undefined) return undefined;
    return {
      operators: [...members, ...(bounded ?? [])]
        .map(({ index }) => index)
        .sort((left, right) => left - right),
      roles: { input },
      launchedAs: 'assumed-one',
    };
  },
};

/** The product with the slope before it and the quotient behind it. */
function withSlope(
  graph: Graph,
  operator: Operator,
): { readonly input: string; readonly operators: readonly Operator[] } | undefined {
  const scaled = producerOf(graph, operator.inputs[0]);
  const result = soleReader(graph, operator.outputs[0]);
  if (scaled?.type !== 'Mul' || result?.type !== 'Div') return undefined;
  const slope = scalarOf(graph, result.inputs[1]);
  if (slope === undefined) return undefined;
  // A learned number is stored with its value, too: exporters write the slope behind what it multiplies.
  const at = scaled.inputs.findLastIndex((name) => isNear(scalarOf(graph, name), slope));
  const input = scaled.inputs[1 - at];
  return at < 0 || input === undefined ? undefined : { input, operators: [scaled, operator, result] };
}

/** The choice between the input and the result, by whether what goes in is above a number. */
function withThreshold(
  graph: Graph,
  { outputs }: Operator,
  input: string,
  argument: string,
): readonly Operator[] | undefined {
  const choice = soleReader(graph, outputs[0]);
  const above = producerOf(graph, choice?.inputs[0]);
  if (choice?.type !== 'Where' || above?.type !== 'Greater') return undefined;
  const isThreshold = above.inputs[0] === argument && scalarOf(graph, above.inputs[1]) !== undefined;
  return isThreshold && choice.inputs[1] === input ? [above, choice] : undefined;
}
