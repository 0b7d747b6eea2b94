/** Hardswish, which is an operator of its own from operator set 14. */

import { onlyWith, productOf, sumOf } from './algebra.ts';
import type { CompositePattern } from './composite.ts';
import { isNear, otherOperand, resultsBelow, scalarOf, soleReader } from './flow.ts';

/** x · ReLU6(x + 3) / 6: Howard et al., arXiv 1905.02244, §5.2; PyTorch `aten::hardswish`. */
export const hardswish: CompositePattern = {
  kind: 'hardswish',
  name: 'Hardswish',
  anchors: ['HardSigmoid', 'Clip'],
  modules: ['Hardswish'],
  match: (graph, anchor) => {
    const [argument = ''] = anchor.inputs;
    const [gate = ''] = anchor.outputs;
    if (anchor.type === 'HardSigmoid') {
      const product = soleReader(graph, gate);
      if (product?.type !== 'Mul' || otherOperand(product, gate) !== argument) return undefined;
      return {
        operators: [anchor.index, product.index],
        roles: { input: argument },
        launchedAs: 'assumed-one',
      };
    }
    if (!isNear(scalarOf(graph, anchor.inputs[2]), 6) || scalarOf(graph, anchor.inputs[1]) !== 0)
      return undefined;
    const shifted = sumOf(graph, argument);
    const input = shifted.weights.size === 1 ? onlyWith(shifted.weights, 1) : undefined;
    if (input === undefined || !isNear(shifted.constant, 3)) return undefined;
    for (const result of resultsBelow(graph, anchor)) {
      const product = productOf(graph, result);
      if (!isGated(product.powers, input, gate) || !isNear(product.coefficient, 1 / 6)) continue;
      const operators = [...shifted.operators, anchor.index, ...product.operators];
      return {
        operators: operators.sort((left, right) => left - right),
        roles: { input },
        launchedAs: 'several',
      };
    }
    return undefined;
  },
};

const isGated = (powers: ReadonlyMap<string, number>, input: string, gate: string): boolean =>
  powers.size === 2 && powers.get(input) === 1 && powers.get(gate) === 1;
