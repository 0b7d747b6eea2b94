/** Until when values are held, in chains of operators: layer0.out is read by operator 1, and so on; x goes in, and the last comes out. */

import { describe, expect, test } from 'vitest';
import {
  type LoweredTraining,
  type Variables,
  valueLifetimes,
} from '../../../server/src/estimate/memory/valueLifetimes.ts';
import type { LoweredOperator } from '../../../server/src/frameworks/behaviour.ts';
import { bytes } from '../../../server/src/model/units.ts';
import { chain } from '../../support/trainingGraph.ts';

const kernel: LoweredOperator = {
  dtype: 'fp32',
  bytesPerElement: 4,
  view: false,
  forward: [],
  backwardData: [],
  backwardWeight: [],
  saved: [],
};
const keeps = (...keys: readonly string[]): LoweredOperator => ({
  ...kernel,
  saved: keys.map((key) => ({ key, bytes: bytes(4), weightCopy: false })),
});
const view: LoweredOperator = { ...kernel, view: true };

interface Given {
  readonly scope?: readonly string[];
  readonly ancestors?: readonly string[];
  readonly type?: string;
  readonly kernels?: LoweredOperator | 'none';
}

/** Operators by what is said of each; the first has a weight. */
function training(given: readonly Given[], callsModules = true): LoweredTraining {
  const graph = chain(given.map(({ type = 'Relu' }, index) => ({ type, parameters: index === 0 ? 5 : 0 })));
  const { analysis } = graph;
  const operators = analysis.graph.operators.map((operator, index) => ({
    ...operator,
    scope: given[index]?.scope ?? [],
  }));
  const layers = analysis.layers.map((layer, index) => ({
    ...layer,
    ancestors: given[index]?.ancestors ?? [],
  }));
  return {
    training: { ...graph, analysis: { ...analysis, layers, graph: { ...analysis.graph, operators } } },
    lowered: {
      operators: given.map(({ kernels = kernel }) => (kernels === 'none' ? undefined : kernels)),
      ...(callsModules ? { callsModules: true } : {}),
    },
  };
}

/** By operator, when what it gives is let go of; the weight of the first before them. */
function held(given: readonly Given[], variables?: Variables, callsModules = true) {
  const { lastUse } = valueLifetimes(training(given, callsModules), variables);
  return ['layer0.weight', ...given.map((_, index) => `layer${index}.out`)].map((name) => lastUse.get(name));
}

describe('without modules', () => {
  test('a value is held until its last reader, and what goes in and out to the end', () => {
    const { lastUse, rootOf } = valueLifetimes(training([{}, {}, {}]));
    expect(new Map(lastUse)).toEqual(
      new Map([
        ['x', 3],
        ['layer0.weight', 0],
        ['layer0.out', 1],
        ['layer1.out', 2],
        ['layer2.out', 3],
      ]),
    );
    expect(rootOf('layer1.out')).toBe('layer1.out');
  });

  test('views share the memory of what they are views of', () => {
    const given = training([{}, { kernels: view }, { kernels: view }, {}, {}]);
    const { lastUse, rootOf } = valueLifetimes(given);
    expect(['layer0.out', 'layer1.out', 'layer2.out', 'layer3.out'].map(rootOf)).toEqual([
      'layer0.out',
      'layer0.out',
      'layer0.out',
      'layer3.out',
    ]);
    // The reader of the second view is operator 3.
    expect(lastUse.get('layer0.out')).toBe(3);
    expect(lastUse.has('layer1.out')).toBe(false);
  });

  test('a model gives out what its last view is a view of', () => {
    expect(held([{}, { kernels: view }])).toEqual([0, 2, undefined]);
  });

  test('a fused kernel keeps what the first of its operators read', () => {
    const fused: readonly Given[] = [{}, {}, { kernels: 'none' }, { kernels: keeps('layer0.out:4') }, {}];
    expect(held(fused)).toEqual([0, 3, 2, 3, 4, 5]);
  });

  test('of what it keeps, masks and what nobody holds are no values', () => {
    expect(held([{}, { kernels: keeps('1/mask', 'nowhere:4') }])).toEqual([0, 1, 2]);
  });

  test('a kernel keeps what a view is of', () => {
    expect(held([{}, { kernels: view }, {}, { kernels: keeps('layer1.out:2') }])[1]).toBe(3);
  });
});

describe('modules hold what they were given until they return', () => {
  /** a: operators 0 to 2, which calls a.act: 1 and 2. */
  const nested: readonly Given[] = [
    { scope: ['a'] },
    { scope: ['a', 'a.act'] },
    { scope: ['a', 'a.act'] },
    { scope: [] },
  ];

  test('the outermost of those that began behind the value', () => {
    // a was given the weight, and a.act what operator 0 gives; what operator 1 gives is its own.
    expect(held(nested)).toEqual([2, 2, 2, 3, 4]);
  });

  test('variables hold it until the call returns whose code has it', () => {
    // Code of a has layer0.out, that of a.act layer1.out, that of the model layer2.out.
    expect(held(nested, 'held')).toEqual([2, 2, 2, 3, 4]);
    const longer: readonly Given[] = [...nested.slice(0, 3), { scope: ['a'] }, {}, {}];
    expect(held(longer)).toEqual([3, 2, 2, 3, 4, 5, 6]);
    // layer0.out and layer2.out are of a, which returns at 3; layer3.out is of the model.
    expect(held(longer, 'held')).toEqual([3, 3, 2, 3, 5, 5, 6]);
  });

  test('nothing where a program calls none', () => {
    expect(held(nested, 'let go of', false)).toEqual([0, 1, 2, 3, 4]);
    expect(held(nested, 'held', false)).toEqual([0, 1, 2, 3, 4]);
  });

  test.each([
    ['s.0', 's.1', 's.2', 2],
    ['s[0]', 's[1]', 's[2]', 2],
    ['s.10', 's.11', 's.12', 2],
    ['s[10]', 's[11]', 's[12]', 2],
    // Another name is an attribute: the code of s names what it is given.
    ['s.0', 's.1', 's.act', 4],
    ['s.a0', 's.1', 's.2', 4],
    ['s.0x', 's.1', 's.2', 4],
  ])('a row of %s, %s and %s has one variable, which is overwritten', (first, second, third, until) => {
    const row: readonly Given[] = [
      { scope: ['s', first] },
      { scope: ['s', first] },
      { scope: ['s', second] },
      { scope: ['s', third] },
      { scope: ['s', third] },
      {},
    ];
    // Operator 2 reads layer1.out in a module of its own, which returns at 2; s returns at 4.
    expect(held(row)[2]).toBe(2);
    expect(held(row, 'held')[2]).toBe(until);
  });

  test('a module that is called again is another call', () => {
    const again: readonly Given[] = [{ scope: ['a'] }, { scope: ['b'] }, { scope: ['a'] }, {}];
    expect(held(again)).toEqual([0, 1, 2, 3, 4]);
    // The code of the model has them all.
    expect(held(again, 'held')).toEqual([0, 3, 3, 3, 4]);
  });

  test('a call of the same module within another is another call', () => {
    const inner: readonly Given[] = [{ scope: ['a', 'a.x'] }, { scope: ['b', 'a.x'] }, {}];
    expect(held(inner)).toEqual([0, 1, 2, 3]);
  });

  test('constants stand anywhere and end no call', () => {
    const constant: readonly Given[] = [
      { scope: ['a'] },
      { scope: [], type: 'Constant' },
      { scope: ['a'] },
      {},
    ];
    expect(held(constant)).toEqual([2, 1, 2, 3, 4]);
  });

  test('layers of a spec are modules where nobody recorded scopes', () => {
    const layers: readonly Given[] = [{ ancestors: ['m'] }, { ancestors: ['m'] }, {}, {}];
    // m returns at 1; each layer is a call of its own.
    expect(held(layers)).toEqual([1, 1, 2, 3, 4]);
    expect(held([{}, {}, {}])).toEqual([0, 1, 2, 3]);
    expect(held([{}, {}, {}], 'held')).toEqual([0, 1, 2, 3]);
  });
});
