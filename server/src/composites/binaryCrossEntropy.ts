/** Binary cross entropy, of probabilities and of scores, in the forms that exporters write. */

import type { Graph, Operator } from '../model/graph.ts';
import type { CallKernels, CompositeMatch, CompositePattern } from './composite.ts';
import { matchOf, otherOperand, producerOf, readersOf, scalarOf, soleReader } from './flow.ts';

/**
 * −y·log(p) − (1 − y)·log(1 − p): PyTorch `aten::binary_cross_entropy` and `aten::binary_cross_entropy_with_logits`, which keep
 * what they compare.
 */
export const binaryCrossEntropy: CompositePattern = {
  kind: 'taken-apart',
  name: 'BinaryCrossEntropy',
  autocast: 'fp32',
  anchors: ['Log'],
  keeps: 'inputs',
  match: (graph, logarithm) =>
    ofScores(graph, logarithm) ?? ofProbabilities(graph, logarithm) ?? ofBothLogarithms(graph, logarithm),
};

/**
 * `(1 − y)·x − log(sigmoid(x))`, which torch.export decomposes the loss of scores to; of positives that weigh more, the logarithm
 * is multiplied by `(w − 1)·y + 1`.
 */
function ofScores(graph: Graph, logarithm: Operator): CompositeMatch | undefined {
  const sigmoid = producerOf(graph, logarithm.inputs[0]);
  const reader = soleReader(graph, logarithm.outputs[0]);
  const [input = ''] = sigmoid?.inputs ?? [];
  if (sigmoid?.type !== 'Sigmoid' || reader === undefined) return undefined;
  const weighted = reader.type === 'Mul' ? reader : undefined;
  const loss = weighted === undefined ? reader : soleReader(graph, weighted.outputs[0]);
  if (loss?.type !== 'Sub' || loss.inputs[1] !== (weighted ?? logarithm).outputs[0]) return undefined;
  const product = producerOf(graph, loss.inputs[0]);
  const rest = product?.type === 'Mul' ? otherOperand(product, input) : undefined;
  const complement = producerOf(graph, rest);
  const target = complement === undefined ? undefined : subtracted(graph, complement);
  if (product === undefined || complement === undefined || target === undefined) return undefined;
  if (soleReader(graph, loss.inputs[0]) !== loss) return undefined;
  const weight = weighted && weightOfLogarithm(graph, weighted, logarithm, target);
  if (weighted !== undefined && weight === undefined) return undefined;
  // What others read is computed for them as well.
  const shared = [sigmoid, complement].filter(({ outputs }) => soleReader(graph, outputs[0]) === undefined);
  const own = [complement, product, sigmoid, logarithm, loss].filter(
    (operator) => !shared.includes(operator),
  );
  const weights = weighted && weight ? [...weight.operators, weighted] : [];
  const roles = { input, target: shared.includes(complement) ? (rest ?? '') : target };
  return {
    ...matchOf([...own, ...weights], weight ? { ...roles, weight: weight.value } : roles, 'one'),
    kernels: weight ? kernelsOfWeightedScores : kernelsOfScores,
  };
}

/** `(w − 1)·y + 1`, where positives weigh `w`: the operators that compute it, and the weight that the first of them reads. */
function weightOfLogarithm(
  graph: Graph,
  weighted: Operator,
  logarithm: Operator,
  target: string,
): { readonly operators: readonly Operator[]; readonly value: string } | undefined {
  const sum = producerOf(graph, otherOperand(weighted, logarithm.outputs[0] ?? ''));
  const product = producerOf(
    graph,
    sum?.inputs.find((name) => scalarOf(graph, name) === undefined),
  );
  const value = product?.type === 'Mul' ? otherOperand(product, target) : undefined;
  if (sum?.type !== 'Add' || product === undefined || value === undefined) return undefined;
  const isPrivate = [sum, product].every(({ outputs }) => soleReader(graph, outputs[0]) !== undefined);
  return isPrivate && sum.inputs.some((name) => scalarOf(graph, name) === 1)
    ? { operators: [product, sum], value }
    : undefined;
}

/**
 * What `binary_cross_entropy_with_logits` launches, of which it keeps nothing (PyTorch 2.13 aten/src/ATen/native/Loss.cpp).
 * Forward: the logarithm, ones, `sub_`, `mul_` and `sub_`; backward: `sigmoid`, `sub_` and `mul_`.
 */
const kernelsOfScores: CallKernels = {
  forward: { launches: 5, tensors: 2 + 1 + 3 + 3 + 3 },
  backward: { launches: 3, tensors: 2 + 3 + 3 },
};

/** Beside those, forward: `sub` of the weight, `mul`, `add_`, `mul_`; backward: `mul`, `add`, `mul_`, `sub_`. */
const kernelsOfWeightedScores: CallKernels = {
  forward: { launches: 9, tensors: kernelsOfScores.forward.tensors + 2 + 2 + 3 },
  backward: { launches: 7, tensors: kernelsOfScores.backward.tensors + 2 + 2 + 3 + 3 },
};

/** `(y − 1)·max(log(1 − p), −100) − y·max(log(p), −100)`, which it decomposes the loss of probabilities to. */
function ofProbabilities(graph: Graph, logarithm: Operator): CompositeMatch | undefined {
  const [input = ''] = logarithm.inputs;
  const limited = atLeast(graph, logarithm);
  const second = soleReader(graph, limited?.outputs[0]);
  const loss = soleReader(graph, second?.outputs[0]);
  if (limited === undefined || second?.type !== 'Mul' || loss?.type !== 'Sub') return undefined;
  const target = otherOperand(second, limited.outputs[0] ?? '');
  const first = producerOf(graph, loss.inputs[0]);
  const below = first?.inputs.map((name) => producerOf(graph, name)).find((of) => of?.type === 'Sub');
  const above = first?.inputs.map((name) => producerOf(graph, name)).find((of) => of?.type === 'Max');
  if (first?.type !== 'Mul' || below?.inputs[0] !== target || scalarOf(graph, below?.inputs[1]) !== 1)
    return undefined;
  const other = producerOf(
    graph,
    above?.inputs.find((name) => scalarOf(graph, name) === undefined),
  );
  const sum = producerOf(graph, other?.inputs[0]);
  const negative = producerOf(
    graph,
    sum?.inputs.find((name) => scalarOf(graph, name) === undefined),
  );
  if (above === undefined || other?.type !== 'Log' || sum?.type !== 'Add' || negative?.type !== 'Neg')
    return undefined;
  if (below === undefined || negative.inputs[0] !== input || atLeast(graph, other) !== above)
    return undefined;
  return matchOf(
    [logarithm, limited, second, below, negative, sum, other, above, first, loss],
    { input, target: target ?? '' },
    'one',
  );
}

/**
 * `−(y·log(p) + (1 − y)·log(1 − p))` of `p = sigmoid(x)`, as the TorchScript exporter writes the loss of scores; of positives that
 * weigh more, the first product is multiplied by their weight.
 */
function ofBothLogarithms(graph: Graph, logarithm: Operator): CompositeMatch | undefined {
  const sigmoid = producerOf(graph, logarithm.inputs[0]);
  const first = soleReader(graph, logarithm.outputs[0]);
  const behind = soleReader(graph, first?.outputs[0]);
  const weighted = behind?.type === 'Mul' ? behind : undefined;
  const sum = weighted === undefined ? behind : soleReader(graph, weighted.outputs[0]);
  const loss = soleReader(graph, sum?.outputs[0]);
  if (sigmoid?.type !== 'Sigmoid' || first?.type !== 'Mul' || sum?.type !== 'Add' || loss?.type !== 'Neg')
    return undefined;
  const target = otherOperand(first, logarithm.outputs[0] ?? '') ?? '';
  const second = producerOf(graph, otherOperand(sum, (weighted ?? first).outputs[0] ?? ''));
  if (second?.type !== 'Mul') return undefined;
  const factors = second.inputs.map((name) => producerOf(graph, name));
  const other = factors.find((factor) => factor?.type === 'Log');
  const complement = factors.find((factor) => factor?.type === 'Sub');
  const below = producerOf(graph, other?.inputs[0]);
  if (other === undefined || complement === undefined || below === undefined) return undefined;
  if (subtracted(graph, complement) !== target || subtracted(graph, below) !== sigmoid.outputs[0])
    return undefined;
  // Probabilities that others read were computed by the model, and so was the loss of them.
  const isPrivate = readersOf(graph, sigmoid.outputs[0]).every((reader) =>
    [logarithm, below].includes(reader),
  );
  if (!isPrivate) return undefined;
  const own = [sigmoid, logarithm, below, complement, other, first, second, sum, loss];
  const roles = { input: sigmoid.inputs[0] ?? '', target };
  const weight = weighted && otherOperand(weighted, first.outputs[0] ?? '');
  return weighted === undefined || weight === undefined
    ? { ...matchOf(own, roles, 'assumed-one'), kernels: kernelsOfScores }
    : {
        ...matchOf([...own, weighted], { ...roles, weight }, 'assumed-one'),
        kernels: kernelsOfWeightedScores,
      };
}

/** What is subtracted from one. */
const subtracted = (graph: Graph, { type, inputs }: Operator): string | undefined =>
  type === 'Sub' && scalarOf(graph, inputs[0]) === 1 ? inputs[1] : undefined;

/** Its maximum with −100, which bounds the logarithm of zero. */
function atLeast(graph: Graph, logarithm: Operator): Operator | undefined {
  const limited = soleReader(graph, logarithm.outputs[0]);
  const isBound = limited?.inputs.some((name) => scalarOf(graph, name) === -100);
  return limited?.type === 'Max' && isBound === true ? limited : undefined;
}
