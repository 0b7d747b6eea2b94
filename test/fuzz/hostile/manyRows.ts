/** A megabyte of one thing. */

import { encodeNode, type NodeDescription } from '../../support/onnxBytes.ts';
import { bytes, chain, chainOf, type HostileInput, megabyteOf, model, times, withGraph } from './rows.ts';

const relu = (input: string, output: string): NodeDescription => ({
  type: 'Relu',
  inputs: [input],
  outputs: [output],
});

/** Nodes in the other order. */
const reversed = (graph: ReturnType<typeof chain>): ReturnType<typeof chain> => ({
  ...graph,
  nodes: [...(graph.nodes ?? [])].reverse(),
});

/** The last name before a graph of a megabyte of such nodes ends, as a shorter name keeps every byte. */
const circle = (): ReturnType<typeof chain> => {
  const graph = chain((index) => relu(`c${index}`, `c${index + 1}`));
  const nodes = graph.nodes ?? [];
  return { ...graph, nodes: [...nodes.slice(0, -1), relu(`c${nodes.length - 1}`, 'c0')] };
};

export const manyRows: readonly HostileInput[] = [
  model('a megabyte of nodes on one value', () => ({ graph: chain((index) => relu('v0', `r${index}`)) })),
  model('a megabyte of nodes without a value', () => ({ graph: chain(() => ({ type: 'A' })) })),
  bytes('a megabyte of the shortest node', () => withGraph(shortest('A'))),
  bytes('a megabyte of the shortest known node', () => withGraph(shortest('Relu'))),
  model('a megabyte of nodes in a chain', () => ({
    graph: chain((index) => ({ type: 'Add', inputs: [`v${index}`, 'v0'], outputs: [`v${index + 1}`] })),
  })),
  model('a megabyte of nodes in a chain, last first', () => ({
    graph: reversed(chain((index) => relu(`v${index}`, `v${index + 1}`))),
  })),
  model('a megabyte of nodes that all write one value', () => ({ graph: chain(() => relu('v0', 'y')) })),
  model('a megabyte of nodes that read and write one value', () => ({ graph: chain(() => relu('y', 'y')) })),
  model('a megabyte of nodes in one circle', () => ({ graph: circle() })),
  model('a megabyte of nodes in circles of two', () => ({
    graph: chain((index) => relu(`c${index}`, `c${index ^ 1}`)),
  })),
  model('a megabyte of the shortest nodes, each with a value of its own', () => ({
    graph: chain((index) => ({ type: 'A', inputs: ['v0'], outputs: [index.toString(36)] })),
  })),
  model('a megabyte of nodes that read what nothing writes', () => ({
    graph: chain((index) => relu(`m${index}`, `y${index}`)),
  })),
  model('a megabyte of different unknown operators', () => ({
    graph: chain((index) => ({ type: `Op${index}`, inputs: ['v0'], outputs: [`y${index}`] })),
  })),
  model('a megabyte of one unknown operator in a chain', () => ({
    graph: chain((index) => ({ type: 'Op', inputs: [`v${index}`], outputs: [`v${index + 1}`] })),
  })),
  model('a megabyte of wrong operators, each in its own scope', () => ({
    graph: chain((index) => ({
      type: 'MatMul',
      name: `/a${index}/b`,
      inputs: ['v0', 'v0'],
      outputs: [`y${index}`],
    })),
  })),
  model('a megabyte of wrong operators, all different', () => ({
    graph: chain((index) => ({
      type: 'Reshape',
      inputs: ['v0', `v${index}`],
      outputs: [`v${index + 1}`],
      attributes: { allowzero: index },
    })),
  })),
  model('a megabyte of different shapes', () => ({
    graph: chain((index) => ({
      type: 'Pad',
      inputs: ['v0'],
      outputs: [`y${index}`],
      attributes: { pads: [index, 1, 2, 3] },
    })),
    operatorSets: 10,
  })),
  model('a megabyte of different constants', () => ({
    graph: chain((index) => ({
      type: 'Constant',
      outputs: [`y${index}`],
      attributes: { value_ints: [index, index + 1] },
    })),
  })),
  model('a megabyte of different casts of shapes', () => ({
    graph: chain((index) => ({
      type: index % 2 === 0 ? 'Shape' : 'ConstantOfShape',
      inputs: [`v${index}`],
      outputs: [`v${index + 1}`],
    })),
  })),
  model('a megabyte of layers of one name', () => ({
    graph: chain((index) => ({ ...relu('v0', `y${index}`), name: '/a/b/Relu' })),
  })),
  model('a megabyte of layers, each in the one before', () => ({
    graph: chain((index) => ({ ...relu('v0', `y${index}`), name: `${'/a'.repeat(index)}/Relu` })),
  })),
  model('a megabyte of layers of two lines', () => ({
    graph: chain((index) => ({ ...relu('v0', `y${index}`), name: `/a${index}\n/b` })),
  })),
  model('a node of a megabyte of inputs', () => ({
    graph: chainOf(1, () => ({
      type: 'Concat',
      inputs: times(250_000, () => 'v0'),
      outputs: ['y'],
      attributes: { axis: 0 },
    })),
  })),
  model('a node of a megabyte of absent inputs', () => ({
    graph: chainOf(1, () => ({ type: 'Concat', inputs: times(500_000, () => ''), outputs: ['y'] })),
  })),
  model('a node of a megabyte of outputs', () => ({
    graph: chainOf(1, () => ({
      type: 'Split',
      inputs: ['v0'],
      outputs: times(120_000, (index) => `y${index}`),
    })),
  })),
  model('a node of a megabyte of attributes', () => ({
    graph: chainOf(1, () => ({
      ...relu('v0', 'y'),
      attributes: Object.fromEntries(times(60_000, (index) => [`a${index}`, index])),
    })),
  })),
  model('nodes that each read a thousand sums', () => ({
    graph: chain((index) => ({
      type: 'Sum',
      inputs: times(1000, (input) => `v${input % (index + 1)}`),
      outputs: [`v${index + 1}`],
    })),
  })),
  model('a megabyte of parameters', () => {
    const graph = chain(
      (index) => ({ type: 'Add', inputs: [`v${index}`, `w${index}`], outputs: [`v${index + 1}`] }),
      14,
    );
    return {
      graph: {
        ...graph,
        initializers: times(graph.nodes?.length ?? 0, (index) => ({ name: `w${index}`, type: 'float[4]' })),
      },
    };
  }),
  model('a megabyte of graph outputs', () => ({
    graph: {
      ...chainOf(1, () => relu('v0', 'y')),
      outputs: Object.fromEntries(times(55_000, (index) => [`y${index}`, 'float'])),
    },
  })),
  model('a megabyte of values with symbols of their own', () => ({
    graph: {
      inputs: Object.fromEntries(times(35_000, (index) => [`x${index}`, `float[s${index}]`])),
      nodes: [relu('x0', 'y')],
    },
  })),
  model('sums over a thousand symbols', () => ({
    graph: {
      inputs: Object.fromEntries(times(1_000, (index) => [`x${index}`, `float[s${index}]`])),
      nodes: times(1_000, (index) => ({
        type: 'Concat',
        inputs: [index === 0 ? 'x0' : `v${index}`, `x${index}`],
        outputs: [`v${index + 1}`],
        attributes: { axis: 0 },
      })),
    },
  })),
  model('a megabyte of operator sets', () => ({
    operatorSets: Object.fromEntries(times(70_000, (index) => [`d${index}`, 1])),
    graph: chainOf(1, () => relu('v0', 'y')),
  })),
  model('a megabyte of metadata', () => ({
    metadata: Object.fromEntries(times(60_000, (index) => [`k${index}`, 'v'])),
    graph: chainOf(1, () => relu('v0', 'y')),
  })),
  model('a megabyte of subgraphs', () => ({
    graph: chain((index) => ({
      type: 'If',
      inputs: ['v0'],
      outputs: [`y${index}`],
      attributes: { then_branch: { graph: {} }, else_branch: { graph: {} } },
    })),
  })),
  model('a megabyte of one string tensor', () => ({
    graph: chainOf(1, () => ({
      type: 'StringNormalizer',
      inputs: ['v0'],
      outputs: ['y'],
      attributes: { stopwords: times(120_000, (index) => `w${index}`) },
    })),
  })),
  model('a megabyte of calls of a function whose output is its input', () => ({
    operatorSets: { '': 21, own: 1 },
    graph: chain((index) => ({
      type: 'f',
      domain: 'own',
      inputs: [`v${index}`],
      outputs: [`v${index + 1}`],
    })),
    functions: [{ name: 'f', domain: 'own', inputs: ['a'], outputs: ['a'], nodes: [] }],
  })),
];

const shortest = (type: string): Uint8Array => {
  const node = encodeNode({ type, outputs: [''] });
  return megabyteOf(0x0a, node.length, ...node);
};
