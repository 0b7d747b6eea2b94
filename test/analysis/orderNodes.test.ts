import fc from 'fast-check';
import { expect, test } from 'vitest';
import { orderNodes } from '../../server/src/analysis/orderNodes.ts';

test.each([
  ['a file in order keeps it', [[], [0], [0, 1]], [0, 1, 2], []],
  ['needed nodes come first, the rest stays', [[2], [], [], [0]], [2, 0, 1, 3], []],
  ['a cycle is one entry', [[1], [0], [0]], [0, 1, 2], [[0, 1]]],
  ['a node that needs itself', [[0], []], [0, 1], [[0]]],
  [
    'two cycles',
    [[1], [0], [3], [2, 0]],
    [0, 1, 2, 3],
    [
      [0, 1],
      [2, 3],
    ],
  ],
])('%s', (_, dependencies, order, cycles) => {
  expect(orderNodes(dependencies)).toEqual({ order, cycles });
});

test('any acyclic graph is ordered', () => {
  const graph = fc.array(fc.array(fc.nat(50), { maxLength: 4 }), { maxLength: 40 }).map((nodes) => {
    // Nodes need only lower ranks, and ranks are shuffled by a fixed stride, so that file order is no order.
    const place = (rank: number): number => (rank * 17) % nodes.length;
    const coprime = nodes.length % 17 !== 0;
    const shuffled: number[][] = nodes.map(() => []);
    nodes.forEach((needed, rank) => {
      const to = coprime ? place(rank) : rank;
      shuffled[to] = needed.filter((other) => other < rank).map((other) => (coprime ? place(other) : other));
    });
    return shuffled;
  });
  fc.assert(
    fc.property(graph, (dependencies) => {
      const { order, cycles } = orderNodes(dependencies);
      expect(cycles).toEqual([]);
      expect([...order].sort((a, b) => a - b)).toEqual(dependencies.map((_, index) => index));
      const position = new Map(order.map((node, index) => [node, index]));
      dependencies.forEach((needed, node) => {
        for (const other of needed) {
          expect(position.get(other) ?? Number.NaN).toBeLessThan(position.get(node) ?? Number.NaN);
        }
      });
    }),
  );
});

test('a chain of 50,000 nodes neither recurses nor takes long', () => {
  const backwards = Array.from({ length: 50_000 }, (_, index) => (index < 49_999 ? [index + 1] : []));
  const { order } = orderNodes(backwards);
  expect(order[0]).toBe(49_999);
  expect(order.at(-1)).toBe(0);
});

test('a cycle of 50,000 nodes is found', () => {
  const ring = Array.from({ length: 50_000 }, (_, index) => [(index + 1) % 50_000]);
  expect(orderNodes(ring).cycles.map(({ length }) => length)).toEqual([50_000]);
});
