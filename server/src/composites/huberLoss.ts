/** The losses that are a square near zero and a distance elsewhere. */

import type { Graph } from '../model/graph.ts';
import { productOf, sumOf } from './algebra.ts';
import type { CompositePattern } from './composite.ts';
import { producerOf, readersOf, scalarOf, soleReader } from './flow.ts';

/** ½d² where |d| < δ, else δ(|d| − ½δ): PyTorch `aten::huber_loss`, and over δ `aten::smooth_l1_loss`, which keep what they compare. */
export const huberLoss: CompositePattern = {
  kind: 'taken-apart',
  name: 'HuberLoss',
  autocast: 'fp32',
  anchors: ['Abs'],
  modules: ['HuberLoss', 'SmoothL1Loss'],
  isTakenApart: true,
  keeps: 'inputs',
  match: (graph, size) => {
    const [distance = ''] = size.outputs;
    const difference = producerOf(graph, size.inputs[0]);
    const readers = readersOf(graph, distance);
    const less = readers.find(({ type }) => type === 'Less');
    const choice = soleReader(graph, less?.outputs[0]);
    if (difference?.type !== 'Sub' || soleReader(graph, difference.outputs[0]) !== size) return undefined;
    if (less === undefined || choice?.type !== 'Where' || choice.inputs[0] !== less.outputs[0])
      return undefined;
    if (less.inputs[0] !== distance || scalarOf(graph, less.inputs[1]) === undefined) return undefined;
    const square = productOf(graph, choice.inputs[1] ?? '');
    if (square.powers.size !== 1 || square.powers.get(distance) !== 2) return undefined;
    const line = lineOf(graph, choice.inputs[2] ?? '', distance);
    if (line === undefined) return undefined;
    const members = [difference.index, size.index, less.index, ...square.operators, ...line, choice.index];
    const isPrivate = readers.every(({ index }) => members.includes(index));
    return isPrivate
      ? {
          operators: [...new Set(members)].sort((left, right) => left - right),
          roles: { input: difference.inputs[0] ?? '', target: difference.inputs[1] ?? '' },
          launchedAs: 'assumed-one',
        }
      : undefined;
  },
};

/** The operators of a multiple of the distance less a number. */
function lineOf(graph: Graph, name: string, distance: string): readonly number[] | undefined {
  const product = productOf(graph, name);
  const [[only = name, power = 1] = []] = product.powers;
  if (product.powers.size > 1 || power !== 1) return undefined;
  const isScaled = product.operators.length > 0;
  const sum = sumOf(graph, isScaled ? only : name);
  const isLine = sum.weights.size === 1 && sum.weights.get(distance) === 1 && sum.constant < 0;
  return isLine ? [...product.operators, ...sum.operators] : undefined;
}
