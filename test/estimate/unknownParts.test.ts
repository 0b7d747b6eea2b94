/** What is said of work that is not known, by value. */

import { describe, expect, test } from 'vitest';
import type { TrainingGraph } from '../../server/src/analysis/modelAnalysis.ts';
import {
  boundOfParts,
  boundText,
  groupUnknown,
  layersOfOrigins,
  listOperators,
  unknownCostText,
  unknownParts,
} from '../../server/src/estimate/unknownParts.ts';
import {
  type KnownCost,
  noWork,
  type UnknownCost,
  type Work,
} from '../../server/src/operators/definition.ts';
import { chain } from '../support/trainingGraph.ts';

const work = (flops: number, operations: number): Work => ({ ...noWork, flops, operations });
/** Forward, and both parts of backward: FLOPs and other instructions. */
const atMost = (...[forward, data, weight]: readonly (readonly [number, number])[]): KnownCost => ({
  kind: 'known',
  class: 'matmul',
  forward: work(...(forward ?? [0, 0])),
  backwardData: work(...(data ?? [0, 0])),
  backwardWeight: work(...(weight ?? [0, 0])),
  saved: [],
});
const bound = (forward: readonly [number, number], backward: readonly [number, number]) => ({
  flops: { forward: forward[0], backward: backward[0] },
  operations: { forward: forward[1], backward: backward[1] },
});

/** Four operators in three layers: the second is unknown, the third for it, the fourth by itself. */
const four = chain([
  { name: 'first', flops: 1 },
  { name: 'odd', unknown: 'operator Mystery is not known' },
  { name: 'behind', unknown: 'its input has no known shape' },
  { name: 'other', unknown: 'an axis is data' },
]);
const bounded: UnknownCost = {
  kind: 'unknown',
  reason: 'an axis is data',
  atMost: atMost([10, 1], [20, 2], [30, 3]),
};
const training: TrainingGraph = { ...four, costs: [...four.costs.slice(0, 3), bounded] };
const origins = new Map([[2, 1]]);

test('parts stand in the order of the graph, each with where it begins and the most that it is', () => {
  expect(unknownParts(training, origins)).toEqual([
    { operator: 'odd', reason: 'operator Mystery is not known', since: null, atMost: null },
    // What follows is unknown for the reason of the first.
    { operator: 'behind', reason: 'operator Mystery is not known', since: 'odd', atMost: null },
    { operator: 'other', reason: 'an axis is data', since: null, atMost: bound([10, 1], [50, 5]) },
  ]);
  expect(unknownParts(chain([{ flops: 1 }]), new Map())).toEqual([]);
});

test('an origin that is known gives its reason to nobody', () => {
  expect(unknownParts(training, new Map([[2, 0]]))[1]).toEqual({
    operator: 'behind',
    reason: 'its input has no known shape',
    since: 'first',
    atMost: null,
  });
});

test('an operator without a name has that of its output', () => {
  const { graph } = training.analysis;
  const operators = graph.operators.map((operator) => ({ ...operator, name: '' }));
  const nameless = { ...training, analysis: { ...training.analysis, graph: { ...graph, operators } } };
  expect(unknownParts(nameless, origins).map(({ operator }) => operator)).toEqual([
    'odd.out',
    'behind.out',
    'other.out',
  ]);
  const folded = { ...training.analysis, folded: { nameOf: (index: number) => `h.${index}` } };
  const repeated = { ...training, analysis: folded } as unknown as TrainingGraph;
  expect(unknownParts(repeated, origins).map(({ operator }) => operator)).toEqual(['h.1', 'h.2', 'h.3']);
});

test('layers are named of those operators alone that make others unknown', () => {
  expect([...layersOfOrigins(training, origins)]).toEqual([[1, 'odd']]);
  expect([...layersOfOrigins(training, new Map())]).toEqual([]);
});

describe('texts', () => {
  test.each([
    [{ reason: 'why', since: null, atMost: null }, 'why'],
    [{ reason: 'why', atMost: null }, 'why'],
    [{ reason: 'why', since: 'fc1', atMost: null }, 'unknown since `fc1`: why'],
    [{ reason: 'why', since: 'fc1', atMost: bound([0, 0], [0, 0]) }, 'unknown since `fc1`: why'],
    [
      { reason: 'why', atMost: bound([3.2e9, 0], [6.4e9, 0]) },
      'why; at most 3.20 GFLOP forward, 6.40 GFLOP backward',
    ],
    [{ reason: 'why', atMost: bound([3.2e9, 7], [0, 7]) }, 'why; at most 3.20 GFLOP forward'],
    [{ reason: 'why', atMost: bound([0, 7], [2e9, 7]) }, 'why; at most 0 FLOP forward, 2.00 GFLOP backward'],
    // FLOPs where there are any, other instructions otherwise.
    [
      { reason: 'why', atMost: bound([0, 4e6], [0, 8e6]) },
      'why; at most 4.00 Mop element-wise forward, 8.00 Mop element-wise backward',
    ],
    [{ reason: 'why', atMost: bound([0, 4e6], [0, 0]) }, 'why; at most 4.00 Mop element-wise forward'],
    [
      { reason: 'why', atMost: bound([0, 0], [0, 8e6]) },
      'why; at most 0 op element-wise forward, 8.00 Mop element-wise backward',
    ],
  ])('%j: %s', (part, text) => {
    expect(groupUnknown([{ operator: 'a', ...part }])).toEqual([{ operators: ['a'], text }]);
  });

  test.each<readonly [UnknownCost, string]>([
    [{ kind: 'unknown', reason: 'why' }, 'why'],
    [bounded, 'an axis is data; at most 10 FLOP forward, 50 FLOP backward'],
  ])('of a cost: %s', (cost, text) => {
    expect(unknownCostText(cost)).toBe(text);
  });

  test('a bound alone', () => {
    expect(boundText(bound([1e9, 0], [2e9, 0]))).toBe('1.00 GFLOP forward, 2.00 GFLOP backward');
  });
});

test('parts that say the same stand together, in the order of their first', () => {
  const part = (operator: string, reason: string) => ({ operator, reason, since: null, atMost: null });
  expect(groupUnknown([part('a', 'one'), part('b', 'two'), part('c', 'one')])).toEqual([
    { operators: ['a', 'c'], text: 'one' },
    { operators: ['b'], text: 'two' },
  ]);
});

test.each([
  [['a'], '`a`'],
  [['a', 'b', 'c', 'd'], '`a`, `b`, `c`, `d`'],
  [['a', 'b', 'c', 'd', 'e'], '`a`, `b`, `c`, `d` and 1 more'],
  [['a', 'b', 'c', 'd', 'e', 'f'], '`a`, `b`, `c`, `d` and 2 more'],
])('%j: %s', (operators, text) => {
  expect(listOperators({ operators, text: '' }, (name) => `\`${name}\``)).toBe(text);
});

test('bounds of parts add up, and one without leaves all without', () => {
  const [one, other] = [bound([1, 2], [3, 4]), bound([10, 20], [30, 40])];
  expect(boundOfParts([{ atMost: one }, { atMost: other }])).toEqual(bound([11, 22], [33, 44]));
  expect(boundOfParts([{ atMost: one }, { atMost: null }])).toBeNull();
  expect(boundOfParts([])).toEqual(bound([0, 0], [0, 0]));
});
