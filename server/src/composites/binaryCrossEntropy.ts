/** Binary cross entropy, of probabilities and of scores, in the forms that exporters write. */

import type { Graph, Operator } from '../model/graph.ts';
import type { CompositeMatch, CompositePattern } from './composite.ts';
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

/** `(1 − y)·x − log(sigmoid(x))`, which torch.export decomposes the loss of scores to. */
function ofScores(graph: Graph, logarithm: Operator): CompositeMatch | undefined {
  const sigmoid = producerOf(graph, logarithm.inputs[0]);
  const loss = soleReader(graph, logarithm.outputs[0]);
  const [input = ''] = sigmoid?.inputs ?? [];
  if (sigmoid?.type !== 'Sigmoid' || loss?.type !== 'Sub' || loss.inputs[1] !== logarithm.outputs[0])
    return undefined;
  const product = producerOf(graph, loss.inputs[0]);
  const rest = product?.type === 'Mul' ? otherOperand(product, input) : undefined;
  const complement = producerOf(graph, rest);
  const target = complement === undefined ? undefined : subtracted(graph, complement);
  if (product === undefined || complement === undefined || target === undefined) return undefined;
  if (soleReader(graph, loss.inputs[0]) !== loss) return undefined;
  // What others read is computed for them as well.
  const shared = [sigmoid, complement].filter(({ outputs }) => soleReader(graph, outputs[0]) === undefined);
  return matchOf(
    [complement, product, sigmoid, logarithm, loss].filter((operator) => !shared.includes(operator)),
    { input, target: shared.includes(complement) ? (rest ?? '') : target },
    'one',
  );
}

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

/** `−(y·log(p) + (1 − y)·log(1 − p))` of `p = sigmoid(x)`, as the TorchScript exporter writes the loss of scores. */
function ofBothLogarithms(graph: Graph, logarithm: Operator): CompositeMatch | undefined {
  const sigmoid = producerOf(graph, logarithm.inputs[0]);
  const first = soleReader(graph, logarithm.outputs[0]);
  const sum = soleReader(graph, first?.outputs[0]);
  const loss = soleReader(graph, sum?.outputs[0]);
  if (sigmoid?.type !== 'Sigmoid' || first?.type !== 'Mul' || sum?.type !== 'Add' || loss?.type !== 'Neg')
    return undefined;
  const target = otherOperand(first, logarithm.outputs[0] ?? '') ?? '';
  const second = producerOf(graph, otherOperand(sum, first.outputs[0] ?? ''));
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
  return isPrivate
    ? matchOf(
        [sigmoid, logarithm, below, complement, other, first, second, sum, loss],
        { input: sigmoid.inputs[0] ?? '', target },
        'assumed-one',
      )
    : undefined;
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
