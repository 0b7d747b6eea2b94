/** What a mask of attention hides: whether a token sees only those before it, and how many of them. */

import { shapeOf } from '../../composites/axis.ts';
import { producerOf, scalarOf } from '../../composites/flow.ts';
import type { Graph, Operator } from '../../model/graph.ts';

export interface MaskedSight {
  /** Tokens that one token sees, itself included; absent where it sees all before it. */
  readonly window?: number;
}

/**
 * What a mask shows, where it hides later tokens: it is made of a triangle (`Trilu`), or of positions of queries compared
 * with positions of keys, or the file stores it as one number for each pair of positions. `undefined` for any other mask.
 */
export function sightOf(graph: Graph, mask: string): MaskedSight | undefined {
  const makers = makersOf(graph, mask);
  const window = makers.map((operator) => windowOf(graph, operator)).find((size) => size !== undefined);
  const isMade = makers.some((operator) => operator.type === 'Trilu' || comparesPositions(graph, operator));
  if (isMade) return window === undefined ? {} : { window };
  return isStoredSquare(graph, mask) ||
    makers.some(({ inputs }) => inputs.some((name) => isStoredSquare(graph, name)))
    ? {}
    : undefined;
}

/** Operators that a mask is made by, nearest first. Products end the walk: a tensor of the model is no mask. */
function makersOf(graph: Graph, mask: string): readonly Operator[] {
  const found = new Set<Operator>();
  const waiting = [mask];
  for (let name = waiting.shift(); name !== undefined && found.size < mostMakers; name = waiting.shift()) {
    const producer = producerOf(graph, name);
    if (producer === undefined || found.has(producer) || ends.has(producer.type)) continue;
    found.add(producer);
    waiting.push(...producer.inputs);
  }
  return [...found];
}

const mostMakers = 256;
const ends: ReadonlySet<string> = new Set(['MatMul', 'Gemm', 'Conv', 'Softmax', 'Attention']);

const comparisons: ReadonlySet<string> = new Set(['Greater', 'GreaterOrEqual', 'Less', 'LessOrEqual']);

/** Positions along one axis beside positions along another: each pair has a result of its own. */
function comparesPositions(graph: Graph, { type, inputs }: Operator): boolean {
  if (!comparisons.has(type)) return false;
  const [left, right] = inputs.map((name) => longAxes(graph, name));
  return left?.length === 1 && right?.length === 1 && left[0] !== right[0];
}

/** Axes of more than one element, from the last. */
function longAxes(graph: Graph, name: string): readonly number[] {
  const shape = shapeOf(graph, name);
  return shape?.flatMap((size, axis) => (size === 1 ? [] : [axis - shape.length])) ?? [];
}

/** `key > query − window`: the comparison by which a sliding window hides what lies too far back. */
function windowOf(graph: Graph, operator: Operator): number | undefined {
  if (!comparesPositions(graph, operator)) return undefined;
  for (const name of operator.inputs) {
    const moved = producerOf(graph, name);
    if (moved?.type !== 'Sub' && moved?.type !== 'Add') continue;
    for (const input of moved.inputs) {
      const distance = scalarOf(graph, input);
      if (distance !== undefined && Math.abs(distance) > 1) return Math.abs(distance);
    }
  }
  return undefined;
}

/** One number for each pair of positions, whatever sample and head, stored and not trained. */
function isStoredSquare(graph: Graph, name: string): boolean {
  const role = graph.values.get(name)?.role;
  if (role !== 'buffer' && role !== 'constant') return false;
  const [width, height, ...others] = shapeOf(graph, name)?.toReversed() ?? [];
  return width !== undefined && width === height && width !== 1 && others.every((size) => size === 1);
}
