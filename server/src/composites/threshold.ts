/** Threshold and Hardshrink: the input, or a number where it is too small. */

import type { Graph, Operator } from '../model/graph.ts';
import type { CompositePattern } from './composite.ts';
import { producerOf, scalarOf, soleReader } from './flow.ts';

/** X above a threshold, else a number: PyTorch `aten::threshold`, whose backward reads x. */
export const threshold: CompositePattern = {
  kind: 'threshold',
  name: 'Threshold',
  anchors: ['LessOrEqual'],
  modules: ['Threshold'],
  isTakenApart: true,
  match: (graph, below) => {
    const [input = '', limit] = below.inputs;
    const choice = chosenBetween(graph, below, input);
    if (choice === undefined || scalarOf(graph, limit) === undefined) return undefined;
    return { operators: [below.index, choice.index], roles: { input }, launchedAs: 'assumed-one' };
  },
};

/** X where |x| > λ, else 0: PyTorch `aten::hardshrink`, whose backward reads x. */
export const hardshrink: CompositePattern = {
  kind: 'hardshrink',
  name: 'Hardshrink',
  anchors: ['LessOrEqual', 'Or'],
  modules: ['Hardshrink'],
  isTakenApart: true,
  match: (graph, anchor) => {
    if (anchor.type === 'Or') return shrunkBySides(graph, anchor);
    const size = producerOf(graph, anchor.inputs[0]);
    const [input = ''] = size?.inputs ?? [];
    const choice = size?.type === 'Abs' ? chosenBetween(graph, anchor, input) : undefined;
    if (size === undefined || choice === undefined) return undefined;
    if (soleReader(graph, size.outputs[0]) !== anchor) return undefined;
    return {
      operators: [size.index, anchor.index, choice.index],
      roles: { input },
      launchedAs: 'assumed-one',
    };
  },
};

/** `Where(small, number, x)`. */
function chosenBetween(graph: Graph, small: Operator, input: string): Operator | undefined {
  const choice = soleReader(graph, small.outputs[0]);
  if (choice?.type !== 'Where' || choice.inputs[0] !== small.outputs[0]) return undefined;
  const isNumber = scalarOf(graph, choice.inputs[1]) !== undefined;
  return isNumber && choice.inputs[2] === input ? choice : undefined;
}

/** As the TorchScript exporter writes it: `Where(x > λ or x < −λ, x, 0)`, with casts to boolean between. */
function shrunkBySides(graph: Graph, either: Operator) {
  const sides = either.inputs.map((name) => beforeCast(graph, name));
  const [above, below] = sides.map(({ comparison }) => comparison);
  const [input = ''] = above?.inputs ?? [];
  if (above?.type !== 'Greater' || below?.type !== 'Less' || below.inputs[0] !== input) return undefined;
  if ([above, below].some(({ inputs }) => scalarOf(graph, inputs[1]) === undefined)) return undefined;
  const choice = soleReader(graph, either.outputs[0]);
  if (choice?.type !== 'Where' || choice.inputs[1] !== input) return undefined;
  if (scalarOf(graph, choice.inputs[2]) !== 0) return undefined;
  const casts = sides.flatMap(({ cast }) => cast ?? []);
  const operators = [above, below, ...casts, either, choice].map(({ index }) => index);
  return {
    operators: operators.sort((left, right) => left - right),
    roles: { input },
    launchedAs: 'assumed-one' as const,
  };
}

function beforeCast(
  graph: Graph,
  name: string,
): { readonly comparison: Operator | undefined; readonly cast?: Operator } {
  const producer = producerOf(graph, name);
  if (producer?.type !== 'Cast') return { comparison: producer };
  return { comparison: producerOf(graph, producer.inputs[0]), cast: producer };
}
