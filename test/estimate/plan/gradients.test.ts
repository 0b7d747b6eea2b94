/** Gradients of small models in the order that backward completes them: operator i of n is at n − 1 − i. */

import { expect, test } from 'vitest';
import type { EmbeddingTable } from '../../../server/src/analysis/embeddingTables.ts';
import type { Parameter } from '../../../server/src/analysis/modelAnalysis.ts';
import { gradientsInReadyOrder, parameterBytes } from '../../../server/src/estimate/plan/gradients.ts';
import { chain } from '../../support/trainingGraph.ts';

const parameter = (name: string, operators: readonly number[], more: Partial<Parameter> = {}): Parameter => ({
  name,
  elements: 10,
  elementType: 'float32',
  operators,
  ...more,
});

/** A matrix, a batch normalization and another matrix. */
function ordered(
  parameters: readonly Parameter[],
  bytesPerElement?: number,
  tables?: readonly EmbeddingTable[],
) {
  const graph = chain([{}, { type: 'BatchNormalization' }, {}]);
  return gradientsInReadyOrder(
    { ...graph, analysis: { ...graph.analysis, parameters } },
    bytesPerElement,
    tables,
  );
}

test('the last operator is first, and what is used more than once is complete with its first use', () => {
  const found = ordered([
    parameter('first', [0]),
    parameter('scale', [1]),
    parameter('shift', [1]),
    parameter('shared', [0, 2]),
    parameter('last', [2]),
    parameter('unused', []),
  ]);
  expect(
    found.map(({ parameter: name, index, readyAfter, usedFrom }) => [name, index, readyAfter, usedFrom]),
  ).toEqual([
    // One that no operator has is complete before all.
    ['unused', 5, 0, 0],
    ['last', 4, 0, 2],
    ['shift', 2, 1, 1],
    ['scale', 1, 1, 1],
    ['shared', 3, 2, 0],
    ['first', 0, 2, 0],
  ]);
  expect(found.filter(({ ofBatchNorm }) => ofBatchNorm).map(({ parameter: name }) => name)).toEqual([
    'shift',
    'scale',
  ]);
});

test('bytes are those of the type, and of fp32 as many as are given', () => {
  const parameters = [
    parameter('wide', [0]),
    parameter('half', [0], { elementType: 'float16' }),
    parameter('double', [0], { elementType: 'float64' }),
  ];
  const sizes = (bytesPerElement?: number): readonly number[] =>
    ordered(parameters, bytesPerElement)
      .toSorted((one, other) => one.index - other.index)
      .map(({ bytes }) => bytes);
  expect(sizes()).toEqual([40, 20, 80]);
  expect(sizes(2)).toEqual([20, 20, 80]);
  expect(parameterBytes({ elements: 3, elementType: 'float32' })).toBe(12);
});

test('a gradient has its table and the ways of its experts, where it has some', () => {
  const table: EmbeddingTable = {
    ...{ index: 0, rows: 5, width: 2, lookups: 3, isSparse: true, operators: [0] },
    result: { elements: 6, isBag: false, from: 0, to: 1 },
  };
  const found = ordered([parameter('table', [0]), parameter('experts', [2], { expertWays: 4 })], 4, [table]);
  expect(found.map(({ parameter: name, table: of, expertWays }) => [name, of, expertWays])).toEqual([
    ['experts', undefined, 4],
    ['table', table, undefined],
  ]);
  expect(found.map((gradient) => ['table' in gradient, 'expertWays' in gradient])).toEqual([
    [false, true],
    [true, false],
  ]);
});

test('a graph that computes nothing has no gradients', () => {
  const { analysis } = chain([{ parameters: 10 }]);
  expect(gradientsInReadyOrder({ ...chain([{}]), analysis, costs: [] })).toEqual([]);
});
