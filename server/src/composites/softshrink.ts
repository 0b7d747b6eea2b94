/** Softshrink: the input moved towards zero, and zero near it. */

import type { Graph, Operator } from '../model/graph.ts';
import type { CompositeMatch, CompositePattern } from './composite.ts';
import { producerOf, readersOf, scalarOf, soleReader } from './flow.ts';

/** X − λ above λ, x + λ below −λ, else 0: PyTorch `aten::softshrink`, whose backward reads x. */
export const softshrink: CompositePattern = {
  kind: 'softshrink',
  name: 'Softshrink',
  anchors: ['Sign', 'Less'],
  modules: ['Softshrink'],
  isTakenApart: true,
  match: (graph, anchor) =>
    anchor.type === 'Sign' ? shrunkBySign(graph, anchor) : shrunkBySides(graph, anchor),
};

/** `Where(|x| > λ, x − λ·sign(x), 0·x)`. */
function shrunkBySign(graph: Graph, sign: Operator): CompositeMatch | undefined {
  const [input = ''] = sign.inputs;
  const readers = readersOf(graph, input);
  const step = soleReader(graph, sign.outputs[0]);
  const moved = readers.find(({ type, inputs }) => type === 'Sub' && inputs[1] === step?.outputs[0]);
  const size = readers.find(({ type }) => type === 'Abs');
  const nothing = readers.find(
    ({ type, inputs }) => type === 'Mul' && inputs.some((name) => scalarOf(graph, name) === 0),
  );
  const choice = soleReader(graph, moved?.outputs[0]);
  const above = producerOf(graph, choice?.inputs[0]);
  if (step?.type !== 'Mul' || moved === undefined || size === undefined || nothing === undefined)
    return undefined;
  if (choice?.type !== 'Where' || above?.type !== 'Greater' || above.inputs[0] !== size.outputs[0])
    return undefined;
  if (choice.inputs[1] !== moved.outputs[0] || choice.inputs[2] !== nothing.outputs[0]) return undefined;
  return matched(input, [sign, step, moved, size, nothing, above, choice]);
}

/** As the TorchScript exporter writes it: `Where(x > λ, x − λ, 0) + Where(x < −λ, x + λ, 0)`. */
function shrunkBySides(graph: Graph, less: Operator): CompositeMatch | undefined {
  const [input = ''] = less.inputs;
  const lower = soleReader(graph, less.outputs[0]);
  const sum = soleReader(graph, lower?.outputs[0]);
  if (lower?.type !== 'Where' || sum?.type !== 'Add') return undefined;
  const upper = producerOf(
    graph,
    sum.inputs.find((name) => name !== lower.outputs[0]),
  );
  const greater = producerOf(graph, upper?.inputs[0]);
  const [raised, lowered] = [lower, upper].map((choice) => producerOf(graph, choice?.inputs[1]));
  if (upper?.type !== 'Where' || greater?.type !== 'Greater' || greater.inputs[0] !== input) return undefined;
  if (raised?.type !== 'Add' || lowered?.type !== 'Sub') return undefined;
  if (![raised, lowered].every(({ inputs }) => inputs[0] === input)) return undefined;
  if (![lower, upper].every(({ inputs }) => scalarOf(graph, inputs[2]) === 0)) return undefined;
  return matched(input, [less, lower, raised, greater, upper, lowered, sum]);
}

const matched = (input: string, operators: readonly Operator[]): CompositeMatch => ({
  operators: operators.map(({ index }) => index).sort((left, right) => left - right),
  roles: { input },
  launchedAs: 'assumed-one',
});
