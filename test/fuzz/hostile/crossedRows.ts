/** A megabyte of nodes whose values cross: what walks graphs naively takes the square of their number. */

import type { NodeDescription } from '../../support/onnxBytes.ts';
import { chain, type HostileInput, model, times } from './rows.ts';

/** Pairs of nodes, each pair from what the pair before it gives. */
const pairs = (
  first: (from: string, to: string) => NodeDescription,
  second: (from: string, to: string) => NodeDescription,
): ReturnType<typeof chain> =>
  chain((index) => {
    const pair = index >> 1;
    return index % 2 === 0 ? first(`v${pair}`, `v${pair + 1}`) : second(`v${pair + 1}`, `u${pair}`);
  });

const node = (type: string, inputs: readonly string[], output: string): NodeDescription => ({
  type,
  inputs: [...inputs],
  outputs: [output],
});

/** Half as many values as fit, made first, then used in an order that `reader` gives. */
const madeThenRead = (
  reader: (index: number, count: number) => NodeDescription,
): ReturnType<typeof chain> => {
  const most = chain((index) => reader(index, 10_000)).nodes?.length ?? 0;
  const count = Math.floor(most / 2);
  return {
    inputs: { v0: 'float[N,4]' },
    nodes: [
      ...times(count, (index) => node('Relu', [`v${index}`], `v${index + 1}`)),
      ...times(count, (index) => reader(index, count)),
    ],
  };
};

export const crossedRows: readonly HostileInput[] = [
  model('a megabyte of views of views, each read', () => ({
    graph: pairs(
      (from, to) => node('Identity', [from], to),
      (from, to) => node('Relu', [from], to),
    ),
  })),
  model('a megabyte of views of views of a weight, each read', () => {
    const graph = pairs(
      (from, to) => node('Transpose', [from === 'v0' ? 'w' : from], to),
      (from, to) => node('MatMul', ['v0', from], to),
    );
    return { graph: { ...graph, initializers: [{ name: 'w', type: 'float[4,4]' }] } };
  }),
  model('a megabyte of nodes on one weight', () => ({
    graph: {
      ...chain((index) => node('MatMul', [`v${index}`, 'w'], `v${index + 1}`)),
      initializers: [{ name: 'w', type: 'float[4,4]' }],
    },
  })),
  model('values that are read in the other order', () => ({
    graph: madeThenRead((index, count) =>
      node('Add', [index === 0 ? `v${count}` : `r${index}`, `v${count - index}`], `r${index + 1}`),
    ),
  })),
  model('values that are read in their order, long after', () => ({
    graph: madeThenRead((index, count) =>
      node('Mul', [index === 0 ? `v${count}` : `r${index}`, `v${index}`], `r${index + 1}`),
    ),
  })),
  model('values that one node reads in the end', () => {
    const graph = chain((index) => node('Relu', ['v0'], `y${index}`), 9);
    const nodes = graph.nodes ?? [];
    return {
      graph: {
        ...graph,
        nodes: [
          ...nodes,
          { type: 'Sum', inputs: nodes.flatMap(({ outputs }) => [...(outputs ?? [])]), outputs: ['y'] },
        ],
        outputs: { y: 'float' },
      },
    };
  }),
  model('values of one node that as many read', () => {
    const graph = chain((index) => node('Relu', [`s${index}`], `y${index}`), 9);
    const count = graph.nodes?.length ?? 0;
    return {
      graph: {
        ...graph,
        nodes: [
          {
            type: 'Split',
            inputs: ['v0'],
            outputs: times(count, (index) => `s${index}`),
            attributes: { axis: 1 },
          },
          ...(graph.nodes ?? []),
        ],
      },
    };
  }),
  model('rows of joins, each of all before it', () => ({
    graph: chain((index) => ({
      type: 'Concat',
      inputs: times(Math.min(index + 1, 200), (back) => `v${index - back}`),
      outputs: [`v${index + 1}`],
      attributes: { axis: 1 },
    })),
  })),
  model('a megabyte of dropouts with masks that are read at the end', () => {
    const graph = chain(
      (index) => ({
        type: 'Dropout',
        inputs: [`v${index}`],
        outputs: [`v${index + 1}`, `m${index}`],
      }),
      9,
    );
    const masks = (graph.nodes ?? []).map((_, index) => `m${index}`);
    return {
      graph: {
        ...graph,
        nodes: [
          ...(graph.nodes ?? []),
          { type: 'Concat', inputs: masks, outputs: ['y'], attributes: { axis: 0 } },
        ],
      },
    };
  }),
  model('products of sums of symbols', () => ({
    graph: {
      inputs: Object.fromEntries(times(40, (index) => [`x${index}`, `float[a${index},b${index},c${index}]`])),
      nodes: times(39, (index) => ({
        type: 'Flatten',
        inputs: [index === 0 ? 'x0' : `j${index}`],
        outputs: [`f${index}`],
      })).flatMap((flatten, index) => [
        flatten,
        { type: 'Flatten', inputs: [`x${index + 1}`], outputs: [`g${index}`] },
        {
          type: 'Concat',
          inputs: [`f${index}`, `g${index}`],
          outputs: [`h${index}`],
          attributes: { axis: 1 },
        },
        {
          type: 'MatMul',
          inputs: [`h${index}`, `h${index}`],
          outputs: [`j${index + 1}`],
        },
      ]),
    },
  })),
];
