/** Layer normalization, which is an operator of its own from operator set 17. */

import type { Graph, Operator } from '../model/graph.ts';
import { onlyWith, productOf, sumOf } from './algebra.ts';
import type { CompositePattern } from './composite.ts';
import { beforeCasts, isNear, isStored, producerOf, resultsBelow, withCasts } from './flow.ts';
import { reducesLastAxes } from './meanOfLastAxes.ts';
import { normalized } from './rmsNorm.ts';

/** (x - mean(x)) / √(var(x) + ε) · weight + bias: Ba et al., arXiv 1607.06450; PyTorch `aten::layer_norm`. */
export const layerNorm: CompositePattern = {
  kind: 'layer-norm',
  name: 'LayerNorm',
  anchors: ['ReduceMean'],
  modules: ['LayerNorm'],
  leavesCalls: true,
  match: (graph, variance) => {
    const square = productOf(graph, variance.inputs[0] ?? '');
    const centred =
      square.powers.size === 1 && isNear(square.coefficient, 1) ? onlyWith(square.powers, 2) : undefined;
    if (centred === undefined) return undefined;
    const centre = centreOf(graph, centred);
    if (centre === undefined || !reducesLastAxes(graph, variance)) return undefined;
    for (const result of resultsBelow(graph, variance).toReversed()) {
      const found = normalizedAndShifted(graph, result, centre.input, variance.outputs[0] ?? '');
      if (found === undefined) continue;
      const operators = [variance.index, ...square.operators, ...centre.operators, ...found.operators];
      return {
        operators: withCasts(graph, new Set(operators)),
        roles: { input: centre.input, ...found.roles },
        launchedAs: (graph.operatorSets.get('') ?? 0) >= 17 ? 'several' : 'assumed-one',
      };
    }
    return undefined;
  },
};

interface Centre {
  readonly input: string;
  readonly operators: readonly number[];
}

/** `x - mean(x)`. */
function centreOf(graph: Graph, name: string): Centre | undefined {
  const { constant, weights, operators } = sumOf(graph, name);
  const input = onlyWith(weights, 1);
  const mean = producerOf(graph, onlyWith(weights, -1));
  if (constant !== 0 || weights.size !== 2 || input === undefined || mean === undefined) return undefined;
  if (!isMeanOf(graph, mean, input)) return undefined;
  return { input, operators: [mean.index, ...operators] };
}

const isMeanOf = (graph: Graph, mean: Operator, input: string): boolean =>
  mean.type === 'ReduceMean' &&
  beforeCasts(graph, mean.inputs[0] ?? '') === input &&
  reducesLastAxes(graph, mean);

/** The operators from the variance on; what is centred may be computed once more for the numerator. */
function normalizedAndShifted(
  graph: Graph,
  result: string,
  input: string,
  variance: string,
): { readonly operators: readonly number[]; readonly roles: Readonly<Record<string, string>> } | undefined {
  const producer = producerOf(graph, result);
  const bias = producer?.type === 'Add' ? producer.inputs.find((name) => isStored(graph, name)) : undefined;
  const scaled = bias === undefined ? result : (producer?.inputs.find((name) => name !== bias) ?? '');
  const product = productOf(graph, scaled);
  for (const [numerator, power] of product.powers) {
    const centre = power === 1 ? centreOf(graph, numerator) : undefined;
    if (centre === undefined || centre.input !== input) continue;
    const found = normalized(graph, product, numerator, variance);
    if (found === undefined) continue;
    const shift = bias === undefined || producer === undefined ? [] : [producer.index];
    return {
      operators: [...centre.operators, ...found.operators, ...shift],
      roles: {
        ...(found.scale === undefined ? {} : { scale: found.scale }),
        ...(bias === undefined ? {} : { bias }),
      },
    };
  }
  return undefined;
}
