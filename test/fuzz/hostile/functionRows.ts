/** Functions that call themselves, each other, and each other again and again. */

import type { ModelDescription } from '../../support/onnxBytes.ts';
import { type HostileInput, model, times } from './rows.ts';

/** Functions `f0` to `f<depth>`, each calling the next `calls` times. */
export const callTree = (depth: number, calls: number): ModelDescription => ({
  operatorSets: { '': 21, own: 1 },
  graph: {
    inputs: { x: 'float[N,4]' },
    nodes: [{ type: 'f0', domain: 'own', inputs: ['x'], outputs: ['y'] }],
  },
  functions: times(depth, (level) => ({
    name: `f${level}`,
    domain: 'own',
    inputs: ['a'],
    outputs: ['b'],
    nodes: times(calls, (call) => ({
      ...(level + 1 === depth ? { type: 'Relu' } : { type: `f${level + 1}`, domain: 'own' }),
      inputs: [call === 0 ? 'a' : `t${call}`],
      outputs: [call + 1 === calls ? 'b' : `t${call + 1}`],
    })),
  })),
});

export const functionRows: readonly HostileInput[] = [
  model('a function that calls itself', () => ({
    ...callTree(1, 1),
    functions: [
      {
        name: 'f0',
        domain: 'own',
        inputs: ['a'],
        outputs: ['b'],
        nodes: [{ type: 'f0', domain: 'own', inputs: ['a'], outputs: ['b'] }],
      },
    ],
  })),
  model('functions that call each other', () => ({
    ...callTree(1, 1),
    functions: times(2, (index) => ({
      name: `f${index}`,
      domain: 'own',
      inputs: ['a'],
      outputs: ['b'],
      nodes: times(3, () => ({ type: `f${1 - index}`, domain: 'own', inputs: ['a'], outputs: ['b'] })),
    })),
  })),
  model('a function that calls itself in a subgraph', () => ({
    ...callTree(1, 1),
    functions: [
      {
        name: 'f0',
        domain: 'own',
        inputs: ['a'],
        outputs: ['b'],
        nodes: [
          {
            type: 'If',
            inputs: ['a'],
            outputs: ['b'],
            attributes: {
              then_branch: {
                graph: {
                  outputs: { c: 'float' },
                  nodes: [{ type: 'f0', domain: 'own', inputs: ['a'], outputs: ['c'] }],
                },
              },
              else_branch: {
                graph: {
                  outputs: { c: 'float' },
                  nodes: [{ type: 'f0', domain: 'own', inputs: ['a'], outputs: ['c'] }],
                },
              },
            },
          },
        ],
      },
    ],
  })),
  model('a function named like an operator that calls that operator', () => ({
    operatorSets: { '': 21 },
    graph: { inputs: { x: 'float[2]' }, nodes: [{ type: 'Relu', inputs: ['x'], outputs: ['y'] }] },
    functions: [
      {
        name: 'Relu',
        inputs: ['a'],
        outputs: ['b'],
        nodes: [{ type: 'Relu', inputs: ['a'], outputs: ['b'] }],
      },
    ],
  })),
  model('functions that double 40 times', () => callTree(40, 2)),
  model('functions that call ten times, ten deep', () => callTree(10, 10)),
  model('functions without content that call ten times, ten deep', () => {
    const tree = callTree(10, 10);
    return {
      ...tree,
      functions: (tree.functions ?? []).map((body, level) => (level === 9 ? { ...body, nodes: [] } : body)),
    };
  }),
  model('functions of 10,000 calls to a function of 10,000', () => callTree(2, 10_000)),
];
