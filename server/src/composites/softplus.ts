/** Softplus with a slope, or with the threshold above which it is the identity. */

import type { CompositePattern } from './composite.ts';
import { isNear, producerOf, scalarOf, soleReader } from './flow.ts';

export const softplus: CompositePattern = {
  kind: 'softplus',
  name: 'Softplus',
  documentation: 'log(1 + exp(βx)) / β, and x above a threshold: PyTorch `aten::softplus`',
  anchors: ['Softplus'],
  modules: ['Softplus'],
  match: (graph, operator) => {
    const [argument = ''] = operator.inputs;
    const result = soleReader(graph, operator.outputs[0]);
    if (result?.type === 'Where') {
      const above = producerOf(graph, result.inputs[0]);
      const isThreshold = above?.type === 'Greater' && above.inputs[0] === argument;
      if (!isThreshold || result.inputs[1] !== argument) return undefined;
      return {
        operators: [operator.index, above.index, result.index].sort((left, right) => left - right),
        roles: { input: argument },
        launchedAs: 'assumed-one',
      };
    }
    const scaled = producerOf(graph, argument);
    if (scaled?.type !== 'Mul' || result?.type !== 'Div') return undefined;
    if (soleReader(graph, argument) !== operator) return undefined;
    const slope = scalarOf(graph, result.inputs[1]);
    const input = scaled.inputs.find((name) => scalarOf(graph, name) === undefined);
    if (slope === undefined || input === undefined) return undefined;
    if (!scaled.inputs.some((name) => isNear(scalarOf(graph, name), slope))) return undefined;
    return {
      operators: [scaled.index, operator.index, result.index],
      roles: { input },
      launchedAs: 'assumed-one',
    };
  },
};
